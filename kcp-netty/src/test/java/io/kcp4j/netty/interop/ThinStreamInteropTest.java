package io.kcp4j.netty.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpStats;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.fec.FecConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** FEC that is aligned with the flushes of a thin stream, to an unmodified kcp-go. */
@Execution(CONCURRENT)
class ThinStreamInteropTest {

  private static final int TIMEOUT_SECONDS = 60;
  private static final int TICKS = 500;

  /** What kcp-go and kcp4j have counted. */
  private record Counts(GoPeer server, KcpStats stats) {}

  private static Counts echo(SessionSettings settings, PeerTransport transport) throws Exception {
    return echo(settings, transport, Network.LOSSIER);
  }

  private static Counts echo(SessionSettings settings, PeerTransport transport, Network network)
      throws Exception {
    GoPeer server = GoPeer.server("echo-server", settings.goFlags());
    KcpStats[] stats = new KcpStats[1];
    try (server) {
      network.run(
          server.address(),
          address ->
              stats[0] = new TickCheck(TICKS).run(address, transport, settings, TIMEOUT_SECONDS));
      server.finish();
    }
    return new Counts(server, stats[0]);
  }

  private static SessionSettings settings(CipherAlgorithm cipher, FecConfig fec, FecConfig goFec) {
    return SessionSettings.DEFAULT.with(cipher).with(fec, goFec);
  }

  @ParameterizedTest
  @CsvSource({"NULL, EPOLL", "AES_128_GCM, NIO"})
  void kcpGoRecoversFromParityThatFollowsLosses(CipherAlgorithm cipher, PeerTransport transport)
      throws Exception {
    FecConfig fec = FecConfig.adaptive();
    Counts counts = echo(settings(cipher, fec, FecConfig.of(4, 3)), transport);
    assertTrue(counts.server.count("fec_recovered") > TICKS / 10);
    assertTrue(counts.stats.get(KcpCounter.FEC_PARITY_OUT) > TICKS);
    assertEquals(0, counts.server.count("kcp_errors"), "none of what was recovered is wrong");
    assertEquals(0, counts.server.count("fec_errors"));
  }

  @Test
  void kcpGoDetectsTheRatioFromTheTraining() throws Exception {
    SessionSettings settings = settings(CipherAlgorithm.NULL, FecConfig.adaptive(), FecConfig.NONE);
    // A peer detects the ratio from a group without losses, so it may take several trainings.
    Counts counts = echo(settings, PeerTransport.EPOLL, Network.LOSSY);
    assertTrue(counts.server.count("fec_recovered") > TICKS / 20);
  }

  @Test
  void kcpGoRecoversFromAlignedGroupsOfAFixedRatio() throws Exception {
    FecConfig fec = FecConfig.of(3, 2).toBuilder().flushAligned(true).build();
    SessionSettings settings = settings(CipherAlgorithm.NULL, fec, FecConfig.of(3, 2));
    Counts counts = echo(settings, PeerTransport.NIO);
    assertTrue(counts.server.count("fec_recovered") > TICKS / 10);
    assertEquals(0, counts.server.count("kcp_errors"));
  }

  @Test
  void delayedCopiesNeedNoFecOfThePeer() throws Exception {
    FecConfig fec = FecConfig.adaptive().toBuilder().delayedCopyMs(5).build();
    SessionSettings settings = settings(CipherAlgorithm.NULL, fec, FecConfig.NONE);
    Counts counts = echo(settings, PeerTransport.EPOLL);
    assertTrue(counts.stats.get(KcpCounter.FEC_COPIES_OUT) > TICKS / 2);
    assertEquals(0, counts.server.count("fec_parity"));
  }
}
