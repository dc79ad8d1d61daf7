package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpTracer;
import io.kcp4j.internal.session.TimerWheel;
import io.kcp4j.internal.wire.Time;
import io.kcp4j.netty.internal.endpoint.EventLoopContext;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** An event loop has one timer wheel and at most one scheduled task. */
class LoopTest {

  private static final class Alarm extends TimerWheel.Timer {
    final CompletableFuture<Long> expired = new CompletableFuture<>();

    @Override
    protected void expire(long nowUs) {
      expired.complete(nowUs);
    }
  }

  @OverEachTransport
  void idleSessionsHaveNoDeadline(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      List<KcpChannel> sessions = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        Recorder recorder = new Recorder();
        KcpChannel client = fixture.connect(recorder);
        client.writeAndFlush(Fixture.buffer(client, new byte[100]));
        await().until(() -> recorder.received() == 100);
        sessions.add(client);
        sessions.add(fixture.child());
      }

      for (KcpChannel session : sessions) {
        await().until(() -> session.session().kcp().nextDeadline() == Time.NO_DEADLINE);
      }
      // One timer is left, the keep-alive sweep of the socket.
      EventLoop loop = fixture.server().eventLoop();
      assertEquals(1, loop.submit(() -> EventLoopContext.of(loop).wheel().size()).get());
    }
  }

  /**
   * Keeps the event loop busy before it responds. As the tracer of its session, learns the time of
   * the response: what the session does next depends on when the peer answers.
   */
  private static final class SlowEcho extends ChannelInboundHandlerAdapter implements KcpTracer {
    static final int BUSY_US = 50_000;
    final CompletableFuture<Long> sentAfterUs = new CompletableFuture<>();
    private long startUs;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      startUs = EventLoopContext.of(ctx.channel().eventLoop()).nowUs();
      long startNs = System.nanoTime();
      while (System.nanoTime() - startNs < TimeUnit.MICROSECONDS.toNanos(BUSY_US)) {
        Thread.onSpinWait();
      }
      ctx.writeAndFlush(msg);
    }

    @Override
    public void segmentSent(long nowUs, int sn, int payloadBytes, int transmission) {
      sentAfterUs.complete(nowUs - startUs);
    }
  }

  @OverEachTransport
  void responseOfASlowHandlerHasTheTimeAtWhichItIsSent(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      SlowEcho echo = new SlowEcho();
      fixture.serverBootstrap.childOption(KcpChannelOption.TRACER, (remote, conv) -> echo);
      fixture.serve(() -> echo);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[10]));
      long sentAfterUs = echo.sentAfterUs.get(10, TimeUnit.SECONDS);
      assertTrue(sentAfterUs >= SlowEcho.BUSY_US, "after " + sentAfterUs + " µs");
    }
  }

  @OverEachTransport
  void loopWithoutSessionsSchedulesNothing(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      EventLoop loop = server.eventLoop();
      // A session of another test may have left a wake-up behind.
      await().until(() -> !loop.submit(() -> EventLoopContext.of(loop).isScheduled()).get());

      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      KcpChannel child = fixture.child();
      assertTrue(loop.submit(() -> EventLoopContext.of(loop).isScheduled()).get());

      child.close().syncUninterruptibly();
      await().until(() -> !loop.submit(() -> EventLoopContext.of(loop).isScheduled()).get());
    }
  }

  @OverEachTransport
  void earlierDeadlineWakesEarlier(TransportUnderTest transport) throws Exception {
    EventLoopGroup group = transport.newGroup(1);
    try {
      EventLoop eventLoop = group.next();
      Alarm late = new Alarm();
      Alarm early = new Alarm();
      eventLoop.submit(
          () -> {
            EventLoopContext loop = EventLoopContext.of(eventLoop);
            loop.wheel().arm(late, loop.readNowUs() + 60_000_000);
            loop.schedule();
            loop.wheel().arm(early, loop.readNowUs() + 5_000);
            loop.schedule();
          });

      early.expired.get(10, TimeUnit.SECONDS);
      assertFalse(late.expired.isDone());
    } finally {
      group.shutdownGracefully();
    }
  }

  @OverEachTransport
  void deadlineThatThrowsDoesNotStopTheOthers(TransportUnderTest transport) throws Exception {
    EventLoopGroup group = transport.newGroup(1);
    try {
      EventLoop eventLoop = group.next();
      Alarm alarm = new Alarm();
      eventLoop.execute(
          () -> {
            EventLoopContext loop = EventLoopContext.of(eventLoop);
            loop.wheel()
                .arm(
                    new TimerWheel.Timer() {
                      @Override
                      protected void expire(long nowUs) {
                        throw new IllegalStateException("a deadline that fails");
                      }
                    },
                    loop.readNowUs() + 1_000);
            loop.wheel().arm(alarm, loop.readNowUs() + 5_000);
            loop.schedule();
          });

      assertNotNull(alarm.expired.get(10, TimeUnit.SECONDS));
    } finally {
      group.shutdownGracefully();
    }
  }

  @OverEachTransport
  void lateWakeUpReadsInputBeforeTimersExpire(TransportUnderTest transport) throws Exception {
    EventLoopGroup group = transport.newGroup(1);
    try {
      EventLoop eventLoop = group.next();
      Alarm alarm = new Alarm();
      CountDownLatch held = new CountDownLatch(1);
      List<String> order = new ArrayList<>();
      eventLoop.execute(
          () -> {
            EventLoopContext loop = EventLoopContext.of(eventLoop);
            long deadline = loop.readNowUs() + 1_000;
            loop.wheel().arm(alarm, deadline);
            loop.schedule();
            while (loop.readNowUs() < deadline + 100_000) {
              Thread.onSpinWait();
            }
            // Stands for input: it is pending when the wake-up runs, 100 ms late.
            eventLoop.execute(() -> order.add("input"));
            held.countDown();
          });
      held.await();

      alarm.expired.thenRun(() -> order.add("timeout")).get(10, TimeUnit.SECONDS);

      assertEquals(List.of("input", "timeout"), order);
    } finally {
      group.shutdownGracefully();
    }
  }

  @OverEachTransport
  void lateWakeUpReadsAllPendingDatagramsBeforeTimersExpire(TransportUnderTest transport)
      throws Exception {
    // More than one batch, and no more: timers wait for 50 ms at most.
    int pending = transport.name().startsWith("EPOLL") ? 200 : 100;
    Reading reading = readingOfALateTimer(transport, pending);
    // Where other processes have used up that time, it says nothing.
    for (int i = 0; i < 20 && reading.waitedUs() >= 50_000; i++) {
      reading = readingOfALateTimer(transport, pending);
    }
    assertEquals(pending, reading.datagrams());
  }

  /** What a timer finds read that expires 100 ms late, while datagrams are pending. */
  private static Reading readingOfALateTimer(TransportUnderTest transport, int pending)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server = fixture.serve(Recorder::new);
      EventLoop eventLoop = server.eventLoop();
      ReadingTimer timer = new ReadingTimer(server);
      CountDownLatch held = new CountDownLatch(1);
      CountDownLatch sent = new CountDownLatch(1);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        eventLoop.submit(
            () -> {
              EventLoopContext loop = EventLoopContext.of(eventLoop);
              long deadlineUs = loop.readNowUs() + 1_000;
              loop.wheel().arm(timer, deadlineUs);
              loop.schedule();
              held.countDown();
              sent.await();
              do {
                timer.heldUntilUs = loop.readNowUs();
              } while (timer.heldUntilUs < deadlineUs + 100_000);
              return null;
            });
        held.await();
        for (int i = 0; i < pending; i++) {
          rawPeer.send(new byte[1]);
        }
        sent.countDown();

        return timer.reading.get(10, TimeUnit.SECONDS);
      }
    }
  }

  /** How many datagrams had been received, and how long the timer had waited for them. */
  private record Reading(long datagrams, long waitedUs) {}

  /** Reads when it expires how many datagrams a server has received that are none of KCP. */
  private static final class ReadingTimer extends TimerWheel.Timer {
    final CompletableFuture<Reading> reading = new CompletableFuture<>();
    private final KcpServerChannel server;
    private long heldUntilUs;

    ReadingTimer(KcpServerChannel server) {
      this.server = server;
    }

    @Override
    protected void expire(long nowUs) {
      long datagrams = server.counters().get(KcpCounter.MALFORMED);
      reading.complete(new Reading(datagrams, nowUs - heldUntilUs));
    }
  }

  @OverEachTransport
  void loopThatEndsWithoutQuietPeriodClosesItsSessions(TransportUnderTest transport)
      throws Exception {
    // Netty 4.2.18 corrupts memory there, independently of this project.
    assumeTrue(transport != TransportUnderTest.IO_URING);
    EventLoopGroup group = transport.newGroup(1);
    UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    try (UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      KcpChannel client =
          (KcpChannel)
              new Bootstrap()
                  .group(group)
                  .channel(KcpChannel.class)
                  .option(ChannelOption.ALLOCATOR, allocator)
                  .handler(new Recorder())
                  .connect(unresponsive.address())
                  .sync()
                  .channel();
      client.writeAndFlush(Fixture.buffer(client, new byte[1 << 20]));

      // From within: it looks at its channels, and only then learns that it has to end.
      client.eventLoop().execute(() -> group.shutdownGracefully(0, 10, TimeUnit.SECONDS));
      group.terminationFuture().sync();

      assertTrue(client.closeFuture().isDone());
      assertEquals(0, allocator.metric().usedDirectMemory());
    }
  }
}
