package io.kcp4j.netty.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpStats;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.fec.FecConfig;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every cipher and forward error correction, kcp4j on one side and kcp-go on the other. */
class PacketLayersInteropTest {

  private static final int TIMEOUT_SECONDS = 60;

  /** Takes several round trips, so that the server validates the path and sends parity. */
  private static final long BYTES = 1_000_000;

  /** Who sends parity, and how much. */
  enum Ratios {
    NONE,
    BOTH_10_3,
    CLIENT_3_2;

    private FecConfig client() {
      return switch (this) {
        case NONE -> FecConfig.NONE;
        case BOTH_10_3 -> FecConfig.of(10, 3);
        case CLIENT_3_2 -> FecConfig.of(3, 2);
      };
    }

    private FecConfig server() {
      return this == BOTH_10_3 ? client() : FecConfig.NONE;
    }

    SessionSettings withKcp4jServer(CipherAlgorithm cipher) {
      return SessionSettings.DEFAULT.with(cipher).with(server(), client());
    }

    SessionSettings withKcp4jClient(CipherAlgorithm cipher) {
      return SessionSettings.DEFAULT.with(cipher).with(client(), server());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "AES, BOTH_10_3, NIO",
    "AES_128_GCM, CLIENT_3_2, EPOLL",
    "TRIPLE_DES, CLIENT_3_2, NIO",
    "XOR, BOTH_10_3, EPOLL",
    "NULL, CLIENT_3_2, NIO"
  })
  void aGoClientGetsItsBytesBackThroughTheLayers(
      CipherAlgorithm cipher, Ratios ratios, PeerTransport transport) throws Exception {
    goClientToKcp4j(Network.CLEAN, ratios.withKcp4jServer(cipher), transport);
  }

  @ParameterizedTest
  @CsvSource({
    "AES_192, CLIENT_3_2, EPOLL",
    "CHACHA20_POLY1305, BOTH_10_3, NIO",
    "SALSA20, NONE, EPOLL",
    "TEA, BOTH_10_3, NIO",
    "NONE, CLIENT_3_2, EPOLL"
  })
  void kcp4jGetsItsBytesBackThroughTheLayers(
      CipherAlgorithm cipher, Ratios ratios, PeerTransport transport) throws Exception {
    kcp4jToGoServer(Network.CLEAN, ratios.withKcp4jClient(cipher), transport);
  }

  @ParameterizedTest
  @MethodSource("matrix")
  @Tag("slow")
  void goClientReceivesItsBytesThroughAllLayers(CipherAlgorithm cipher, Ratios ratios)
      throws Exception {
    goClientToKcp4j(Network.CLEAN, ratios.withKcp4jServer(cipher), PeerTransport.EPOLL);
  }

  @ParameterizedTest
  @MethodSource("matrix")
  @Tag("slow")
  void kcp4jReceivesItsBytesThroughAllLayers(CipherAlgorithm cipher, Ratios ratios)
      throws Exception {
    kcp4jToGoServer(Network.CLEAN, ratios.withKcp4jClient(cipher), PeerTransport.EPOLL);
  }

  static Stream<Arguments> matrix() {
    List<Ratios> ratios = List.of(Ratios.values());
    return Arrays.stream(CipherAlgorithm.values())
        .flatMap(cipher -> ratios.stream().map(ratio -> arguments(cipher, ratio)));
  }

  @ParameterizedTest
  @CsvSource({"AES_128_GCM, EPOLL", "SALSA20, NIO"})
  void goClientAndKcp4jRecoverLostPackets(CipherAlgorithm cipher, PeerTransport transport)
      throws Exception {
    goClientToKcp4j(Network.LOSSIER, Ratios.BOTH_10_3.withKcp4jServer(cipher), transport);
  }

  @ParameterizedTest
  @CsvSource({"AES_128_GCM, NIO", "SALSA20, EPOLL"})
  void kcp4jAndAGoServerRecoverLostPackets(CipherAlgorithm cipher, PeerTransport transport)
      throws Exception {
    kcp4jToGoServer(Network.LOSSIER, Ratios.BOTH_10_3.withKcp4jClient(cipher), transport);
  }

  private static void goClientToKcp4j(
      Network network, SessionSettings settings, PeerTransport transport) throws Exception {
    try (Kcp4jServer server = Kcp4jServer.start(transport, settings)) {
      network.run(
          server.address(),
          address -> {
            List<String> flags = settings.goFlags("--bytes=" + BYTES);
            try (GoPeer client = GoPeer.client("echo-client", address, TIMEOUT_SECONDS, flags)) {
              client.assertSucceeds();
              assertLayersWereUsed(
                  network,
                  settings,
                  server.count(KcpCounter.FEC_PARITY_IN),
                  server.count(KcpCounter.FEC_RECOVERED),
                  client);
            }
          });
      assertEquals(0, server.count(KcpCounter.DECRYPT_FAILED));
    }
  }

  private static void kcp4jToGoServer(
      Network network, SessionSettings settings, PeerTransport transport) throws Exception {
    try (GoPeer server = GoPeer.server("echo-server", settings.goFlags())) {
      network.run(
          server.address(),
          address -> {
            StreamCheck check = new StreamCheck(BYTES);
            KcpStats stats = check.run(address, transport, settings, TIMEOUT_SECONDS);
            server.finish();
            assertLayersWereUsed(
                network,
                settings,
                stats.get(KcpCounter.FEC_PARITY_IN),
                stats.get(KcpCounter.FEC_RECOVERED),
                server);
            assertEquals(0, stats.get(KcpCounter.DECRYPT_FAILED));
          });
    }
  }

  /** Each side has had what the other sends, and made use of it where something was lost. */
  private static void assertLayersWereUsed(
      Network network, SessionSettings settings, long parityIn, long recovered, GoPeer peer) {
    assertEquals(settings.goFec().isEncoding(), parityIn > 0, "parity from kcp-go");
    assertEquals(settings.fec().isEncoding(), peer.count("fec_parity") > 0, "parity from kcp4j");
    assertEquals(0, peer.count("checksum_errors"));
    assertEquals(0, peer.count("fec_errors"));
    if (network != Network.CLEAN) {
      assertTrue(recovered > 0, "kcp4j recovered none");
      assertTrue(peer.count("fec_recovered") > 0, "kcp-go recovered none");
    }
  }
}
