package io.kcp4j.tunnel.snappy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.CorruptedFrameException;
import java.util.Arrays;

/**
 * Decompresses what is read, a stream in Snappy's framing format, and verifies its checksums. Each
 * chunk of data is read as one buffer. At the first error it fires a {@link
 * CorruptedFrameException} and discards everything that follows: a handler behind it has to close
 * the channel. Holds at most one incomplete chunk, of up to 75 KiB, and no more than twice what has
 * arrived of one.
 */
public final class SnappyDecoder extends ChannelInboundHandlerAdapter {

  private static final byte[] NOTHING = {};

  private static final int MIN_PARTIAL_BYTES = 256;

  private static final int MAX_COMPRESSED_BYTES =
      Framing.CHECKSUM_BYTES + BlockCompressor.MAX_COMPRESSED_BYTES;

  private static final int MAX_UNCOMPRESSED_BYTES =
      Framing.CHECKSUM_BYTES + BlockCompressor.MAX_BLOCK_BYTES;

  /** As much of the chunk's header as has been read: its type is the lowest byte. */
  private int header;

  private int headerBytes;

  /** How many bytes of a chunk that has no meaning here are still to come. */
  private int skippedBytes;

  /** What has been read of the body of a chunk that is not complete. */
  private byte[] partial = NOTHING;

  private int partialBytes;

  private boolean isStarted;
  private boolean hasFailed;

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (!(msg instanceof ByteBuf in)) {
      ctx.fireChannelRead(msg);
      return;
    }
    try {
      while (in.isReadable() && !hasFailed) {
        ByteBuf data = decode(in, ctx.alloc());
        if (data != null) {
          ctx.fireChannelRead(data);
        }
      }
    } catch (CorruptedFrameException e) {
      hasFailed = true;
      partial = NOTHING;
      ctx.fireExceptionCaught(e);
    } finally {
      in.release();
    }
  }

  /** The memory for an incomplete chunk, in bytes. */
  int heldBytes() {
    return partial.length;
  }

  /** Reads at most one chunk, and returns its data, or null if it has none or is not complete. */
  private ByteBuf decode(ByteBuf in, ByteBufAllocator allocator) {
    if (skippedBytes > 0) {
      int bytes = Math.min(skippedBytes, in.readableBytes());
      in.skipBytes(bytes);
      skippedBytes -= bytes;
      return null;
    }
    if (headerBytes < Framing.HEADER_BYTES && !readHeader(in)) {
      return null;
    }
    if (partialBytes == 0 && in.readableBytes() >= bodyBytes()) {
      return wholeBody(in, allocator);
    }
    return continuedBody(in, allocator);
  }

  /** Returns whether the header is complete and a body follows that has a meaning. */
  private boolean readHeader(ByteBuf in) {
    while (headerBytes < Framing.HEADER_BYTES) {
      if (!in.isReadable()) {
        return false;
      }
      header |= in.readUnsignedByte() << (Byte.SIZE * headerBytes);
      headerBytes++;
    }
    checkHeader();
    if (type() >= Framing.FIRST_SKIPPABLE && type() != Framing.STREAM_IDENTIFIER) {
      skippedBytes = bodyBytes();
      endChunk();
      return false;
    }
    return true;
  }

  private void checkHeader() {
    if (!isStarted && type() != Framing.STREAM_IDENTIFIER) {
      throw corrupt("a stream that begins without its identifier");
    }
    switch (type()) {
      case Framing.COMPRESSED -> checkBody(Framing.CHECKSUM_BYTES + 1, MAX_COMPRESSED_BYTES);
      case Framing.UNCOMPRESSED -> checkBody(Framing.CHECKSUM_BYTES, MAX_UNCOMPRESSED_BYTES);
      case Framing.STREAM_IDENTIFIER -> checkBody(Framing.MAGIC_BYTES, Framing.MAGIC_BYTES);
      default -> {
        if (type() < Framing.FIRST_SKIPPABLE) {
          throw corrupt("a chunk of the unknown type " + type());
        }
      }
    }
  }

  private void checkBody(int min, int max) {
    if (bodyBytes() < min || bodyBytes() > max) {
      throw corrupt("a chunk of " + bodyBytes() + " bytes (expected: " + min + " to " + max + ")");
    }
  }

  private int type() {
    return header & 0xff;
  }

  private int bodyBytes() {
    return header >>> Byte.SIZE;
  }

  private void endChunk() {
    header = 0;
    headerBytes = 0;
    partialBytes = 0;
  }

  private ByteBuf wholeBody(ByteBuf in, ByteBufAllocator allocator) {
    Framing framing = Framing.ofThread();
    if (type() == Framing.UNCOMPRESSED && in.nioBufferCount() == 1) {
      return sliceOf(in, framing);
    }
    in.readBytes(framing.input, 0, bodyBytes());
    return data(framing.input, framing, allocator);
  }

  private ByteBuf continuedBody(ByteBuf in, ByteBufAllocator allocator) {
    int bytes = Math.min(bodyBytes() - partialBytes, in.readableBytes());
    int needed = partialBytes + bytes;
    if (partial.length < needed) { // The peer may send less than it says.
      int grown = Math.min(bodyBytes(), Math.max(2 * partial.length, MIN_PARTIAL_BYTES));
      partial = Arrays.copyOf(partial, Math.max(needed, grown));
    }
    in.readBytes(partial, partialBytes, bytes);
    partialBytes += bytes;
    return partialBytes == bodyBytes() ? data(partial, Framing.ofThread(), allocator) : null;
  }

  /** The data of an uncompressed chunk, without a copy. */
  private ByteBuf sliceOf(ByteBuf in, Framing framing) {
    int bytes = bodyBytes() - Framing.CHECKSUM_BYTES;
    endChunk();
    int checksum = in.readIntLE();
    check(checksum, framing.checksum(in, in.readerIndex(), bytes));
    return in.readRetainedSlice(bytes);
  }

  /** The data of a chunk whose body is at the start of an array. */
  private ByteBuf data(byte[] body, Framing framing, ByteBufAllocator allocator) {
    int type = type();
    int bodyBytes = bodyBytes();
    endChunk();
    if (type == Framing.STREAM_IDENTIFIER) {
      checkIdentifier(body);
      return null;
    }
    int checksum = ArrayView.intAt(body, 0);
    if (type == Framing.UNCOMPRESSED) {
      int bytes = bodyBytes - Framing.CHECKSUM_BYTES;
      check(checksum, framing.checksum(body, Framing.CHECKSUM_BYTES, bytes));
      return allocator.directBuffer(bytes).writeBytes(body, Framing.CHECKSUM_BYTES, bytes);
    }
    byte[] out = framing.output;
    int bytes = BlockDecompressor.decompress(body, Framing.CHECKSUM_BYTES, bodyBytes, out);
    check(checksum, framing.checksum(out, 0, bytes));
    return allocator.directBuffer(bytes).writeBytes(out, 0, bytes);
  }

  private void checkIdentifier(byte[] body) {
    for (int i = 0; i < Framing.MAGIC_BYTES; i++) {
      if (body[i] != (byte) (Framing.MAGIC >>> (Byte.SIZE * i))) {
        throw corrupt("a stream of another format");
      }
    }
    isStarted = true;
  }

  private static void check(int expected, int computed) {
    if (expected != computed) {
      throw corrupt("a chunk with a wrong checksum");
    }
  }

  private static CorruptedFrameException corrupt(String what) {
    return new CorruptedFrameException("Snappy: " + what);
  }
}
