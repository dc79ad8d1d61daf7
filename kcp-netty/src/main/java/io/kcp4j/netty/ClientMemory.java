package io.kcp4j.netty;

import io.kcp4j.MemoryLimit;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * The memory limits of clients: those of an event loop group share one, half of the maximum heap,
 * so that hostile servers cannot use up more. Thread-safe.
 */
final class ClientMemory {

  private static final Map<EventLoopGroup, MemoryLimit> LIMITS = new WeakHashMap<>();

  private ClientMemory() {}

  /** The limit of the clients of the group that an event loop belongs to. */
  static MemoryLimit limitOf(EventLoop eventLoop) {
    EventLoopGroup group = eventLoop.parent() == null ? eventLoop : eventLoop.parent();
    synchronized (LIMITS) {
      return LIMITS.computeIfAbsent(group, ClientMemory::newLimit);
    }
  }

  /** Sets the limit of a group that has had no clients yet. */
  static void limit(EventLoopGroup group, MemoryLimit limit) {
    synchronized (LIMITS) {
      LIMITS.put(group, limit);
    }
  }

  private static MemoryLimit newLimit(EventLoopGroup group) {
    MemoryLimit limit = MemoryLimit.shared(ProcessLimit.HALF_OF_HEAP_BYTES, ProcessLimit.get());
    group.terminationFuture().addListener(terminated -> limit.close());
    return limit;
  }
}
