package io.kcp4j;

import io.netty.buffer.ByteBuf;

/**
 * Copies from buffer to buffer through the view that a buffer keeps of itself. Where Netty has no
 * Unsafe, from JDK 24 on, its own copying makes several objects each time.
 */
final class Copying {

  private Copying() {}

  /** Appends bytes of {@code from}, which nobody else uses meanwhile, to {@code to}, ours. */
  static void appendOwn(ByteBuf to, ByteBuf from, int index, int bytes) {
    if (to.nioBufferCount() != 1 || from.nioBufferCount() != 1) {
      to.writeBytes(from, index, bytes);
      return;
    }
    int end = to.ensureWritable(bytes).writerIndex();
    to.internalNioBuffer(end, bytes).put(from.internalNioBuffer(index, bytes));
    to.writerIndex(end + bytes);
  }
}
