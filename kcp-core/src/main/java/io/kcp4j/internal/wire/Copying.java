package io.kcp4j.internal.wire;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;

/**
 * Copies between buffers through their internal views. Where Netty has no Unsafe, from JDK 24 on,
 * its own methods allocate several objects for each copy.
 */
public final class Copying {

  private Copying() {}

  /** Copies bytes of {@code from}, whose indices do not change, to the position of {@code to}. */
  public static void get(ByteBuf from, int index, ByteBuffer to) {
    boolean isShared = from.unwrap() != null || from.refCnt() != 1; // Another thread may use it.
    if (isShared || !from.isContiguous()) { // The part of a composite buffer may be shared, too.
      from.getBytes(index, to);
    } else {
      to.put(from.internalNioBuffer(index, to.remaining()));
    }
  }

  /** Appends bytes of {@code from} to {@code to}. No other thread uses either. */
  public static void appendOwn(ByteBuf to, ByteBuf from, int index, int bytes) {
    if (to.nioBufferCount() != 1 || from.nioBufferCount() != 1) {
      to.writeBytes(from, index, bytes);
      return;
    }
    if (to.writableBytes() < bytes) {
      to.ensureWritable(bytes);
    }
    int end = to.writerIndex();
    to.internalNioBuffer(end, bytes).put(from.internalNioBuffer(index, bytes));
    to.writerIndex(end + bytes);
  }
}
