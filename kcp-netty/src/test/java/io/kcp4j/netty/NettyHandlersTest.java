package io.kcp4j.netty;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelProgressiveFuture;
import io.netty.channel.ChannelProgressiveFutureListener;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.ChannelGroupFuture;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.logging.LogLevel;
import io.netty.handler.logging.LoggingHandler;
import io.netty.handler.stream.ChunkedStream;
import io.netty.handler.stream.ChunkedWriteHandler;
import io.netty.handler.timeout.IdleState;
import io.netty.handler.timeout.IdleStateEvent;
import io.netty.handler.timeout.IdleStateHandler;
import io.netty.handler.timeout.WriteTimeoutException;
import io.netty.handler.timeout.WriteTimeoutHandler;
import io.netty.handler.traffic.ChannelTrafficShapingHandler;
import io.netty.handler.traffic.GlobalTrafficShapingHandler;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Handlers of Netty that observe or delay what passes, on channels of KCP. */
class NettyHandlersTest {

  /** Bytes per second. */
  private static final long LIMIT = 1_000_000;

  private static final int CHECK_INTERVAL_MS = 100;

  private static ChannelHandler all(ChannelHandler... handlers) {
    return new ChannelInitializer<KcpChannel>() {
      @Override
      protected void initChannel(KcpChannel channel) {
        channel.pipeline().addLast(handlers);
      }
    };
  }

  private static ChannelFuture write(Channel channel, byte[] bytes) {
    return channel.writeAndFlush(Fixture.buffer(channel, bytes));
  }

  // Idle channels.

