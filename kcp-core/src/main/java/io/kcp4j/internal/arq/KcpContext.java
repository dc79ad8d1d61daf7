package io.kcp4j.internal.arq;

import io.kcp4j.KcpCounters;
import io.kcp4j.internal.buffer.RingPool;
import io.kcp4j.internal.buffer.SendRing;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.receive.ReceiveQueue;
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
    ByteBufAllocator allocator, MemoryBudget budget, KcpCounters total, PerThread thread)
    implements MemoryAccount.Context {

  /** Makes a context with pools of its own. */
  public KcpContext(ByteBufAllocator allocator, MemoryBudget budget, KcpCounters total) {
    this(allocator, budget, total, new PerThread());
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

  /**
   * Shared by the sessions of a thread, of one endpoint or of several: pools of rings, and the
   * flush that is under way.
   */
  public static final class PerThread {

    public final RingPool<SendRing> sendRings =
        new RingPool<>(SendRing.ENTRY_BYTES + SendRing.DELIVERY_BYTES, SendRing::new);
    public final RingPool<ReceiveQueue.Ring> queueRings =
        new RingPool<>(ReceiveQueue.Ring.ENTRY_BYTES, ReceiveQueue.Ring::new);
    final Flush flush = new Flush();

    /** Makes empty pools. */
    public PerThread() {}
  }
}
