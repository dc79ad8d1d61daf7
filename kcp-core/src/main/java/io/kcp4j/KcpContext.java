package io.kcp4j;

import io.netty.buffer.ByteBufAllocator;
import java.util.Objects;

/**
 * What the sessions of one endpoint share. Used by one thread.
 *
 * @param allocator allocates the direct buffers for payload
 * @param budget the limit on the memory of all sessions
 * @param total the counters to which every session adds, beside its own
 * @param thread what several endpoints of the thread may share
 */
public record KcpContext(
    ByteBufAllocator allocator, MemoryBudget budget, KcpCounters total, ThreadContext thread)
    implements MemoryContext {

  /** Makes a context with pools of its own. */
  public KcpContext(ByteBufAllocator allocator, MemoryBudget budget, KcpCounters total) {
    this(allocator, budget, total, new ThreadContext());
  }

  /** Checks that nothing is missing. */
  public KcpContext {
    Objects.requireNonNull(allocator, "allocator");
    Objects.requireNonNull(budget, "budget");
    Objects.requireNonNull(total, "total");
    Objects.requireNonNull(thread, "thread");
  }

  /** A context without a memory limit, with counters of its own. */
  public static KcpContext of(ByteBufAllocator allocator) {
    return new KcpContext(allocator, MemoryBudget.unlimited(), new KcpCounters());
  }
}
