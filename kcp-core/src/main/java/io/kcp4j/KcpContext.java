package io.kcp4j;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Objects;

/**
 * What the sessions of one endpoint share. Used by one thread.
 *
 * @param allocator allocates the direct buffers for payload
 * @param budget the limit on the memory of all sessions
 * @param total the counters to which every session adds, beside its own
 * @param rings what several endpoints of the thread may share: pools of rings, and a writer
 */
public record KcpContext(
    ByteBufAllocator allocator, MemoryBudget budget, KcpCounters total, RingPools rings) {

  /** Makes a context with pools of its own. */
  public KcpContext(ByteBufAllocator allocator, MemoryBudget budget, KcpCounters total) {
    this(allocator, budget, total, new RingPools());
  }

  /** Checks that nothing is missing. */
  public KcpContext {
    Objects.requireNonNull(allocator, "allocator");
    Objects.requireNonNull(budget, "budget");
    Objects.requireNonNull(total, "total");
    Objects.requireNonNull(rings, "rings");
  }

  /** A context without a memory limit, with counters of its own. */
  public static KcpContext of(ByteBufAllocator allocator) {
    return new KcpContext(allocator, MemoryBudget.unlimited(), new KcpCounters());
  }

  /**
   * A direct buffer of so many bytes, which may grow to {@code maxBytes}.
   *
   * @throws OutOfMemoryError if the allocator throws any exception
   */
  @Unstable
  public ByteBuf directBuffer(int bytes, int maxBytes) {
    try {
      return allocator.directBuffer(bytes, maxBytes);
    } catch (RuntimeException e) { // As a user's own allocator may throw.
      OutOfMemoryError error = new OutOfMemoryError("allocator has failed: " + e);
      error.initCause(e);
      throw error;
    }
  }
}
