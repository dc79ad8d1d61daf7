package io.kcp4j;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/** The allocator and the budget that the memory accounts of one endpoint share. */
interface MemoryContext {

  /** The limit on the memory of all sessions. */
  MemoryBudget budget();

  /** Allocates the direct buffers for payload. */
  ByteBufAllocator allocator();

  /**
   * A direct buffer of {@code bytes}, which may grow to {@code maxBytes}.
   *
   * @throws OutOfMemoryError if the allocator throws any exception
   */
  default ByteBuf directBuffer(int bytes, int maxBytes) {
    try {
      return allocator().directBuffer(bytes, maxBytes);
    } catch (RuntimeException e) { // As a user's own allocator may throw.
      OutOfMemoryError error = new OutOfMemoryError("allocator has failed: " + e);
      error.initCause(e);
      throw error;
    }
  }
}
