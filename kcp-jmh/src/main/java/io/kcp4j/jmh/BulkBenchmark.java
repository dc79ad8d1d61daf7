package io.kcp4j.jmh;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpLanes;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.LaneEvent;
import io.kcp4j.netty.LaneMessage;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Bulk data one way over loopback, on a stream or on one lane, in MiB per second. Both ends are in
 * this process, each on an event loop of its own.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(3)
@Warmup(iterations = 8, time = 2)
@Measurement(iterations = 4, time = 2)
public class BulkBenchmark {

  private static final int MIB_PER_OPERATION = 64;
  private static final int MESSAGE_BYTES = 16 << 10;
  private static final int WINDOW = 1024;
  private static final int SOCKET_BUFFER_BYTES = 4 << 20;
  private static final int LANE = 1;

  /** What carries the data. */
  public enum Carrier {
    /** A session in stream mode. */
    STREAM,
    /** A reliable, ordered lane of a session. */
    LANE
  }

  @Param Carrier carrier;

  /** The high water mark; the low one is half of it. */
  @Param({"65536", "524288"})
  int waterMarkBytes;

  /**
   * The {@linkplain LanesConfig#budgetBytes() budget} of the session's lanes; one has a quarter.
   */
  @Param({"4194304", "16777216"})
  int budgetBytes;

  private final Receiver receiver = new Receiver();
  private EventLoopGroup serverGroup;
  private EventLoopGroup clientGroup;
  private Channel server;
  private Channel client;

  /** Other deliveries have no settings of lanes. */
  private LanesConfig lanes() {
    return carrier == Carrier.LANE
        ? LanesConfig.builder().budgetBytes(budgetBytes).build()
        : LanesConfig.DEFAULT;
  }

  @Setup(Level.Trial)
  public void connect() {
    IoHandlerFactory io =
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    serverGroup = new MultiThreadIoEventLoopGroup(1, io);
    clientGroup = new MultiThreadIoEventLoopGroup(1, io);
    KcpConfig config =
        KcpConfig.builder()
            .mode(KcpMode.FAST3)
            .delivery(carrier == Carrier.LANE ? Delivery.LANES : Delivery.STREAM)
            .sendWindow(WINDOW)
            .receiveWindow(WINDOW)
            .congestionControl(CongestionControl.NONE)
            .build();
    server =
        new ServerBootstrap()
            .group(serverGroup)
            .channel(KcpServerChannel.class)
            .option(ChannelOption.SO_RCVBUF, SOCKET_BUFFER_BYTES)
            .option(ChannelOption.SO_SNDBUF, SOCKET_BUFFER_BYTES)
            .childOption(KcpChannelOption.CONFIG, config)
            .childOption(KcpChannelOption.LANES, lanes())
            .childHandler(receiver)
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .syncUninterruptibly()
            .channel();
    client =
        new Bootstrap()
            .group(clientGroup)
            .channel(KcpChannel.class)
            .option(ChannelOption.SO_RCVBUF, SOCKET_BUFFER_BYTES)
            .option(ChannelOption.SO_SNDBUF, SOCKET_BUFFER_BYTES)
            .option(KcpChannelOption.CONFIG, config)
            .option(
                ChannelOption.WRITE_BUFFER_WATER_MARK,
                new WriteBufferWaterMark(waterMarkBytes / 2, waterMarkBytes))
            .handler(new Sender(carrier))
            .connect(server.localAddress())
            .syncUninterruptibly()
            .channel();
  }

  @TearDown(Level.Trial)
  public void close() {
    client.close().syncUninterruptibly();
    server.close().syncUninterruptibly();
    clientGroup.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    serverGroup.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
  }

  /** Waits until so much more has arrived; the sender never pauses. */
  @Benchmark
  @OperationsPerInvocation(MIB_PER_OPERATION)
  public void receive() {
    long end = receiver.bytes.get() + ((long) MIB_PER_OPERATION << 20);
    while (receiver.bytes.get() < end) {
      KcpBenchmark.check(client.isActive(), "the session has ended");
      LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(500));
    }
  }

  @Sharable
  private static final class Receiver extends ChannelInboundHandlerAdapter {

    private final AtomicLong bytes = new AtomicLong();

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      ByteBuf content = message instanceof LaneMessage lane ? lane.content() : (ByteBuf) message;
      int read = content.readableBytes();
      ReferenceCountUtil.release(message);
      bytes.lazySet(bytes.getPlain() + read);
    }
  }

  /** Writes the same buffer as long as the channel, or its lane, is writable. */
  private static final class Sender extends ChannelInboundHandlerAdapter {

    private final Carrier carrier;
    private ByteBuf buffer;
    private KcpLanes lanes;

    Sender(Carrier carrier) {
      this.carrier = carrier;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
      buffer = context.alloc().directBuffer(MESSAGE_BYTES).writeZero(MESSAGE_BYTES);
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
      lanes = carrier == Carrier.LANE ? ((KcpChannel) context.channel()).lanes() : null;
      fill(context);
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
      fill(context);
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
      if (event instanceof LaneEvent lane && lane.type() == LaneEvent.Type.WRITABLE) {
        fill(context);
      }
    }

    private void fill(ChannelHandlerContext context) {
      while (context.channel().isActive() && isWritable(context)) {
        ByteBuf content = buffer.retainedDuplicate();
        context.write(
            lanes == null ? content : new LaneMessage(LANE, content), context.voidPromise());
      }
      context.flush();
    }

    private boolean isWritable(ChannelHandlerContext context) {
      return context.channel().isWritable() && (lanes == null || lanes.isWritable(LANE));
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
      buffer.release();
    }
  }
}