  private static final class IdleStates extends ChannelInboundHandlerAdapter {
    final List<IdleState> states = new CopyOnWriteArrayList<>();

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
      if (event instanceof IdleStateEvent idle) {
        states.add(idle.state());
      }
      ctx.fireUserEventTriggered(event);
    }
  }

  @OverEachTransport
  void idleStateHandlerTellsWhichDirectionIsIdle(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      IdleStates reads = new IdleStates();
      fixture.serve(() -> all(new IdleStateHandler(50, 0, 0, MILLISECONDS), reads, new Recorder()));
      IdleStates writes = new IdleStates();
      KcpChannel client =
          fixture.connect(
              all(new IdleStateHandler(0, 50, 0, MILLISECONDS), writes, new Recorder()));
      write(client, new byte[10]);

      await().until(() -> reads.states.size() >= 2 && writes.states.size() >= 2);

      assertTrue(reads.states.stream().allMatch(state -> state == IdleState.READER_IDLE));
      assertTrue(writes.states.stream().allMatch(state -> state == IdleState.WRITER_IDLE));
    }
  }

  @OverEachTransport
  void idleStateHandlerClosesBothEnds(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(() -> all(new IdleStateHandler(0, 0, 50, MILLISECONDS), new CloseIfIdle()));
      KcpChannel client = fixture.connect(new Recorder());
      write(client, new byte[10]);

      assertTrue(client.closeFuture().await(10_000));
      assertTrue(fixture.child().closeFuture().await(10_000));
    }
  }

  private static final class CloseIfIdle extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {}

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
      if (event instanceof IdleStateEvent) {
        ctx.close();
      }
    }
  }

  // Writes that take too long.

  @OverEachTransport
  void writeTimeoutHandlerClosesAChannelWhosePeerTakesNothing(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      fixture.configureClient(config -> config.lingerMs(0).sendQueue(4));
      Recorder recorder = new Recorder();
      KcpChannel client =
          fixture.connectTo(
              peer.address(), all(new WriteTimeoutHandler(100, MILLISECONDS), recorder));

      ChannelFuture written = write(client, new byte[10_000_000]);

      assertTrue(client.closeFuture().await(10_000));
      assertInstanceOf(WriteTimeoutException.class, recorder.exceptions.get(0));
      assertTrue(written.await(10_000));
      assertInstanceOf(Exception.class, written.cause());
    }
  }

  @OverEachTransport
  void writeTimeoutHandlerLetsWritesPassThatAreTaken(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client =
          fixture.connect(all(new WriteTimeoutHandler(200, MILLISECONDS), recorder));

      write(client, new byte[100_000]);

      await().until(() -> recorder.received() == 100_000);
      await().during(Duration.ofMillis(400)).until(client::isActive);
      assertEquals(List.of(), recorder.exceptions);
    }
  }

  // Traffic shaping.

  @OverEachTransport
  void trafficShapingDelaysTheWritesOfAChannel(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      Recorder received = new Recorder();
      fixture.serve(() -> received);
      ChannelTrafficShapingHandler shaping =
          new ChannelTrafficShapingHandler(LIMIT, 0, CHECK_INTERVAL_MS);
      KcpChannel client = fixture.connect(shaping);
      byte[] bytes = Fixture.randomBytes(400_000);

      long queued = client.eventLoop().submit(() -> writeInParts(client, bytes, shaping)).get();

      assertTrue(queued > 0, "bytes that have been delayed");
      await().until(() -> received.received() == bytes.length);
      assertArrayEquals(bytes, received.bytes());
      assertEquals(0, shaping.queueSize());
      assertEquals(bytes.length, shaping.trafficCounter().cumulativeWrittenBytes());
    }
  }

  /** Returns how many bytes the handler delays. */
  private static long writeInParts(
      KcpChannel client, byte[] bytes, ChannelTrafficShapingHandler shaping) {
    ByteBuf all = Fixture.buffer(client, bytes);
    while (all.isReadable()) {
      client.write(all.readRetainedSlice(20_000));
    }
    all.release();
    client.flush();
    return shaping.queueSize();
  }

  @OverEachTransport
  void trafficShapingSuspendsTheReadsOfAChannel(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      AtomicInteger suspended = new AtomicInteger();
      Recorder received = new Recorder();
      fixture.serve(
          () ->
              all(
                  new ChannelTrafficShapingHandler(0, LIMIT, CHECK_INTERVAL_MS),
                  new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object msg) {
                      if (!ctx.channel().config().isAutoRead()) {
                        suspended.incrementAndGet();
                      }
                      ctx.fireChannelRead(msg);
                    }
                  },
                  received));
      KcpChannel client = fixture.connect(new Recorder());
      byte[] bytes = Fixture.randomBytes(400_000);

      write(client, bytes);

      await().until(() -> received.received() == bytes.length);
      assertArrayEquals(bytes, received.bytes());
      assertTrue(suspended.get() > 0, "reads after which reading was suspended");
    }
  }

  @OverEachTransport
  void globalTrafficShapingDelaysTheWritesOfAllChannels(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      GlobalTrafficShapingHandler shaping =
          new GlobalTrafficShapingHandler(GlobalEventExecutor.INSTANCE, LIMIT, 0, 100);
      try {
        fixture.serve(Recorder::new);
        byte[] bytes = Fixture.randomBytes(50_000);
        List<KcpChannel> clients =
            Stream.generate(() -> fixture.connect(shaping)).limit(8).toList();

        // In one turn: if connecting came between, the writes might be slower than the limit.
        long queued =
            clients
                .get(0)
                .eventLoop()
                .submit(
                    () -> {
                      clients.forEach(client -> write(client, bytes));
                      return shaping.queuesSize();
                    })
                .get();

        assertTrue(queued > 0, "bytes that have been delayed");
        await().until(() -> fixture.children.size() == 8);
        for (KcpChannel child : fixture.children) {
          Recorder received = child.pipeline().get(Recorder.class);
          await().until(() -> received.received() == bytes.length);
          assertArrayEquals(bytes, received.bytes());
        }
        assertEquals(0, shaping.queuesSize());
        assertEquals(8L * bytes.length, shaping.trafficCounter().cumulativeWrittenBytes());
      } finally {
        shaping.release();
      }
    }
  }

  // Streams in chunks.

  @OverEachTransport
  void chunkedWriteHandlerSendsAStreamAsTheChannelTakesIt(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      byte[] bytes = Fixture.randomBytes(3_000_000);
      AtomicLong mostPending = new AtomicLong();
      fixture.serve(() -> all(new ChunkedWriteHandler(), new Download(bytes, mostPending)));
      Recorder received = new Recorder();
      KcpChannel client = fixture.connect(received);

      write(client, new byte[1]);

      await().until(() -> received.received() == bytes.length);
      assertArrayEquals(bytes, received.bytes());
      assertTrue(mostPending.get() <= 64 * 1024 + Download.CHUNK_BYTES, mostPending::toString);
      assertTrue(received.reads().size() > 1);
    }
  }

  /** Answers with a stream. */
  private static final class Download extends SimpleChannelInboundHandler<ByteBuf> {

    static final int CHUNK_BYTES = 8192;

    private final byte[] bytes;
    private final AtomicLong mostPending;

    Download(byte[] bytes, AtomicLong mostPending) {
      this.bytes = bytes;
      this.mostPending = mostPending;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
      ctx.writeAndFlush(
          new ChunkedStream(new ByteArrayInputStream(bytes), CHUNK_BYTES),
          ctx.newProgressivePromise().addListener(new Pending(ctx)));
    }

    private final class Pending implements ChannelProgressiveFutureListener {
      private final ChannelHandlerContext ctx;

      Pending(ChannelHandlerContext ctx) {
        this.ctx = ctx;
      }

      @Override
      public void operationProgressed(ChannelProgressiveFuture future, long progress, long total) {
        long pending = ctx.channel().unsafe().outboundBuffer().totalPendingWriteBytes();
        mostPending.accumulateAndGet(pending, Math::max);
      }

      @Override
      public void operationComplete(ChannelProgressiveFuture future) {}
    }
  }

  // Logging.

  @Test
  void loggingHandlerLogsEveryEventOfAChannel() throws Exception {
    try (RecordedLog log = new RecordedLog();
        Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(all(new LoggingHandler(LogLevel.INFO), recorder));
      write(client, new byte[3]);
      await().until(() -> recorder.received() == 3);

      client.close().syncUninterruptibly();

      await().until(() -> logged(log, "UNREGISTERED"));
      for (String event :
          List.of(
              "REGISTERED",
              "CONNECT: ",
              "ACTIVE",
              "WRITE: 3B",
              "FLUSH",
              "USER_EVENT: ESTABLISHED",
              "READ: 3B",
              "READ COMPLETE",
              "CLOSE",
              "INACTIVE")) {
        assertTrue(logged(log, event), event);
      }
    }
  }

  private static boolean logged(RecordedLog log, String event) {
    return log.messages(Level.INFO).stream().anyMatch(line -> line.contains("] " + event));
  }

  // Groups of channels.

  @OverEachTransport
  void channelGroupBroadcastsToThousandSessions(TransportUnderTest transport) throws Exception {
    int sessions = 1_000;
    try (Fixture fixture = new Fixture(transport)) {
      fixture.bootstrap.option(ChannelOption.SO_RCVBUF, 64 << 10);
      fixture.bootstrap.option(ChannelOption.SO_SNDBUF, 64 << 10);
      ChannelGroup group = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
      fixture.serve(
          () ->
              new SimpleChannelInboundHandler<ByteBuf>() {
                @Override
                protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
                  group.add(ctx.channel());
                  ctx.writeAndFlush(msg.retain());
                }
              });
      // More at a time, and without answers, would be a flood to the server, which defers them.
      int atATime = 50;
      List<Recorder> recorders = new ArrayList<>();
      while (recorders.size() < sessions) {
        Recorder recorder = new Recorder();
        recorders.add(recorder);
        write(fixture.connect(recorder), new byte[1]);
        if (recorders.size() % atATime == 0) {
          await().until(() -> recorders.stream().allMatch(each -> each.received() == 1));
        }
      }
      assertEquals(sessions, group.size());
      byte[] news = Fixture.randomBytes(2_000);
      ByteBuf message = fixture.allocator.buffer(news.length).writeBytes(news);

      ChannelGroupFuture written = group.writeAndFlush(message);

      assertTrue(written.await(10_000));
      assertTrue(written.isSuccess());
      assertEquals(sessions, written.group().size());
      int received = 1 + news.length;
      await().until(() -> recorders.stream().allMatch(each -> each.received() == received));
      for (Recorder recorder : recorders) {
        byte[] bytes = recorder.bytes();
        assertArrayEquals(news, Arrays.copyOfRange(bytes, 1, bytes.length));
      }
      assertEquals(0, message.refCnt());
      assertTrue(group.close().await(10_000));
      await().until(group::isEmpty);
    }
  }
}
