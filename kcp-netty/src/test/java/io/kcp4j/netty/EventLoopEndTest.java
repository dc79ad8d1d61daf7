package io.kcp4j.netty;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadEventLoop;
import io.netty.util.concurrent.EventExecutor;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;

/** Servers whose event loop ends while another event loop has not done its part of something. */
class EventLoopEndTest {

  /** The event loop of a server, and another one that is held until {@link #close}. */
  private static final class Loops implements AutoCloseable {

    final MultiThreadIoEventLoopGroup group;
    final SingleThreadEventLoop server;
    final SingleThreadEventLoop other;
    private final CountDownLatch held = new CountDownLatch(1);

    Loops(TransportUnderTest transport) {
      // An event loop of Netty 4.2.18's io_uring corrupts memory if it has channels then.
      assumeTrue(transport != TransportUnderTest.IO_URING);
      group = transport.newGroup(2);
      List<EventExecutor> loops = new ArrayList<>();
      group.forEach(loops::add);
      server = (SingleThreadEventLoop) loops.get(0);
      other = (SingleThreadEventLoop) loops.get(1);
    }

    ServerBootstrap bootstrap(TransportUnderTest transport) {
      ServerBootstrap bootstrap =
          new ServerBootstrap()
              .group(server)
              .channel(KcpServerChannel.class)
              .childHandler(new Echo());
      transport.configure(bootstrap);
      return bootstrap;
    }

    void holdOther() {
      other.execute(
          () -> {
            try {
              held.await();
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
          });
      await().until(() -> other.pendingTasks() == 0);
    }

    void awaitTaskOfOther() {
      await().until(() -> other.pendingTasks() > 0);
    }

    void endServer() {
      server.shutdownGracefully(0, 0, SECONDS).syncUninterruptibly();
    }

    /** Ends both. */
    @Override
    public void close() {
      held.countDown();
      group.shutdownGracefully(0, 0, SECONDS).syncUninterruptibly();
    }
  }

  private static void assertTerminates(ChannelFuture bind) throws InterruptedException {
    assertTrue(((KcpServerChannel) bind.channel()).terminationFuture().await(10, SECONDS));
  }

  /** It waited for its sockets, which it had left, so that none of them closed it. */
  @OverEachTransport
  void serverThatCloses(TransportUnderTest transport) throws Exception {
    ChannelFuture bind;
    try (Loops loops = new Loops(transport)) {
      bind =
          loops
              .bootstrap(transport)
              .option(KcpServerChannelOption.SOCKETS, 2)
              .bind(Fixture.ANY_PORT)
              .sync();
      loops.holdOther();
      ChannelFuture close = bind.channel().close();
      loops.awaitTaskOfOther();
      assertFalse(close.isDone());

      loops.endServer();

      assertTrue(close.isSuccess());
      assertTrue(bind.channel().closeFuture().isDone());
    }
    assertTerminates(bind);
  }

  @OverEachTransport
  void serverThatOpensASocketOnAnotherEventLoop(TransportUnderTest transport) throws Exception {
    ChannelFuture bind;
    try (Loops loops = new Loops(transport)) {
      loops.holdOther();
      bind =
          loops
              .bootstrap(transport)
              .option(KcpServerChannelOption.SOCKETS, 2)
              .bind(Fixture.ANY_PORT);
      loops.awaitTaskOfOther();

      loops.endServer();

      assertInstanceOf(ClosedChannelException.class, bind.cause());
    }
    assertTerminates(bind);
  }

  @OverEachTransport
  void serverThatRegistersItsOnlySocketOnAnotherEventLoop(TransportUnderTest transport)
      throws Exception {
    ChannelFuture bind;
    try (Loops loops = new Loops(transport)) {
      loops.holdOther();
      bind =
          loops
              .bootstrap(transport)
              .option(KcpServerChannelOption.SOCKET_GROUP, loops.other)
              .bind(Fixture.ANY_PORT);
      loops.awaitTaskOfOther();

      loops.endServer();

      assertInstanceOf(ClosedChannelException.class, bind.cause());
    }
    assertTerminates(bind);
  }

  /** A socket that is registered then would stay open: Netty has closed the others already. */
  @OverEachTransport
  void socketIsRefusedByAnEventLoopThatEnds(TransportUnderTest transport) throws Exception {
    AtomicReference<ChannelFuture> bind = new AtomicReference<>();
    try (Loops loops = new Loops(transport)) {
      ServerBootstrap bootstrap =
          loops.bootstrap(transport).option(KcpServerChannelOption.SOCKET_GROUP, loops.other);
      loops.other.addShutdownHook(
          () -> { // Runs before the last tasks do.
            bind.set(bootstrap.bind(Fixture.ANY_PORT));
            loops.awaitTaskOfOther();
          });
      loops.other.executeAfterEventLoopIteration(
          () -> {
            loops.other.shutdownGracefully(0, 0, SECONDS);
            loops.other.execute(() -> {}); // So that the hook runs as late as possible.
          });
      loops.other.terminationFuture().sync();

      assertTrue(bind.get().await(10, SECONDS));
      assertInstanceOf(RejectedExecutionException.class, bind.get().cause());
    }
    assertTerminates(bind.get());
  }

  /** Such a socket stayed open, and its server never terminated. */
  @OverEachTransport
  void eventLoopThatEndsTakesNoSocket(TransportUnderTest transport) {
    try (Loops loops = new Loops(transport)) {
      AtomicReference<ChannelFuture> bind = new AtomicReference<>();
      loops.server.shutdownGracefully(100, 10_000, MILLISECONDS);
      loops.server.execute(
          () -> {
            assertTrue(loops.server.isShuttingDown() && !loops.server.isShutdown());
            bind.set(loops.bootstrap(transport).bind(Fixture.ANY_PORT));
          });
      loops.server.terminationFuture().syncUninterruptibly();
      assertInstanceOf(RejectedExecutionException.class, bind.get().cause());
      assertFalse(bind.get().channel().isOpen());
    }
  }
}
