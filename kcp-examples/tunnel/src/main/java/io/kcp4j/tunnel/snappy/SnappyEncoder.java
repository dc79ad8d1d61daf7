package io.kcp4j.tunnel.snappy;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;

/**
 * Compresses what is written into Snappy's framing format. Each write becomes a chunk, or several
 * if it is longer than 64 KiB, so a peer can decompress all that was flushed. A chunk that
 * compression makes shorter by less than an eighth is sent uncompressed, as Go's encoder does.
 */
public final class SnappyEncoder extends ChannelOutboundHandlerAdapter {

  private boolean isStarted;

  @Override
  public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
    if (!(msg instanceof ByteBuf data) || !data.isReadable()) {
      ctx.write(msg, promise);
      return;
    }
    ByteBuf chunks;
    try {
      chunks = encode(ctx, data);
    } finally {
      data.release();
    }
    ctx.write(chunks, promise);
  }

  private ByteBuf encode(ChannelHandlerContext ctx, ByteBuf data) {
    Framing framing = Framing.ofThread();
    int first = Math.min(data.readableBytes(), BlockCompressor.MAX_BLOCK_BYTES);
    int expected = Framing.HEADER_BYTES + Framing.CHECKSUM_BYTES + first;
    ByteBuf out = ctx.alloc().directBuffer(expected + (isStarted ? 0 : 10));
    try {
      if (!isStarted) {
        writeHeader(out, Framing.STREAM_IDENTIFIER, Framing.MAGIC_BYTES);
        out.writeIntLE((int) Framing.MAGIC).writeShortLE((int) (Framing.MAGIC >>> 32));
      }
      while (data.isReadable()) {
        writeChunk(framing, data, out);
      }
    } catch (Throwable e) {
      out.release();
      throw e;
    }
    isStarted = true;
    return out;
  }

  private static void writeChunk(Framing framing, ByteBuf data, ByteBuf out) {
    int length = Math.min(data.readableBytes(), BlockCompressor.MAX_BLOCK_BYTES);
    data.readBytes(framing.input, 0, length);
    int checksum = framing.checksum(framing.input, 0, length);
    int compressed = framing.compressor.compress(framing.input, 0, length, framing.output, 0);
    boolean isWorthIt = compressed < length - length / 8;
    int bytes = isWorthIt ? compressed : length;
    writeHeader(
        out, isWorthIt ? Framing.COMPRESSED : Framing.UNCOMPRESSED, Framing.CHECKSUM_BYTES + bytes);
    out.writeIntLE(checksum);
    out.writeBytes(isWorthIt ? framing.output : framing.input, 0, bytes);
  }

  private static void writeHeader(ByteBuf out, int type, int length) {
    out.writeIntLE(type | length << Byte.SIZE);
  }
}
