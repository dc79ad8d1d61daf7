package io.kcp4j.netty.interop;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.UnreliableDatagram;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.util.BitSet;

/**
 * Sends unreliable datagrams of all sizes once the session has begun; each has to come back. Few
 * are on their way at a time, so that no queue overflows.
 */
final class UnreliableCheck extends InteropEchoCheck {

  private static final int IN_FLIGHT = 32;
  private static final int INDEX_BYTES = 4;
  private static final int SIZE_STEP = 37;

  private final int datagrams;
  private final BitSet returned = new BitSet();
  private int maxBytes;
  private boolean asked;
  private boolean begun;
  private int sent;

  UnreliableCheck(int datagrams) {
    this.datagrams = datagrams;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    maxBytes = ((KcpChannel) ctx.channel()).maxUnreliableBytes();
    super.channelActive(ctx);
  }

  @Override
  Object nextToSend(ChannelHandlerContext ctx) {
    if (!asked) {
      asked = true;
      return ctx.alloc().buffer(1).writeZero(1);
    }
    if (!begun || sent == datagrams || sent - returned.cardinality() == IN_FLIGHT) {
      return null;
    }
    int i = sent++;
    ByteBuf content = ctx.alloc().buffer(maxBytes).writeInt(i);
    ByteBuf pattern = new Pattern(i).next(ctx.alloc(), sizeOf(i) - INDEX_BYTES);
    content.writeBytes(pattern);
    pattern.release();
    return new UnreliableDatagram(content);
  }

  /** The largest first, then downwards and around. */
  private int sizeOf(int i) {
    return maxBytes - i * SIZE_STEP % (maxBytes - INDEX_BYTES + 1);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) throws Exception {
    if (msg instanceof UnreliableDatagram datagram) {
      evaluate(isExpectedDatagram(datagram.content()));
      datagram.release();
    } else {
      super.channelRead(ctx, msg);
    }
  }

  private boolean isExpectedDatagram(ByteBuf content) {
    int size = content.readableBytes();
    int i = size < INDEX_BYTES ? -1 : content.readInt();
    if (i < 0 || i >= sent || size != sizeOf(i)) {
      return false;
    }
    returned.set(i);
    return new Pattern(i).continuesWith(content);
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    sendWhileWritable(ctx);
  }

  @Override
  boolean isExpected(ByteBuf received) {
    begun = true;
    return received.readableBytes() == 1;
  }

  @Override
  boolean isComplete() {
    return returned.cardinality() == datagrams;
  }

  @Override
  public String toString() {
    return "%d sent and %d returned of %d".formatted(sent, returned.cardinality(), datagrams);
  }
}
