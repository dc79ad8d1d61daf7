package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * How long 40 MB take over 100 Mbit/s with the default options, whose windows follow the path, and
 * over TCP. The server only receives.
 */
class DefaultWindowsTest {

  private static final long BYTES = 40_000_000;

  private static final long BITS_PER_SECOND = 100_000_000;

  /** Headers take 0.8 % more of datagrams of 1200 bytes than of TCP's; BBR paces at 99 %. */
  private static final double TOLERANCE = 1.02;

  private static final KcpConfig UNCONTROLLED =
      KcpConfig.builder().congestionControl(CongestionControl.NONE).build();

  private static CongestionPath path(int rttMs, double loss) {
    return CongestionPath.of(BITS_PER_SECOND, rttMs * 1_000, 0, 1, loss);
  }

  /** In milliseconds; MAX_VALUE if it takes longer than {@code seconds}. */
  private static long transferMs(CongestionPath path, CongestionFlow.Factory flow, int seconds) {
    CongestionRun.Start start = new CongestionRun.Start("flow", 0, flow);
    long us = CongestionRun.run(path, List.of(start), 0, seconds, 1).flows().get(0).readAtUs(BYTES);
    return us == Long.MAX_VALUE ? us : us / 1_000;
  }

  private static long kcpMs(CongestionPath path, KcpConfig client) {
    LabSide sender = LabSide.of(client, FecConfig.NONE);
    LabSide receiver = LabSide.of(KcpConfig.DEFAULT, FecConfig.NONE);
    return transferMs(path, world -> KcpFlow.bulk(world, sender, receiver, BYTES), 20);
  }

  @ParameterizedTest
  @ValueSource(ints = {20, 100, 200})
  void uploadOverACleanPathIsNoSlowerThanTcp(int rttMs) {
    long ms = kcpMs(path(rttMs, 0), KcpConfig.DEFAULT);
    long tcpMs = transferMs(path(rttMs, 0), CubicTcp::over, 10);
    assertTrue(ms <= TOLERANCE * tcpMs, ms + " ms, and TCP " + tcpMs + " ms");
  }

  @ParameterizedTest
  @ValueSource(ints = {20, 100, 200})
  void uploadOverAPathThatLosesAHundredthTakesAThirdOfTheTimeOfTcp(int rttMs) {
    long ms = kcpMs(path(rttMs, 0.01), KcpConfig.DEFAULT);
    int seconds = (int) (3 * ms / 1_000) + 1;
    assertEquals(
        Long.MAX_VALUE, transferMs(path(rttMs, 0.01), CubicTcp::over, seconds), ms + " ms");
  }

  /** The links have a queue of a bandwidth-delay product, and the window is two. */
  @ParameterizedTest
  @CsvSource({"20, 0", "100, 0", "200, 0", "100, 0.01", "100, 0.1"})
  void windowWithoutCongestionControlFillsThePath(int rttMs, double loss) {
    long ms = kcpMs(path(rttMs, loss), UNCONTROLLED);
    assertTrue(ms <= (4_000 + 10 * rttMs) / (1 - loss), ms + " ms");
  }
}
