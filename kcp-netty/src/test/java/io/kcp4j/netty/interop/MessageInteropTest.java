package io.kcp4j.netty.interop;

import static io.kcp4j.internal.wire.Segment.HEADER_BYTES;

import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Message mode against kcp-go's raw {@code KCP} type, which makes fragments as C KCP does; kcp-go's
 * sessions never do.
 */
class MessageInteropTest {

  private static final int TIMEOUT_SECONDS = 60;
  private static final int FRAGMENTS = 31;
  private static final int RANDOM_MESSAGES = 50;

  @ParameterizedTest
  @CsvSource({"CLEAN, 256, 1400, NIO", "CLEAN, 32, 576, EPOLL", "LOSSY, 256, 1400, EPOLL"})
  void goClientReceivesItsMessagesFromKcp4j(
      Network network, int window, int mtuBytes, PeerTransport transport) throws Exception {
    SessionSettings settings = SessionSettings.messages(window, mtuBytes);
    List<String> flags = settings.goFlags("--rounds=3", "--fragments=" + FRAGMENTS);
    try (Kcp4jServer server = Kcp4jServer.start(transport, settings)) {
      network.run(
          server.address(),
          address -> {
            try (GoPeer client = GoPeer.client("message-client", address, TIMEOUT_SECONDS, flags)) {
              client.assertSucceeds();
            }
          });
    }
  }

  @ParameterizedTest
  @CsvSource({"CLEAN, 256, 1400, EPOLL", "CLEAN, 32, 576, NIO", "LOSSY, 256, 1400, NIO"})
  void kcp4jReceivesItsMessagesFromAGoServer(
      Network network, int window, int mtuBytes, PeerTransport transport) throws Exception {
    SessionSettings settings = SessionSettings.messages(window, mtuBytes);
    try (GoPeer server = GoPeer.server("message-server", settings.goFlags())) {
      network.run(
          server.address(),
          address -> {
            MessageCheck check = new MessageCheck(sizes(mtuBytes - HEADER_BYTES));
            check.run(address, transport, settings, TIMEOUT_SECONDS);
          });
    }
  }

  /** Just inside and just outside the borders of fragments, then anything. */
  private static int[] sizes(int mssBytes) {
    int largest = FRAGMENTS * mssBytes;
    IntStream borders =
        IntStream.of(1, 2, 3, 10, FRAGMENTS - 1)
            .map(fragments -> fragments * mssBytes)
            .flatMap(border -> IntStream.rangeClosed(border - 1, border + 1));
    IntStream random = new Random(1).ints(RANDOM_MESSAGES, 1, largest + 1);
    return IntStream.concat(IntStream.concat(IntStream.of(1, largest), borders), random).toArray();
  }
}
