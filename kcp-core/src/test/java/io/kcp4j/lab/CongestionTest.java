package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.lab.CongestionCell.Figure;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A cross-section of the congestion lab: BBR keeps the limits of its lines. */
class CongestionTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--lines 1 --buffer 1 --loss 1,10 --seeds 1 --seconds 15",
        "--lines 1 --buffer 10 --loss 5 --seeds 2,11 --seconds 20 --receiver kcp-go-10",
        "--lines 2 --buffer 10 --seeds 1 --seconds 20 --receiver kcp-go-10",
        "--lines 3 --buffer 5 --seeds 2,4 --seconds 30",
        "--lines 5 --seeds 1 --seconds 15"
      })
  void figuresOfShortRunsAreWithinTheirLimits(String options) {
    assertEquals(List.of(), beyondLimits(options + " --rate 20"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--lines 1 --buffer 1 --loss 0,1,10 --seeds 1",
        "--lines 1 --buffer 10 --loss 5 --seeds 2 --receiver kcp-go-40",
        "--lines 2 --buffer 1,10 --seeds 1",
        "--lines 2 --buffer 10 --seeds 2 --receiver kcp-go-10",
        "--lines 3 --buffer 0.5,1,2 --seeds 1",
        "--lines 3 --rate 100 --buffer 1 --seeds 10",
        "--lines 4 --buffer 1 --seeds 1",
        "--lines 4 --buffer 1 --seeds 2 --jitter 1",
        "--lines 4 --buffer 1 --seeds 16 --jitter 2",
        "--lines 4 --buffer 10 --seeds 13",
        "--lines 5 --seeds 1",
        "--lines 6 --buffer 10 --seeds 12"
      })
  @Tag("slow")
  void figuresAreWithinTheirLimits(String options) {
    assertEquals(List.of(), beyondLimits(options + " --rate 20"));
  }

  /** The flood that is the reason for BBR. */
  @Test
  void withoutCongestionControlTheQueueIsFull() {
    String options = "--control none --lines 2 --buffer 10 --rate 20 --seeds 1 --seconds 15";
    List<String> beyond = beyondLimits(options);
    assertEquals(
        List.of("mean", "p95", "dropped"), beyond.stream().map(CongestionTest::name).toList());
  }

  private static String name(String figure) {
    return figure.split(" ", -1)[0];
  }

  private static List<String> beyondLimits(String options) {
    List<String> beyond = new ArrayList<>();
    for (CongestionCell cell :
        CongestionLines.cells(CongestionOptions.of(options.split(" ", -1)))) {
      for (Figure figure : cell.figures().get()) {
        if (!figure.isMet()) {
          beyond.add(figure + " (" + cell.label() + ")");
        }
      }
    }
    return beyond;
  }
}
