package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.KcpCounter;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.unix.IntegerUnixChannelOption;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Whatever the system offers to send and receive many datagrams at once, every byte arrives. */
@Timeout(60)
class OffloadTest {

  /** Linux refuses to cut datagrams on a socket that sends them without checksums: EINVAL. */
  private static final ChannelOption<Integer> SO_NO_CHECK =
      new IntegerUnixChannelOption("io.netty.channel.unix.SO_NO_CHECK", 1, 11);

  private final byte[] data = Fixture.randomBytes(1 << 20);

  @BeforeEach
  void epollOnly() {
    assumeTrue(Epoll.isAvailable(), "epoll is not available on this system");
  }

  @ParameterizedTest
  @EnumSource(ReceiveMode.class)
  void everyReceiveModeTakesTrainsAndSingleDatagrams(ReceiveMode mode) throws Exception {
    for (int segments : new int[] {1, 16, 64}) {
      try (Fixture fixture = new Fixture(TransportUnderTest.EPOLL)) {
        fixture.serverBootstrap.option(KcpSocketOption.RECEIVE, mode);
        fixture.bootstrap.option(KcpSocketOption.SEND_SEGMENTS, segments);

        assertEchoed(fixture);
      }
    }
  }

  private KcpChannel assertEchoed(Fixture fixture) throws Exception {
    fixture.serve(Echo::new);
    Recorder recorder = new Recorder();
    KcpChannel client = fixture.connect(recorder);

    client.writeAndFlush(Unpooled.wrappedBuffer(data));

    await().until(() -> recorder.received() == data.length);
    assertArrayEquals(data, recorder.bytes());
    return client;
  }

  @Test
  void socketThatCannotSendSegmentsFallsBack() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.EPOLL)) {
      fixture.bootstrap.option(SO_NO_CHECK, 1);
      assertTrue(
          assertEchoed(fixture).stats().counters().get(KcpCounter.RETRANSMITTED) > 0,
          "nothing was refused");
    }
  }
}
