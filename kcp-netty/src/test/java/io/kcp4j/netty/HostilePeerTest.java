package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.netty.internal.endpoint.DatagramReceiver;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;

/** Datagrams of unknown peers are counted, and affect no session. */
class HostilePeerTest {

  private static final byte[] HELLO = {1, 2, 3};

  @OverEachTransport
  void garbageIsCountedAndDropped(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 2000; i++) {
          rawPeer.send(garbage(random));
        }
        await()
            .until(
                () ->
                    server.counters().get(KcpCounter.MALFORMED) > 0
                        && server.counters().get(KcpCounter.UNKNOWN_SESSION) > 0
                        && server.counters().get(KcpCounter.OVERSIZE) > 0);
      }

      assertEquals(0, server.sessions());
      assertEchoes(fixture);
    }
  }

  @OverEachTransport
  void addressThatNeverAnswersGetsThreeBytesForEachAndEightSmallSegments(
      TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Recorder::new);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        byte[] first = RawPeer.segment(7, Segment.PUSH, 0, HELLO);
        rawPeer.send(first);
        KcpChannel child = fixture.child();
        child.writeAndFlush(Fixture.buffer(child, new byte[1 << 20]));

        int received = 0;
        for (ByteBuf datagram; (datagram = rawPeer.receive(3_000)) != null; ) {
          received += datagram.readableBytes();
        }

        assertTrue(received > first.length, received + " bytes");
        assertTrue(received <= 3 * first.length + 8 * 64, received + " bytes");
      }
    }
  }

  private static byte[] garbage(SplittableRandom random) {
    byte[] datagram = new byte[random.nextInt(2000)];
    random.nextBytes(datagram);
    return datagram;
  }

  @OverEachTransport
  void garbageWithTheConversationOfASessionIsIgnored(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Recorder::new);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        rawPeer.send(RawPeer.segment(7, Segment.PUSH, 0, HELLO));
        KcpChannel child = fixture.child();
        Recorder recorder = child.pipeline().get(Recorder.class);
        await().until(() -> recorder.received() == HELLO.length);
        SplittableRandom random = new SplittableRandom(2);
        byte[] valid = RawPeer.segment(7, Segment.PUSH, 1, Fixture.randomBytes(100));

        for (int i = 0; i < 2000; i++) {
          byte[] broken = Arrays.copyOf(valid, random.nextInt(5, valid.length));
          broken[random.nextInt(4, broken.length)] = (byte) random.nextInt();
          rawPeer.send(broken);
        }

        await().until(() -> child.stats().get(KcpCounter.MALFORMED) > 0);
        assertTrue(child.isActive());
        assertTrue(recorder.exceptions.isEmpty());
      }
    }
  }

  @OverEachTransport
  void twoConversationsOfOneAddressCoexist(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Recorder::new);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        rawPeer.send(RawPeer.segment(1, Segment.PUSH, 0, HELLO));
        rawPeer.send(RawPeer.segment(2, Segment.PUSH, 0, new byte[] {9}));

        KcpChannel first = fixture.child();
        KcpChannel second = fixture.child();

        assertNotEquals(first.conv(), second.conv());
        assertEquals(first.remoteAddress(), second.remoteAddress());
        assertArrayEquals(HELLO, awaitBytes(first.conv() == 1 ? first : second, 3));
        assertArrayEquals(new byte[] {9}, awaitBytes(first.conv() == 1 ? second : first, 1));
      }
    }
  }

  @OverEachTransport
  void sessionsBeyondTheLimitAreRefused(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MAX_SESSIONS, 1);
      KcpServerChannel server = fixture.serve(Echo::new);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        rawPeer.send(RawPeer.segment(1, Segment.PUSH, 0, HELLO));
        rawPeer.send(RawPeer.segment(2, Segment.PUSH, 0, HELLO));

        await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) == 1);
        assertEquals(1, server.sessions());
      }
    }
  }

  @OverEachTransport
  void memoryOfAllSessionsIsBounded(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MEMORY_LIMIT, 200_000L);
      fixture.serverBootstrap.childOption(ChannelOption.AUTO_READ, false);
      KcpServerChannel server = fixture.serve(Recorder::new);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        for (int sn = 0; sn < 100; sn++) {
          rawPeer.send(RawPeer.segment(1, Segment.PUSH, sn, new byte[1000]));
        }

        await().until(() -> server.counters().get(KcpCounter.OVER_BUDGET) > 0);
        assertTrue(server.usedMemoryBytes() <= 50_000, "held " + server.usedMemoryBytes());
      }
    }
  }

  @OverEachTransport
  void probeOfAnUnknownPeerIsAnsweredWithoutState(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        rawPeer.send(RawPeer.segment(5, Segment.WASK, 0, new byte[0]));

        ByteBuf answer = rawPeer.receive(10_000);

        assertEquals(5, Segment.conv(answer, 0));
        assertEquals(Segment.WINS, Segment.cmd(answer, 0));
        assertEquals(Segment.HEADER_BYTES, answer.readableBytes());
        assertEquals(0, server.sessions());
      }
    }
  }

  @OverEachTransport
  void socketPausesBetweenReadsDuringAFloodAndNotAfterIt(TransportUnderTest transport)
      throws Exception {
    assumeTrue(transport.name().startsWith("EPOLL"));
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      Channel socket = server.sockets().first().channel();
      Pauses pauses = new Pauses();
      socket.pipeline().addFirst(pauses);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        byte[] unknown = RawPeer.segment(7, Segment.PUSH, 1, HELLO);
        Thread flood =
            new Thread(
                () -> {
                  while (!Thread.interrupted()) {
                    rawPeer.sendUnchecked(unknown);
                  }
                });
        flood.start();
        try {
          await().until(() -> pauses.count.get() > 0);
          assertEchoes(fixture);
        } finally {
          flood.interrupt();
          flood.join();
        }
      }

      // The end of the flood is noticed after a period of echoes or of nothing.
      await()
          .until(
              () -> {
                int before = pauses.count.get();
                assertEchoes(fixture);
                return pauses.count.get() == before;
              });
      await().until(socket.config()::isAutoRead);
    }
  }

  /** Counts the batches after which a socket pauses. */
  private static final class Pauses extends ChannelInboundHandlerAdapter {
    final AtomicInteger count = new AtomicInteger();

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
      ctx.fireChannelReadComplete();
      if (!ctx.channel().config().isAutoRead()) {
        count.incrementAndGet();
      }
    }
  }

  private static byte[] awaitBytes(KcpChannel child, int length) {
    Recorder recorder = child.pipeline().get(Recorder.class);
    await().until(() -> recorder.received() == length);
    return recorder.bytes();
  }

  private static void assertEchoes(Fixture fixture) {
    Recorder recorder = new Recorder();
    KcpChannel client = fixture.connect(recorder);
    client.writeAndFlush(Fixture.buffer(client, HELLO));
    await().until(() -> recorder.received() == HELLO.length);
    assertArrayEquals(HELLO, recorder.bytes());
  }

  @OverEachTransport
  void datagramFromPort0IsDropped(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      InetSocketAddress portZero = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
      ByteBuf first =
          Unpooled.wrappedBuffer(RawPeer.segment(7, Segment.PUSH, 0, new byte[] {1, 2, 3}));
      DatagramReceiver receiver =
          server.sockets().first().channel().pipeline().get(DatagramReceiver.class);

      server
          .eventLoop()
          .submit(
              () -> {
                // A socket cannot be bound to port 0; only a raw one could send this.
                receiver.channelRead(
                    null, new DatagramPacket(first, server.localAddress(), portZero));
                receiver.channelReadComplete(null);
              })
          .sync();

      assertEquals(0, server.sessions());
      assertEquals(1, server.counters().get(KcpCounter.INVALID_SOURCE));
      assertEquals(0, first.refCnt());
      assertEchoes(fixture);
    }
  }
}
