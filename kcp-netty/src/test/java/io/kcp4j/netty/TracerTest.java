package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpTracer;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.wire.Segment;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The option TRACER gives each session of a channel an observer. */
class TracerTest {

  private final EventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final Recorded server = new Recorded();
  private final Recorded client = new Recorded();

  @AfterEach
  void stop() {
    group.shutdownGracefully().syncUninterruptibly();
  }

  @Test
  void bothSidesOfASessionAreTracedUntilTheyClose() {
    Channel listener = bind();
    InetSocketAddress address = (InetSocketAddress) listener.localAddress();
    Channel channel = connect(address, client);
    channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[100])).syncUninterruptibly();
    await().until(() -> client.acknowledged.get() == 1 && server.received.get() > 0);
    assertEquals(address, client.remote);
    assertEquals(channel.localAddress(), server.remote);
    assertEquals(client.conv, server.conv);
    assertNotEquals(0, client.conv);
    assertEquals(0, client.closed.get());
    channel.close().syncUninterruptibly();
    await().until(() -> client.closed.get() == 1);
    listener.close().syncUninterruptibly();
  }

  @Test
  void nothingIsTracedByDefault() {
    Channel listener = bind();
    Channel channel = connect((InetSocketAddress) listener.localAddress(), KcpTracerFactory.NONE);
    assertSame(KcpTracerFactory.NONE, new KcpChannel().config().getOption(KcpChannelOption.TRACER));
    channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[100])).syncUninterruptibly();
    await().until(() -> server.received.get() > 0);
    assertEquals(0, client.received.get());
    channel.close().syncUninterruptibly();
    listener.close().syncUninterruptibly();
  }

  @Test
  void connectFailsWithTheExceptionOfTheFactory() {
    Channel listener = bind();
    InetSocketAddress address = (InetSocketAddress) listener.localAddress();
    IllegalStateException thrown =
        assertThrows(
            IllegalStateException.class,
            () ->
                connect(
                    address,
                    (remote, conv) -> {
                      throw new IllegalStateException("no file");
                    }));
    assertTrue(thrown.getMessage().contains("no file"), thrown.getMessage());
    listener.close().syncUninterruptibly();
  }

  /** A batch takes long during a garbage collection, or while code is not compiled yet. */
  @Test
  void datagramsOfABatchThatTakesLongAreNotOlderThanTheyAre() throws Exception {
    server.onDatagram =
        () -> {
          long start = System.nanoTime();
          while (System.nanoTime() - start < 5_000_000) {
            Thread.onSpinWait();
          }
        };
    Channel listener = bind();
    try (RawPeer peer = new RawPeer((InetSocketAddress) listener.localAddress())) {
      listener
          .eventLoop()
          .submit(
              () -> {
                for (int sn = 0; sn < 3; sn++) {
                  peer.sendUnchecked(RawPeer.segment(1, Segment.PUSH, sn, new byte[] {1}));
                }
              });
      await().until(() -> server.received.get() == 3);
    }
    listener.close().syncUninterruptibly();
    for (int i = 1; i < 3; i++) {
      assertTrue(server.times.get(i) - server.times.get(i - 1) >= 5_000, () -> "" + server.times);
    }
  }

  private Channel bind() {
    return new ServerBootstrap()
        .group(group)
        .channel(KcpServerChannel.class)
        .childOption(KcpChannelOption.TRACER, server)
        .childHandler(new ChannelInboundHandlerAdapter())
        .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
        .syncUninterruptibly()
        .channel();
  }

  private Channel connect(InetSocketAddress address, KcpTracerFactory tracer) {
    return new Bootstrap()
        .group(group)
        .channel(KcpChannel.class)
        .option(KcpChannelOption.TRACER, tracer)
        .handler(new ChannelInboundHandlerAdapter())
        .connect(address)
        .syncUninterruptibly()
        .channel();
  }

  /** Counts the events of the one session for which it is the factory. */
  private static final class Recorded implements KcpTracerFactory, KcpTracer {
    final List<Long> times = new CopyOnWriteArrayList<>(); // of received datagrams, in microseconds
    final AtomicInteger received = new AtomicInteger();
    final AtomicInteger acknowledged = new AtomicInteger();
    final AtomicInteger closed = new AtomicInteger();
    volatile InetSocketAddress remote;
    volatile int conv;
    volatile Runnable onDatagram = () -> {};

    @Override
    public KcpTracer create(InetSocketAddress remote, int conv) {
      this.remote = remote;
      this.conv = conv;
      return this;
    }

    @Override
    public void datagramReceived(long nowUs, int bytes, Origin origin) {
      times.add(nowUs);
      onDatagram.run();
      received.incrementAndGet();
    }

    @Override
    public void acknowledged(long nowUs, int una, int segments, int rttUs) {
      acknowledged.addAndGet(segments);
    }

    @Override
    public void closed() {
      closed.incrementAndGet();
    }
  }
}
