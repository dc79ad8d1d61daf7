package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.lab.OutageRun.Direction;
import io.kcp4j.lab.OutageRun.Load;
import io.kcp4j.lab.OutageRun.Outage;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The first data after an outage comes within a probe distance and two round trips. */
class OutageTest {

  private static void assertOnTime(Outage outage, int seeds) {
    List<Long> excessesUs =
        LongStream.rangeClosed(1, seeds)
            .parallel()
            .map(seed -> OutageRun.excessUs(outage, seed))
            .sorted()
            .boxed()
            .toList();
    long p95Us = excessesUs.get((seeds * 95 + 99) / 100 - 1);
    assertTrue(p95Us <= 0, outage + ": " + excessesUs);
  }

  @ParameterizedTest
  @CsvSource({
    "REQUESTS, false, 1",
    "REQUESTS, false, 27",
    "REQUESTS, true, 5",
    "REQUESTS, true, 60",
    "FULL_WINDOWS, false, 5",
    "FULL_WINDOWS, true, 27",
    "WRITES, false, 5",
    "WRITES, true, 27"
  })
  void firstDataFollowsTheEndOfAnOutage(Load load, boolean isServerKcpGo, int seconds) {
    int seeds = load == Load.REQUESTS ? 2 : 1; // The others take ten times as long.
    for (Direction direction : Direction.values()) {
      assertOnTime(new Outage(load, isServerKcpGo, direction, seconds), seeds);
    }
  }

  private static List<Outage> outages() {
    List<Outage> outages = new ArrayList<>();
    for (Load load : Load.values()) {
      for (boolean isServerKcpGo : new boolean[] {false, true}) {
        for (Direction direction : Direction.values()) {
          for (int seconds : new int[] {1, 5, 20, 27, 60}) {
            outages.add(new Outage(load, isServerKcpGo, direction, seconds));
          }
        }
      }
    }
    return outages;
  }

  @ParameterizedTest
  @MethodSource("outages")
  @Tag("slow")
  void firstDataFollowsTheEndOfAnOutageInManyRuns(Outage outage) {
    assertOnTime(outage, 50);
  }
}
