package io.kcp4j.netty.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpStats;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.fec.FecConfig;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ratios of data to parity that that kcp4j is not configured with, over a lossy network. */
class RatioInteropTest {

  private static final int TIMEOUT_SECONDS = 60;
  private static final long BYTES = 600_000;
  private static final FecConfig UNTOLD = FecConfig.NONE;

  /**
   * Of 13 packets in a row that are sent in groups of 3 and 2, fewer than 10 can be taken for some
   * of a group of 10 and 3: nothing is recovered by the old ratio that has not been sent.
   */
  private static final FecConfig BEFORE = FecConfig.of(10, 3);

  private static final FecConfig AFTER = FecConfig.of(3, 2);

  @ParameterizedTest
  @CsvSource({"5, 2, NIO", "20, 10, EPOLL"})
  void ratioOfAGoClientIsDetected(int dataShards, int parityShards, PeerTransport transport)
      throws Exception {
    SessionSettings settings = settings(UNTOLD, FecConfig.of(dataShards, parityShards));
    try (Kcp4jServer server = Kcp4jServer.start(transport, settings)) {
      Network.LOSSIER.run(
          server.address(),
          address -> {
            List<String> flags = settings.goFlags("--bytes=" + BYTES);
            try (GoPeer client = GoPeer.client("echo-client", address, TIMEOUT_SECONDS, flags)) {
              client.assertSucceeds();
            }
          });
      assertEquals(1, server.count(KcpCounter.FEC_RATIO_CHANGES));
      assertTrue(server.count(KcpCounter.FEC_RECOVERED) > 0);
    }
  }

  @Test
  void ratioOfAGoServerIsDetected() throws Exception {
    SessionSettings settings = settings(UNTOLD, FecConfig.of(5, 2));
    try (GoPeer server = GoPeer.server("echo-server", settings.goFlags())) {
      Network.LOSSIER.run(
          server.address(),
          address -> {
            StreamCheck check = new StreamCheck(BYTES);
            KcpStats stats = check.run(address, PeerTransport.NIO, settings, TIMEOUT_SECONDS);
            assertEquals(1, stats.get(KcpCounter.FEC_RATIO_CHANGES));
            assertTrue(stats.get(KcpCounter.FEC_RECOVERED) > 0);
          });
    }
  }

  @Test
  void changedRatioIsDetected() throws Exception {
    assertFollowed(settings(BEFORE, BEFORE), "200ms");
  }

  /** Found ratios change once in 10 s at most. */
  @Test
  @Tag("slow")
  void changeOfADetectedRatioIsDetected() throws Exception {
    assertFollowed(settings(UNTOLD, BEFORE), "11s");
  }

  private static void assertFollowed(SessionSettings settings, String pause) throws Exception {
    List<String> flags =
        settings.goFlags(
            "--bytes=" + BYTES,
            "--then-datashard=" + AFTER.dataShards(),
            "--then-parityshard=" + AFTER.parityShards(),
            "--then-after=" + pause);
    try (Kcp4jServer server = Kcp4jServer.start(PeerTransport.EPOLL, settings)) {
      Network.LOSSIER.run(
          server.address(),
          address -> {
            try (GoPeer client = GoPeer.client("echo-client", address, TIMEOUT_SECONDS, flags)) {
              client.awaitLine("half-way");
              long changes = server.count(KcpCounter.FEC_RATIO_CHANGES);
              long recovered = server.count(KcpCounter.FEC_RECOVERED);
              client.assertSucceeds();
              assertEquals(changes + 1, server.count(KcpCounter.FEC_RATIO_CHANGES));
              assertTrue(server.count(KcpCounter.FEC_RECOVERED) > recovered);
            }
          });
    }
  }

  private static SessionSettings settings(FecConfig fec, FecConfig goFec) {
    return SessionSettings.DEFAULT.with(CipherAlgorithm.AES_128_GCM).with(fec, goFec);
  }
}
