package io.kcp4j.fuzz;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;

/**
 * Allocates all buffers on the heap and counts their capacity, without leak detection: it costs
 * little to make and to use. May fail now and then.
 */
final class HeapAllocator extends AbstractByteBufAllocator {

  /** Every so many allocations of direct buffers, one fails. */
  private final int failEvery;

  private int allocations;
  private long usedBytes;
  private long mostBytes;

  HeapAllocator(int failEvery) {
    this.failEvery = failEvery;
  }

  /** The capacity of all buffers that have not been released. */
  long usedBytes() {
    return usedBytes;
  }

  /** The most that it has been. */
  long mostBytes() {
    return mostBytes;
  }

  @Override
  protected ByteBuf newHeapBuffer(int bytes, int maxBytes) {
    return new Counted(bytes, maxBytes);
  }

  @Override
  protected ByteBuf newDirectBuffer(int bytes, int maxBytes) {
    if (++allocations % failEvery == 0) {
      throw new OutOfMemoryError("simulated");
    }
    return new Counted(bytes, maxBytes);
  }

  @Override
  public boolean isDirectBufferPooled() {
    return false;
  }

  private final class Counted extends UnpooledHeapByteBuf {

    Counted(int bytes, int maxBytes) {
      super(HeapAllocator.this, bytes, maxBytes);
    }

    @Override
    protected byte[] allocateArray(int bytes) {
      usedBytes += bytes;
      mostBytes = Math.max(mostBytes, usedBytes);
      return super.allocateArray(bytes);
    }

    @Override
    protected void freeArray(byte[] array) {
      usedBytes -= array.length;
      super.freeArray(array);
    }
  }
}
