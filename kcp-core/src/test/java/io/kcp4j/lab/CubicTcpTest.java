package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.lab.CongestionRun.Start;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The TCP that flows of the congestion lab compete with does what is known of CUBIC. */
class CubicTcpTest {

  private static final int SECONDS = 60;

  private static final int RTT_US = 40_000;

  private static CongestionResult run(double bufferBdp, double loss, long... startsUs) {
    CongestionPath path = CongestionPath.of(20_000_000, RTT_US, 0, bufferBdp, loss);
    List<Start> starts =
        Arrays.stream(startsUs).mapToObj(atUs -> new Start("tcp", atUs, CubicTcp::over)).toList();
    return CongestionRun.run(path, starts, 10, SECONDS, 1);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0.5, 1, 5, 10})
  void oneConnectionFillsTheLink(double bufferBdp) {
    CongestionResult result = run(bufferBdp, 0, 0);
    assertTrue(result.share(0) >= 0.95, "share " + result.share(0));
    assertTrue(result.share(0) <= 1.001, "share " + result.share(0));
    assertTrue(result.droppedShare() <= 0.01, "dropped " + result.droppedShare());
  }

  @Test
  void itFillsTheQueueUntilItDrops() {
    CongestionResult result = run(2, 0, 0);
    assertTrue(result.dropped() > 0, "nothing dropped");
    assertTrue(result.waits().maxUs() > 2 * RTT_US * 0.95, "queue " + result.waits().maxUs());
    assertTrue(result.waits().meanUs() > RTT_US, "queue " + result.waits().meanUs());
  }

  @Test
  void twoConnectionsShareTheLink() {
    CongestionResult result = run(1, 0, 0, 2_000_000);
    assertTrue(result.fairness() >= 0.9, "fairness " + result.fairness());
    assertEquals(1, result.share(0) + result.share(1), 0.05);
  }

  /** RFC 9438 §5.2: at most the window of Reno at this loss and round trip, with its factor. */
  @Test
  void randomLossHoldsItsWindowDown() {
    CongestionResult result = run(1, 0.01, 0);
    double segmentsPerSecond = result.bitsPerSecond(0) / 8 / CubicTcp.MSS_BYTES;
    double window = segmentsPerSecond * RTT_US / 1e6;
    double cubic = 1.054 * Math.pow(RTT_US / 1e6, 0.75) / Math.pow(0.01, 0.75);
    double reno = 1.22 / Math.sqrt(0.01);
    assertEquals(Math.max(cubic, reno), window, 0.4 * Math.max(cubic, reno));
  }

  @Test
  void blackoutEndsInAFewTimeouts() {
    CongestionPath path =
        CongestionPath.of(20_000_000, RTT_US, 0, 1, 0).withBlackout(20_000_000, 22_000_000);
    CongestionResult result =
        CongestionRun.run(path, List.of(new Start("tcp", 0, CubicTcp::over)), 10, SECONDS, 1);
    double payload = 20_000_000 / result.flows().get(0).overhead();
    assertEquals(0, result.flows().get(0).bitsPerSecond(20_200_000, 22_000_000));
    assertTrue(result.recoveryUs(22_000_000, 0.8 * payload) < 15_000_000, "no recovery");
  }
}
