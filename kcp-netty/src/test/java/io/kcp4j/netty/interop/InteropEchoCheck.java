package io.kcp4j.netty.interop;

import static java.util.concurrent.TimeUnit.SECONDS;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpStats;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;

/**
 * A client of kcp4j that sends something, as fast as the channel takes it, and compares what comes
 * back with it.
 */
abstract class InteropEchoCheck extends SimpleChannelInboundHandler<ByteBuf> {

  private static final int DATAGRAM_QUEUE = 256;

  private final CompletableFuture<Void> done = new CompletableFuture<>();

  /**
   * Connects to an echo server and waits until everything has come back; fails as soon as anything
   * differs.
   *
   * @return what the session has counted by then
   */
  KcpStats run(
      InetSocketAddress server,
      PeerTransport transport,
      SessionSettings settings,
      int timeoutSeconds)
      throws Exception {
    EventLoopGroup group = transport.newGroup();
    KcpConfig config = settings.config().toBuilder().datagramQueue(DATAGRAM_QUEUE).build();
    Bootstrap bootstrap =
        new Bootstrap()
            .group(group)
            .channel(KcpChannel.class)
            .option(KcpChannelOption.CONFIG, config)
            .option(KcpChannelOption.KEY_RING, settings.keys())
            .option(KcpChannelOption.FEC, settings.fec())
            .handler(this);
    try {
      KcpChannel client = (KcpChannel) bootstrap.connect(server).sync().channel();
      await(timeoutSeconds);
      client.close().sync();
      return client.stats();
    } finally {
      group.shutdownGracefully(0, 5, SECONDS).sync();
    }
  }

  private void await(int timeoutSeconds) throws Exception {
    try {
      done.get(timeoutSeconds, SECONDS);
    } catch (TimeoutException e) {
      throw new AssertionError("not done in time: " + this, e);
    }
  }

  /** What to send next, or null if that is all for now. */
  abstract Object nextToSend(ChannelHandlerContext ctx);

  /** Whether this is what has to come next. */
  abstract boolean isExpected(ByteBuf received);

  abstract boolean isComplete();

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    sendWhileWritable(ctx);
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    sendWhileWritable(ctx);
  }

  final void sendWhileWritable(ChannelHandlerContext ctx) {
    while (ctx.channel().isWritable()) {
      Object next = nextToSend(ctx);
      if (next == null) {
        break;
      }
      ctx.write(next).addListener(this::written);
    }
    ctx.flush();
  }

  private void written(Future<?> write) {
    if (!write.isSuccess()) {
      done.completeExceptionally(write.cause());
    }
  }

  @Override
  protected void channelRead0(ChannelHandlerContext ctx, ByteBuf received) {
    evaluate(isExpected(received));
  }

  /** Goes on, or fails if what came was not right. */
  final void evaluate(boolean right) {
    if (!right) {
      done.completeExceptionally(new AssertionError("the echo differs: " + this));
    } else if (isComplete()) {
      done.complete(null);
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    done.completeExceptionally(new AssertionError("closed too early: " + this));
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    done.completeExceptionally(cause);
  }
}
