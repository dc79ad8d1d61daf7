package io.kcp4j.netty.interop;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;

/** Sends a number of bytes; their echo may come in other pieces. */
final class StreamCheck extends InteropEchoCheck {

  private static final int CHUNK_BYTES = 32 << 10;
  private static final int SEED = 7;

  private final Pattern toSend = new Pattern(SEED);
  private final Pattern expected = new Pattern(SEED);
  private final long totalBytes;
  private long sentBytes;
  private long receivedBytes;

  StreamCheck(long totalBytes) {
    this.totalBytes = totalBytes;
  }

  @Override
  ByteBuf nextToSend(ChannelHandlerContext ctx) {
    int length = (int) Math.min(CHUNK_BYTES, totalBytes - sentBytes);
    if (length == 0) {
      return null;
    }
    sentBytes += length;
    return toSend.next(ctx.alloc(), length);
  }

  @Override
  boolean isExpected(ByteBuf received) {
    receivedBytes += received.readableBytes();
    return expected.continuesWith(received);
  }

  @Override
  boolean isComplete() {
    return receivedBytes == totalBytes;
  }

  @Override
  public String toString() {
    return "%d bytes sent and %d received of %d".formatted(sentBytes, receivedBytes, totalBytes);
  }
}
