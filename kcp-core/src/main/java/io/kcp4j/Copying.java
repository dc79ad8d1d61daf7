package io.kcp4j;

import io.netty.buffer.ByteBuf;

/**
 * Copies between buffers through their internal views. Where Netty has no Unsafe, from JDK 24 on,
 * its own methods allocate several objects for each copy.
 */
@Unstable
public final class Copying {

  private Copying() {}

  /** Appends bytes of {@code from} to {@code to}. No other thread uses either. */
  public static void appendOwn(ByteBuf to, ByteBuf from, int index, int bytes) {
    if (to.nioBufferCount() != 1 || from.nioBufferCount() != 1) {
      to.writeBytes(from, index, bytes);
      return;
    }
    int end = to.ensureWritable(bytes).writerIndex();
    to.internalNioBuffer(end, bytes).put(from.internalNioBuffer(index, bytes));
    to.writerIndex(end + bytes);
  }
}
