package io.kcp4j.netty.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpStats;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.fec.FecConfig;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Unreliable datagrams, which kcp-go calls out-of-band packets, to it and from it. */
class UnreliableInteropTest {

  private static final int TIMEOUT_SECONDS = 30;
  private static final int DATAGRAMS = 1000;

  @ParameterizedTest
  @CsvSource({"NULL, NIO", "AES_128_GCM, EPOLL"})
  void goClientReceivesItsDatagramsFromKcp4j(CipherAlgorithm cipher, PeerTransport transport)
      throws Exception {
    SessionSettings settings = settings(cipher);
    try (Kcp4jServer server = Kcp4jServer.start(transport, settings);
        GoPeer client =
            GoPeer.client(
                "oob-client",
                server.address(),
                TIMEOUT_SECONDS,
                settings.goFlags("--packets=" + DATAGRAMS))) {
      client.assertSucceeds();
      assertEquals(DATAGRAMS, server.count(KcpCounter.UNRELIABLE_IN));
      assertEquals(DATAGRAMS, server.count(KcpCounter.UNRELIABLE_OUT));
    }
  }

  @ParameterizedTest
  @CsvSource({"NULL, EPOLL", "SALSA20, NIO"})
  void kcp4jReceivesItsDatagramsFromAGoServer(CipherAlgorithm cipher, PeerTransport transport)
      throws Exception {
    SessionSettings settings = settings(cipher);
    try (GoPeer server = GoPeer.server("echo-server", settings.goFlags())) {
      UnreliableCheck check = new UnreliableCheck(DATAGRAMS);
      KcpStats stats = check.run(server.address(), transport, settings, TIMEOUT_SECONDS);
      server.finish();
      assertEquals(DATAGRAMS, stats.get(KcpCounter.UNRELIABLE_IN));
      assertEquals(DATAGRAMS, server.count("oob"));
    }
  }

  private static SessionSettings settings(CipherAlgorithm cipher) {
    return SessionSettings.DEFAULT.with(cipher).with(FecConfig.of(10, 3), FecConfig.of(3, 2));
  }
}
