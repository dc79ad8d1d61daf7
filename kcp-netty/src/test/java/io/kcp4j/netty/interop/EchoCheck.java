package io.kcp4j.netty.interop;

import static java.util.concurrent.TimeUnit.SECONDS;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.concurrent.Future;
import java.util.concurrent.CompletableFuture;

/** Sends something, as fast as the channel takes it, and compares what comes back with it. */
abstract class EchoCheck extends SimpleChannelInboundHandler<ByteBuf> {

  private final CompletableFuture<Void> done = new CompletableFuture<>();

  /** Waits until everything has come back; fails as soon as anything differs. */
  void assertSucceeds(int timeoutSeconds) throws Exception {
    done.get(timeoutSeconds, SECONDS);
  }

  /** The next piece to send, or null after the last. */
  abstract ByteBuf nextToSend(ChannelHandlerContext ctx);

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

  private void sendWhileWritable(ChannelHandlerContext ctx) {
    while (ctx.channel().isWritable()) {
      ByteBuf next = nextToSend(ctx);
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
    if (!isExpected(received)) {
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
