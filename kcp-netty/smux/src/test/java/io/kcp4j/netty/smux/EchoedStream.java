package io.kcp4j.netty.smux;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import java.util.concurrent.CompletableFuture;

/**
 * Sends the bytes of a seed as long as the channel is writable, shuts down its output, and compares
 * the echo. The channel needs {@code ALLOW_HALF_CLOSURE}.
 */
public final class EchoedStream extends ChannelInboundHandlerAdapter {

  private static final int WRITE_BYTES = 3_000;

  private final CompletableFuture<Void> done = new CompletableFuture<>();
  private final long seed;
  private final long size;

  private long sent;
  private long received;

  /**
   * @param size how many bytes to send
   */
  public EchoedStream(long seed, long size) {
    this.seed = seed;
    this.size = size;
  }

  /** Completes at the end of an echo without a difference. */
  public CompletableFuture<Void> done() {
    return done;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    send(ctx);
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    send(ctx);
  }

  private void send(ChannelHandlerContext ctx) {
    if (sent == size) {
      return;
    }
    while (ctx.channel().isWritable() && sent < size) {
      int length = (int) Math.min(WRITE_BYTES, size - sent);
      ByteBuf bytes = StreamBytes.next(ctx.alloc(), seed, sent, length);
      sent += length;
      ctx.write(bytes);
    }
    ctx.flush();
    if (sent == size) {
      ((DuplexChannel) ctx.channel()).shutdownOutput();
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf bytes = (ByteBuf) msg;
    if (!StreamBytes.matches(seed, received, bytes)) {
      fail("the echo differs after byte " + received);
    }
    received += bytes.readableBytes();
    bytes.release();
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event == ChannelInputShutdownEvent.INSTANCE) {
      if (received == size) {
        done.complete(null);
      } else {
        fail("the echo ended after byte " + received + " of " + size);
      }
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    fail("inactive after byte " + received + " of " + size);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    done.completeExceptionally(cause);
  }

  private void fail(String what) {
    done.completeExceptionally(new AssertionError("stream of seed " + seed + ": " + what));
  }
}
