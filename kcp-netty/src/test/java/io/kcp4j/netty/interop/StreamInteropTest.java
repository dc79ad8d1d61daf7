package io.kcp4j.netty.interop;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.kcp4j.CongestionControl;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Plain KCP in stream mode, kcp4j on one side and kcp-go on the other. */
class StreamInteropTest {

  private static final int TIMEOUT_SECONDS = 240;
  private static final long CLEAN_BYTES = 4_000_000;
  private static final long LOSSY_BYTES = 500_000;
  private static final long HUNDRED_MEGABYTES = 100_000_000;
  private static final SessionSettings WIDE = SessionSettings.stream(1024, 1400);

  @ParameterizedTest
  @CsvSource({
    "CLEAN, 32, 576, NIO",
    "CLEAN, 2048, 1500, EPOLL",
    "LOSSY, 256, 1400, EPOLL",
    "LOSSY, 2048, 1500, NIO"
  })
  void aGoClientGetsItsBytesBackFromKcp4j(
      Network network, int window, int mtuBytes, PeerTransport transport) throws Exception {
    goClientToKcp4j(network, SessionSettings.stream(window, mtuBytes), transport, bytes(network));
  }

  @ParameterizedTest
  @CsvSource({
    "CLEAN, 2048, 1400, NIO",
    "CLEAN, 256, 576, EPOLL",
    "LOSSY, 32, 1500, EPOLL",
    "LOSSY, 2048, 576, NIO"
  })
  void kcp4jGetsItsBytesBackFromAGoServer(
      Network network, int window, int mtuBytes, PeerTransport transport) throws Exception {
    kcp4jToGoServer(network, SessionSettings.stream(window, mtuBytes), transport, bytes(network));
  }

  @ParameterizedTest
  @EnumSource(names = {"CLEAN", "LOSSY"})
  void kcpGoReceivesWhatIsSentWithoutCongestionControl(Network network) throws Exception {
    SessionSettings none = WIDE.with(CongestionControl.NONE);
    goClientToKcp4j(network, none, PeerTransport.EPOLL, bytes(network));
    kcp4jToGoServer(network, none, PeerTransport.NIO, bytes(network));
  }

  @ParameterizedTest
  @MethodSource("matrix")
  @Tag("slow")
  void goClientReceivesItsBytesWithAllSettings(
      Network network, SessionSettings settings, PeerTransport transport) throws Exception {
    goClientToKcp4j(network, settings, transport, bytes(network));
  }

  @ParameterizedTest
  @MethodSource("matrix")
  @Tag("slow")
  void kcp4jReceivesItsBytesWithAllSettings(
      Network network, SessionSettings settings, PeerTransport transport) throws Exception {
    kcp4jToGoServer(network, settings, transport, bytes(network));
  }

  @ParameterizedTest
  @EnumSource(names = {"CLEAN", "LOSSY"})
  @Tag("slow")
  void hundredMegabytesAreEchoedByKcp4j(Network network) throws Exception {
    goClientToKcp4j(network, WIDE, PeerTransport.EPOLL, HUNDRED_MEGABYTES);
  }

  @ParameterizedTest
  @EnumSource(names = {"CLEAN", "LOSSY"})
  @Tag("slow")
  void hundredMegabytesAreEchoedByAGoServer(Network network) throws Exception {
    kcp4jToGoServer(network, WIDE, PeerTransport.EPOLL, HUNDRED_MEGABYTES);
  }

  static List<Arguments> matrix() {
    List<Arguments> all = new ArrayList<>();
    for (Network network : List.of(Network.CLEAN, Network.LOSSY)) {
      for (int window : new int[] {32, 256, 2048}) {
        for (int mtuBytes : new int[] {576, 1400, 1500}) {
          for (PeerTransport transport : PeerTransport.values()) {
            all.add(arguments(network, SessionSettings.stream(window, mtuBytes), transport));
          }
        }
      }
    }
    return all;
  }

  private static long bytes(Network network) {
    return network == Network.CLEAN ? CLEAN_BYTES : LOSSY_BYTES;
  }

  private static void goClientToKcp4j(
      Network network, SessionSettings settings, PeerTransport transport, long bytes)
      throws Exception {
    try (Kcp4jServer server = Kcp4jServer.start(transport, settings)) {
      network.run(
          server.address(),
          address -> {
            List<String> flags = settings.goFlags("--bytes=" + bytes);
            try (GoPeer client = GoPeer.client("echo-client", address, TIMEOUT_SECONDS, flags)) {
              client.assertSucceeds();
            }
          });
    }
  }

  private static void kcp4jToGoServer(
      Network network, SessionSettings settings, PeerTransport transport, long bytes)
      throws Exception {
    try (GoPeer server = GoPeer.server("echo-server", settings.goFlags())) {
      network.run(
          server.address(),
          address -> {
            StreamCheck check = new StreamCheck(bytes);
            check.run(address, transport, settings, TIMEOUT_SECONDS);
          });
    }
  }
}
