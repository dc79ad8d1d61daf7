package io.kcp4j.netty.internal.endpoint;

import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.memory.ProcessMemory;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.SystemPropertyUtil;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * The limit on the memory that all servers and clients of the process hold together, and the limits
 * of clients: those of an event loop group share one, half of the maximum heap, so that hostile
 * servers cannot use up more. Thread-safe.
 */
public final class ProcessLimit {

  /** Half of the maximum heap: by default, Netty's direct memory has the size of the heap. */
  public static final long HALF_OF_HEAP_BYTES = Runtime.getRuntime().maxMemory() / 2;

  private static final String PROPERTY = "io.kcp4j.processMemoryLimit";

  /**
   * This part of the direct memory stays free. An allocator takes it in chunks, and a chunk stays
   * as long as one buffer in it is held: so more may be taken than is held. When there is none
   * left, each attempt to get a chunk may block the event loop for half a second.
   */
  private static final int KEPT_PART = 8;

  private static final ProcessMemory PROCESS =
      new ProcessMemory(
          Math.max(1, SystemPropertyUtil.getLong(PROPERTY, HALF_OF_HEAP_BYTES)),
          () ->
              allocatableBytes(
                  PlatformDependent.usedDirectMemory(), PlatformDependent.maxDirectMemory()));

  private static final Map<EventLoopGroup, MemoryLimit> CLIENTS = new WeakHashMap<>();

  private ProcessLimit() {}

  /**
   * How much more direct memory sessions may take, in bytes.
   *
   * @param usedBytes what is taken, or -1 if Netty does not count it
   */
  static long allocatableBytes(long usedBytes, long maxBytes) {
    return usedBytes < 0 ? Long.MAX_VALUE : maxBytes - maxBytes / KEPT_PART - usedBytes;
  }

  public static ProcessMemory get() {
    return PROCESS;
  }

  /** The limit of the clients of the group that an event loop belongs to. */
  static MemoryLimit ofClients(EventLoop eventLoop) {
    EventLoopGroup group = eventLoop.parent() == null ? eventLoop : eventLoop.parent();
    synchronized (CLIENTS) {
      return CLIENTS.computeIfAbsent(group, ProcessLimit::newLimit);
    }
  }

  /** Sets the limit of a group that has had no clients yet. */
  public static void limitClients(EventLoopGroup group, MemoryLimit limit) {
    synchronized (CLIENTS) {
      CLIENTS.put(group, limit);
    }
  }

  private static MemoryLimit newLimit(EventLoopGroup group) {
    MemoryLimit limit = MemoryLimit.shared(HALF_OF_HEAP_BYTES, PROCESS);
    group.terminationFuture().addListener(terminated -> limit.close());
    return limit;
  }
}
