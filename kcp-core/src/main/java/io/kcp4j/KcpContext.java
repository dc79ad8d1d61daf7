package io.kcp4j;

import io.netty.buffer.ByteBufAllocator;
import java.util.Objects;

/**
 * What the sessions of one endpoint share. Used by one thread.
 *
 * @param allocator where payload is kept; direct buffers are taken from it
 * @param budget the limit on what all sessions hold together
 * @param total the counters to which every session adds beside its own
 */
public record KcpContext(ByteBufAllocator allocator, MemoryBudget budget, KcpCounters total) {

  /** Checks that nothing is missing. */
  public KcpContext {
    Objects.requireNonNull(allocator, "allocator");
    Objects.requireNonNull(budget, "budget");
    Objects.requireNonNull(total, "total");
  }

  /** A context without a memory limit, with counters of its own. */
  public static KcpContext of(ByteBufAllocator allocator) {
    return new KcpContext(allocator, MemoryBudget.unlimited(), new KcpCounters());
  }
}
