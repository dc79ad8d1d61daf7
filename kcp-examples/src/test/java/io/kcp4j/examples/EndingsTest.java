package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Sessions of two processes end, in one of 15 ways, and the other application is told as soon as
 * with TCP, but for two round trips and a probe timeout; or in 5 s, if the process was killed. It
 * gets all bytes that it should.
 *
 * <p>The times of TCP are those of {@code endings-tcp.csv}, which {@code src/bench/endings} writes.
 */
@Tag("slow")
@EnabledOnOs(OS.LINUX)
class EndingsTest {

  /** The machine may delay a process: a cell fails if all of its attempts are late. */
  private static final int ATTEMPTS = 3;

  private static final Map<EndingCell, Double> TCP_MS = tcp();

  @ParameterizedTest(name = "{0}")
  @EnumSource
  void theOtherApplicationIsToldInTime(EndingCell cell) throws Exception {
    List<String> late = new ArrayList<>();
    do {
      EndingTime time = cell.overKcp();
      double limitMs = cell.limitMs(TCP_MS.get(cell), time);
      if (time.ms() <= limitMs) {
        break;
      }
      late.add(time + ", limit " + limitMs + " ms");
    } while (late.size() < ATTEMPTS);
    assertTrue(late.size() < ATTEMPTS, late::toString);
  }

  private static Map<EndingCell, Double> tcp() {
    Map<EndingCell, Double> times = new EnumMap<>(EndingCell.class);
    try (BufferedReader table =
        new BufferedReader(
            new InputStreamReader(
                EndingsTest.class.getResourceAsStream("/endings-tcp.csv"),
                StandardCharsets.UTF_8))) {
      table
          .lines()
          .filter(line -> !line.startsWith("#"))
          .skip(1)
          .map(line -> line.split(",", -1))
          .forEach(row -> times.put(EndingCell.valueOf(row[0]), Double.valueOf(row[1])));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    assertEquals(EndingCell.values().length, times.size());
    return times;
  }
}
