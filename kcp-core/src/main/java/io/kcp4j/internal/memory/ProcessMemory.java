package io.kcp4j.internal.memory;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;

/**
 * The limit on the memory that all servers, and all groups of clients, of a process hold together.
 * A quarter of it is kept for them in equal parts, so that each can always go on, as far as its own
 * limit goes. The rest is for those that need more. Nobody borrows more than can be allocated. The
 * reserve of each may exceed both, so that one message at a time can always be completed.
 * Thread-safe.
 */
public final class ProcessMemory {

  private static final MemoryLimit[] NONE = {};

  /** This part of the limit is kept in equal parts. */
  private static final int KEPT_PART = 4;

  private final long limitBytes;
  private final LongSupplier allocatableBytes;
  private final AtomicReference<MemoryLimit[]> members = new AtomicReference<>(NONE);

  /** Makes a limit without members, as if all of it could always be allocated. */
  public ProcessMemory(long limitBytes) {
    this(limitBytes, () -> Long.MAX_VALUE);
  }

  /**
   * Makes a limit without members.
   *
   * @param limitBytes the limit, in bytes, at least 1
   * @param allocatableBytes how much more can be allocated now, in bytes, with enough left for the
   *     reserves; called by any thread, for each block that is borrowed
   */
  public ProcessMemory(long limitBytes, LongSupplier allocatableBytes) {
    this.limitBytes = MemoryLimit.checkLimit(limitBytes);
    this.allocatableBytes = allocatableBytes;
  }

  void add(MemoryLimit member) {
    members.updateAndGet(
        before -> {
          MemoryLimit[] after = Arrays.copyOf(before, before.length + 1);
          after[before.length] = member;
          return after;
        });
  }

  void remove(MemoryLimit member) {
    members.updateAndGet(
        before ->
            Arrays.stream(before).filter(other -> other != member).toArray(MemoryLimit[]::new));
  }

  /** The number of servers and groups of clients that share the limit. */
  public int members() {
    return members.get().length;
  }

  /** Whether more than the reserves can be allocated. */
  boolean isAllocatable() {
    return allocatableBytes.getAsLong() > 0;
  }

  /**
   * How much a member has left here, in bytes; below 0 if it holds more. Members on other threads
   * that ask at the same time may get the same bytes: each of them exceeds the limit by what it
   * borrows at once.
   */
  long roomBytes(MemoryLimit member) {
    MemoryLimit[] all = members.get();
    long partBytes = limitBytes / KEPT_PART / Math.max(all.length, 1);
    long leftBytes = limitBytes;
    for (MemoryLimit other : all) {
      if (other != member) {
        leftBytes -= Math.max(other.borrowedBytes(), Math.min(partBytes, other.limitBytes()));
      }
    }
    long roomBytes = Math.max(leftBytes, partBytes) - member.borrowedBytes();
    return Math.min(roomBytes, Math.max(allocatableBytes.getAsLong(), 0));
  }
}
