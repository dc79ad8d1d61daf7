package io.kcp4j.netty.interop;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;

/** Sends messages; the same messages have to come back, one for one. */
final class MessageCheck extends InteropEchoCheck {

  private final int[] sizes;
  private int sent;
  private int received;

  /** Sends one message of each size, in bytes. */
  MessageCheck(int... sizes) {
    this.sizes = sizes;
  }

  @Override
  ByteBuf nextToSend(ChannelHandlerContext ctx) {
    if (sent == sizes.length) {
      return null;
    }
    int i = sent++;
    return new Pattern(i).next(ctx.alloc(), sizes[i]);
  }

  @Override
  boolean isExpected(ByteBuf message) {
    int i = received++;
    return i < sizes.length
        && message.readableBytes() == sizes[i]
        && new Pattern(i).continuesWith(message);
  }

  @Override
  boolean isComplete() {
    return received == sizes.length;
  }

  @Override
  public String toString() {
    return "%d messages sent and %d received of %d".formatted(sent, received, sizes.length);
  }
}
