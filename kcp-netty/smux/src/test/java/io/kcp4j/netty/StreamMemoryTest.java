package io.kcp4j.netty;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.wire.Segment;
import io.kcp4j.netty.smux.EchoedStream;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.kcp4j.netty.smux.SmuxStreamChannelBootstrap;
import io.kcp4j.netty.smux.StreamEcho;
import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxStats;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Streams of smux over KCP, and the memory limit of the server. */
@Timeout(120)
class StreamMemoryTest {

  private static final int CHANNEL_BYTES = 4 * 1024;

  private final Queue<SmuxStreamChannel> accepted = new ConcurrentLinkedQueue<>();

  private final LongAdder receivedBytes = new LongAdder();

  /** What the server has held before frames were sent to it. */
  private long usedMemoryBytes;

  private final class Counter extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf bytes) {
      receivedBytes.add(bytes.readableBytes());
    }
  }

  private final class Accept extends ChannelInitializer<SmuxStreamChannel> {

    private final boolean isReading;

    Accept(boolean isReading) {
      this.isReading = isReading;
    }

    @Override
    protected void initChannel(SmuxStreamChannel stream) {
      stream.config().setAutoRead(isReading);
      stream.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
      if (isReading) {
        stream.pipeline().addLast(new StreamEcho());
      } else {
        stream.pipeline().addLast(new Counter());
      }
      accepted.add(stream);
    }
  }

  private static KcpServerChannel serve(Fixture fixture, SmuxConfig config, ChannelHandler init) {
    return fixture.serve(() -> new SmuxHandler(config, false, init));
  }

  private static KcpChannel connect(Fixture fixture, SmuxConfig config) {
    return fixture.connect(new SmuxHandler(config, true, null));
  }

  private static SmuxStreamChannel open(KcpChannel client, ChannelHandler handler) {
    return new SmuxStreamChannelBootstrap(client)
        .option(ChannelOption.ALLOW_HALF_CLOSURE, handler instanceof EchoedStream)
        .handler(handler)
        .open()
        .syncUninterruptibly()
        .getNow();
  }

  private static SmuxStats stats(KcpChannel session) {
    assertTrue(session.isOpen(), () -> session + " " + session.endReason() + " " + session.stats());
    return session
        .eventLoop()
        .submit(() -> session.pipeline().get(SmuxHandler.class).stats())
        .syncUninterruptibly()
        .getNow();
  }

  @Test
  void streamsOfAPeerCountInTheMemoryOfTheServerUntilTheyClose() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      KcpServerChannel server = serve(fixture, SmuxConfig.DEFAULT, new Accept(true));
      KcpChannel client = connect(fixture, SmuxConfig.DEFAULT);
      List<SmuxStreamChannel> streams = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        streams.add(open(client, new ChannelInboundHandlerAdapter()));
      }
      await().until(() -> accepted.size() == 100);
      assertTrue(server.usedMemoryBytes() >= 100 * CHANNEL_BYTES, "" + server.usedMemoryBytes());
      streams.forEach(Channel::close);
      await().until(() -> accepted.stream().noneMatch(Channel::isOpen));
      accepted.forEach(Channel::close);
      await().until(() -> server.usedMemoryBytes() < CHANNEL_BYTES);
    }
  }

  @Test
  void streamsAreRefusedWhereTheServerHasNoMemoryForThem() throws Exception {
    long limitBytes = 4 << 20;
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MEMORY_LIMIT, limitBytes);
      KcpServerChannel server = serve(fixture, SmuxConfig.DEFAULT, new Accept(true));
      List<KcpChannel> clients =
          IntStream.range(0, 4).mapToObj(i -> connect(fixture, SmuxConfig.DEFAULT)).toList();
      for (int i = 0; i < 2000; i++) {
        open(clients.get(i % 4), new ChannelInboundHandlerAdapter());
      }
      await()
          .until(
              () ->
                  fixture.children.size() == 4
                      && fixture.children.stream()
                              .map(StreamMemoryTest::stats)
                              .mapToLong(s -> s.acceptedStreams() + s.refusedStreams())
                              .sum()
                          == 2000);
      assertTrue(server.usedMemoryBytes() <= limitBytes, "" + server.usedMemoryBytes());
      assertTrue(accepted.size() <= limitBytes / CHANNEL_BYTES, "" + accepted.size());
      assertTrue(accepted.size() >= limitBytes / CHANNEL_BYTES / 8, "" + accepted.size());
      long usedMemoryBytes = server.usedMemoryBytes();
      clients.get(0).close();
      await().until(() -> server.usedMemoryBytes() <= usedMemoryBytes - 50 * CHANNEL_BYTES);
      EchoedStream echo = new EchoedStream(1, 100_000);
      open(clients.get(1), echo);
      echo.done().get(30, SECONDS);
    }
  }

  /** What four clients send on 64 streams that are not read would take 16 MiB. */
  @Test
  void bytesThatAreNotReadStayWithinTheLimitAndArriveAtLast() throws Exception {
    long limitBytes = 4 << 20;
    SmuxConfig config = SmuxConfig.builder().stalledStreamMs(60_000).build();
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MEMORY_LIMIT, limitBytes);
      KcpServerChannel server = serve(fixture, config, new Accept(false));
      List<SmuxStreamChannel> streams = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        KcpChannel client = connect(fixture, config);
        for (int j = 0; j < 16; j++) {
          streams.add(open(client, new ChannelInboundHandlerAdapter()));
        }
      }
      await().until(() -> accepted.size() == 64);
      streams.forEach(stream -> stream.writeAndFlush(Fixture.buffer(stream, new byte[250_000])));

      await().until(() -> fixture.children.stream().noneMatch(c -> c.config().isAutoRead()));
      assertTrue(unreadBytes(fixture) >= limitBytes / 8, "" + unreadBytes(fixture));
      assertTrue(unreadBytes(fixture) <= limitBytes / 2, "" + unreadBytes(fixture));
      assertTrue(server.usedMemoryBytes() <= limitBytes, "" + server.usedMemoryBytes());

      accepted.forEach(stream -> stream.config().setAutoRead(true));
      await().until(() -> receivedBytes.sum() == 64 * 250_000);
      accepted.forEach(Channel::close);
      streams.forEach(Channel::close);
      await().until(() -> server.usedMemoryBytes() == 0);
    }
  }

  /** Their channels would wait for ten minutes for somebody to read. */
  @Test
  void bytesThatAreNotReadAfterTheirSessionGiveWayToOthers() throws Exception {
    long limitBytes = 4 << 20;
    SmuxConfig config = SmuxConfig.builder().closeTimeoutMs(600_000).build();
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MEMORY_LIMIT, limitBytes);
      KcpServerChannel server = serve(fixture, config, new Accept(false));
      KcpChannel hoarder = connect(fixture, config);
      for (int i = 0; i < 16; i++) {
        SmuxStreamChannel stream = open(hoarder, new ChannelInboundHandlerAdapter());
        stream.writeAndFlush(Fixture.buffer(stream, new byte[250_000]));
      }
      KcpChannel child = fixture.child();
      await().until(() -> !child.config().isAutoRead());
      hoarder.abort(1);
      await().until(() -> !child.isOpen());
      assertTrue(server.usedMemoryBytes() > limitBytes / 8, "" + server.usedMemoryBytes());
      assertTrue(accepted.stream().anyMatch(Channel::isOpen));

      KcpChannel other = connect(fixture, config);
      await()
          .until(
              () -> {
                open(other, new ChannelInboundHandlerAdapter()); // Refused, until there is room.
                return accepted.stream().limit(16).noneMatch(Channel::isOpen);
              });
      await().until(() -> server.usedMemoryBytes() < limitBytes / 8);
    }
  }

  private static long unreadBytes(Fixture fixture) {
    return fixture.children.stream()
        .map(StreamMemoryTest::stats)
        .mapToLong(SmuxStats::unreadBytes)
        .sum();
  }

  /** The peer sends a hundred frames of a byte each; one read is requested before. */
  private SmuxStreamChannel readOneOfAHundredFrames(KcpServerChannel server, RawPeer peer)
      throws Exception {
    ByteBuf syn = Unpooled.buffer().writeByte(2).writeByte(0).writeShortLE(0).writeIntLE(3);
    peer.send(RawPeer.segment(1, Segment.PUSH, 0, ByteBufUtil.getBytes(syn)));
    await().until(() -> !accepted.isEmpty() && accepted.element().isActive());
    SmuxStreamChannel stream = accepted.element();
    stream.eventLoop().submit(() -> stream.read()).sync();
    usedMemoryBytes = server.usedMemoryBytes();
    ByteBuf frames = Unpooled.buffer();
    for (int i = 0; i < 100; i++) {
      frames.writeByte(2).writeByte(2).writeShortLE(1).writeIntLE(3).writeByte(i);
    }
    peer.send(RawPeer.segment(1, Segment.PUSH, 1, ByteBufUtil.getBytes(frames)));
    await().until(() -> receivedBytes.sum() > 0);
    return stream;
  }

  /** Of a datagram with frames of one byte each, the application reads the first. */
  @Test
  void tinyFramesThatWaitForAnotherReadCountTogether() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      KcpServerChannel server = serve(fixture, SmuxConfig.DEFAULT, new Accept(false));
      try (RawPeer peer = new RawPeer(server.localAddress())) {
        SmuxStreamChannel stream = readOneOfAHundredFrames(server, peer);
        KcpChannel child = fixture.child();
        await().until(() -> stats(child).framesIn() == 101);
        long unreadBytes = server.usedMemoryBytes() - usedMemoryBytes;
        assertTrue(unreadBytes > 0 && unreadBytes < 1_000, "" + unreadBytes);
        stream.config().setAutoRead(true);
        await().until(() -> receivedBytes.sum() == 100);
      }
    }
  }

  @Test
  void bytesThatWaitForAnotherReadCountUntilTheirStreamCloses() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      KcpServerChannel server = serve(fixture, SmuxConfig.DEFAULT, new Accept(false));
      try (RawPeer peer = new RawPeer(server.localAddress())) {
        SmuxStreamChannel stream = readOneOfAHundredFrames(server, peer);
        KcpChannel child = fixture.child();
        await().until(() -> stats(child).framesIn() == 101);
        stream.close().sync();
        child.close().await(); // It does not succeed: this peer acknowledges nothing.
        await().until(() -> server.usedMemoryBytes() == 0);
      }
    }
  }

  /** A packet from a forged address opens hundreds of streams. */
  @Test
  void peerThatHasNotAnsweredGetsAHandfulOfChannels() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      KcpServerChannel server = serve(fixture, SmuxConfig.DEFAULT, new Accept(true));
      try (RawPeer peer = new RawPeer(server.localAddress())) {
        ByteBuf frames = Unpooled.buffer();
        for (int id = 3; id < 303; id += 2) {
          frames.writeByte(2).writeByte(0).writeShortLE(0).writeIntLE(id);
        }
        peer.send(RawPeer.segment(1, Segment.PUSH, 0, ByteBufUtil.getBytes(frames)));
        KcpChannel child = fixture.child();
        await().until(() -> stats(child).framesIn() == 150);
        assertEquals(8, accepted.size());
        assertEquals(150, stats(child).openStreams());
      }
    }
  }

  /** Nobody may ever read what a packet from a forged address has left in a stream. */
  @Test
  void streamsOfAPeerThatHasNotAnsweredKeepNothingAfterItsSession() throws Exception {
    SmuxConfig config = SmuxConfig.builder().closeTimeoutMs(600_000).build();
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      KcpServerChannel server = serve(fixture, config, new Accept(false));
      try (RawPeer peer = new RawPeer(server.localAddress())) {
        ByteBuf frames = Unpooled.buffer();
        frames.writeByte(2).writeByte(0).writeShortLE(0).writeIntLE(3);
        frames.writeByte(2).writeByte(2).writeShortLE(1_000).writeIntLE(3).writeZero(1_000);
        peer.send(RawPeer.segment(1, Segment.PUSH, 0, ByteBufUtil.getBytes(frames)));
        KcpChannel child = fixture.child();
        await().until(() -> stats(child).unreadBytes() == 1_000);
        assertTrue(server.usedMemoryBytes() > 1_000, "" + server.usedMemoryBytes());
        peer.send(RawPeer.segment(1, Segment.PUSH, 1, new byte[8])); // Of no version of smux.
        await().until(() -> !child.isOpen());
        await().until(() -> accepted.stream().noneMatch(Channel::isOpen));
        await().until(() -> server.usedMemoryBytes() == 0);
      }
    }
  }

  /** As kcptun does when it begins again, with connections that wait. */
  @Test
  void honestClientMayOpenManyStreamsBeforeItHasAnswered() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      serve(fixture, SmuxConfig.DEFAULT, new Accept(true));
      KcpChannel client = connect(fixture, SmuxConfig.DEFAULT);
      List<EchoedStream> echoes =
          IntStream.range(0, 50).mapToObj(i -> new EchoedStream(i, 5_000)).toList();
      client
          .eventLoop()
          .submit(
              () ->
                  echoes.forEach(
                      echo ->
                          new SmuxStreamChannelBootstrap(client)
                              .option(ChannelOption.ALLOW_HALF_CLOSURE, true)
                              .handler(echo)
                              .open()))
          .sync();
      for (EchoedStream echo : echoes) {
        echo.done().get(30, SECONDS);
      }
      assertEquals(0, stats(client).refusedStreams());
    }
  }
}
