package io.kcp4j.sim;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.SplittableRandom;

/** An allocator that fails at random, in several ways, until {@link #heal}. */
public final class FailingAllocator extends AbstractByteBufAllocator {

  private final UnpooledByteBufAllocator allocator;
  private final SplittableRandom random;
  private final FaultCounts faults;
  private double rate;

  /**
   * Makes an allocator.
   *
   * @param allocator the allocator of the buffers
   * @param rate the probability that an allocation fails, 0 to 1
   * @param faults where failures are counted
   */
  public FailingAllocator(
      UnpooledByteBufAllocator allocator, double rate, long seed, FaultCounts faults) {
    super(true);
    this.allocator = allocator;
    this.rate = rate;
    this.random = new SplittableRandom(seed);
    this.faults = faults;
  }

  /** How often allocators fail in the run of {@code seed}: never in most of them. */
  static double drawRate(long seed) {
    SplittableRandom random = new SplittableRandom(seed ^ 0xa110c);
    return random.nextInt(8) == 0 ? LinkProfile.logUniform(random, 0.01, 0.5) : 0;
  }

  /** Stops failing. */
  public void heal() {
    rate = 0;
  }

  private void failPerhaps() {
    if (rate > 0 && random.nextDouble() < rate) {
      faults.add(Fault.ALLOCATION_FAILED);
      if (random.nextBoolean()) {
        throw new OutOfMemoryError("simulated");
      }
      throw new IllegalStateException("simulated");
    }
  }

  @Override
  protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
    failPerhaps();
    return allocator.heapBuffer(initialCapacity, maxCapacity);
  }

  @Override
  protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
    failPerhaps();
    return allocator.directBuffer(initialCapacity, maxCapacity);
  }

  @Override
  public boolean isDirectBufferPooled() {
    return false;
  }
}
