package io.kcp4j.internal.memory;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * The memory limit of a server, or of the clients of an event loop group. Each event loop has a
 * {@link MemoryBudget} of its own that borrows from it in blocks, so that the event loops share no
 * counter that changes with each segment. Thread-safe.
 *
 * <p>Shares:
 *
 * <ul>
 *   <li>a sixteenth for all sessions whose peers have not proven their address, and for packets of
 *       peers that wait to be accepted: their number is bounded by an attacker's patience only;
 *   <li>of the rest, a half for sending, and for receiving what sending leaves;
 *   <li>of what receiving may take, the reserve: one session at a time may use it, so that its
 *       message can always be completed;
 *   <li>while sessions wait, a quarter of the limit for those that are closing.
 * </ul>
 */
public final class MemoryLimit {

  /** A budget borrows at least this at once, unless the limit is small. */
  private static final int MAX_BLOCK_BYTES = 64 * 1024;

  /** The least number of blocks in a limit: what budgets have borrowed and not used is bounded. */
  private static final int MIN_BLOCKS = 1024;

  /** Of the limit, for networks that hold almost nothing. */
  private static final int SMALL_NETWORKS_PART = 32;

  private static final int UNVALIDATED_PART = 16;
  private static final int MAX_UNVALIDATED_PART = 4;

  /** Room for some sessions whatever the limit is. */
  private static final int MIN_UNVALIDATED_BYTES = 64 * 1024;

  private static final int RESERVE_PART = 16;
  private static final int MAX_RESERVE_PART = 4;

  /** More than the largest message has by default, on lanes or in message mode. */
  private static final int MIN_RESERVE_BYTES = 1024 * 1024;

  private final long limitBytes;
  private final UnvalidatedShare unvalidatedShare;
  private final long reserveBytes;

  /** Null if the process has no limit. */
  private final ProcessMemory process;

  private final NetworkParts networkParts;
  private final MemoryReserve reserve;
  private final ClosingShare closingShare;

  // What budgets have borrowed, used or not.

  private final AtomicLong sending = new AtomicLong();
  private final AtomicLong receiving = new AtomicLong();
  private final AtomicLong unvalidated = new AtomicLong();

  /** How often a session that is validated was refused memory. */
  private final LongAdder refusals = new LongAdder();

  private MemoryLimit(
      long limitBytes, long unvalidatedBytes, long reserveBytes, ProcessMemory process) {
    this.limitBytes = checkLimit(limitBytes);
    unvalidatedShare = new UnvalidatedShare(unvalidatedBytes);
    this.reserveBytes = reserveBytes;
    this.process = process;
    networkParts = new NetworkParts(limitBytes);
    reserve = new MemoryReserve(networkParts);
    closingShare = new ClosingShare(limitBytes);
    if (process != null) {
      process.add(this);
    }
  }

  /** A limit with a share for unvalidated sessions, and a reserve. */
  public static MemoryLimit shared(long limitBytes) {
    return shared(limitBytes, null);
  }

  /**
   * The same within the limit of the process, of which it is a member until {@link #close}.
   *
   * @param process null for no limit of the process
   */
  public static MemoryLimit shared(long limitBytes, ProcessMemory process) {
    long minBytes = Math.min(MIN_RESERVE_BYTES, limitBytes / MAX_RESERVE_PART);
    long reserveBytes = Math.max(minBytes, limitBytes / RESERVE_PART);
    long unvalidatedBytes =
        Math.max(
            Math.min(MIN_UNVALIDATED_BYTES, limitBytes / MAX_UNVALIDATED_PART),
            limitBytes / UNVALIDATED_PART);
    return new MemoryLimit(limitBytes, unvalidatedBytes, reserveBytes, process);
  }

  /** A limit without these, for a single budget. */
  static MemoryLimit plain(long limitBytes) {
    return new MemoryLimit(limitBytes, 0, 0, null);
  }

  static long checkLimit(long limitBytes) {
    if (limitBytes < 1) {
      throw new IllegalArgumentException("limitBytes: " + limitBytes + " (expected: >= 1)");
    }
    return limitBytes;
  }

  /** The limit, in bytes. */
  public long limitBytes() {
    return limitBytes;
  }

  /** The largest message that can always be completed, whatever other sessions hold, in bytes. */
  public long reserveBytes() {
    return reserveBytes;
  }

  /** Who may use the reserve. */
  public MemoryReserve reserve() {
    return reserve;
  }

  /** The memory that closing sessions may hold. */
  public ClosingShare closingShare() {
    return closingShare;
  }

  /** What the sessions of each network hold. */
  public NetworkParts networkParts() {
    return networkParts;
  }

  /** Ends the membership in the limit of the process: nothing is held any more. */
  public void close() {
    if (process != null) {
      process.remove(this);
    }
  }

  /** Memory was refused to a session whose path is validated. */
  void refused() {
    refusals.increment();
  }

  /** How often that was so: if it changes, what nobody may ever read should be given up. */
  public long refusals() {
    return refusals.sum();
  }

  /**
   * What sessions leave free that may not use the reserve, in bytes: the reserve, and what others
   * bring along from the share of unvalidated sessions when they are validated.
   */
  long withheldBytes() {
    return reserveBytes + unvalidatedShare.bytes();
  }

  /** The bytes that even the holder of the reserve leaves free, for networks that hold nothing. */
  long withheldFromAllBytes() {
    return unvalidatedShare.bytes() == 0 ? 0 : limitBytes / SMALL_NETWORKS_PART;
  }

  /** What the share of unvalidated sessions leaves, in bytes. */
  long commonBytes() {
    return limitBytes - unvalidatedShare.bytes();
  }

  /** The share of unvalidated sessions. */
  UnvalidatedShare unvalidatedShare() {
    return unvalidatedShare;
  }

  /** How much is borrowed or given back at once, in bytes. */
  int blockBytes() {
    return (int) Math.max(1, Math.min(MAX_BLOCK_BYTES, limitBytes / MIN_BLOCKS));
  }

  /** What budgets have borrowed, in bytes. */
  public long borrowedBytes() {
    return sending.get() + receiving.get() + unvalidated.get();
  }

  /** What a member of the process may still borrow, in bytes. */
  public long processRoomBytes() {
    return process == null ? Long.MAX_VALUE : process.roomBytes(this);
  }

  /** Whether more than the reserves can be allocated. */
  boolean isAllocatable() {
    return process == null || process.isAllocatable();
  }

  /** The same as {@link #processRoomBytes()} if some quarters of all of it stay free. */
  public long processRoomBytes(int keptQuarters) {
    long roomBytes = processRoomBytes();
    return process == null
        ? roomBytes
        : roomBytes - (borrowedBytes() + roomBytes) / 4 * keptQuarters;
  }

  AtomicLong sending() {
    return sending;
  }

  AtomicLong receiving() {
    return receiving;
  }

  AtomicLong unvalidated() {
    return unvalidated;
  }

  /**
   * The share of a {@link MemoryLimit} for peers that have not proven their address, of all event
   * loops: protocol.md 8.12. The system delivers all packets of an address to one socket, and a
   * table makes room by ending its own sessions only. So half of the share is divided into equal
   * parts, one for each event loop, which no other may use. All event loops may use the other half.
   * Thread-safe.
   */
  static final class UnvalidatedShare {

    /** Room for two sessions, even if that leaves less than half for all. */
    private static final int MIN_PART_BYTES = 16 * 1024;

    private final long bytes;

    /** What each event loop uses, in bytes. */
    private final AtomicReference<LongSupplier[]> usedBytes =
        new AtomicReference<>(new LongSupplier[0]);

    UnvalidatedShare(long bytes) {
      this.bytes = bytes;
    }

    /** The size of the share, in bytes; 0 if there is none. */
    long bytes() {
      return bytes;
    }

    /**
     * Adds an event loop.
     *
     * @param added what it uses, in bytes, read from any thread
     */
    void add(LongSupplier added) {
      usedBytes.updateAndGet(
          before -> {
            LongSupplier[] after = Arrays.copyOf(before, before.length + 1);
            after[before.length] = added;
            return after;
          });
    }

    private int loops() {
      return usedBytes.get().length;
    }

    /** The part of each event loop that no other may use, in bytes. */
    private long partBytes() {
      int loops = loops();
      return Math.max(bytes / 2 / loops, Math.min(MIN_PART_BYTES, bytes / loops));
    }

    /** The most that an event loop may use, in bytes. */
    long mostBytes() {
      return bytes - (loops() - 1) * partBytes();
    }

    /**
     * What is left for an event loop, in bytes; below 0 if it uses more than it may.
     *
     * @param ownBytes what it uses
     */
    long roomBytes(long ownBytes) {
      long partBytes = partBytes();
      return Math.max(partBytes - ownBytes, mostBytes() - ownBytes - othersBeyondBytes(ownBytes));
    }

    /**
     * What is left for memory that is not counted in the share, in bytes: the rest of the event
     * loop's own part, and an equal part of what is left for all. All event loops together do not
     * exceed the share by that.
     */
    long equalRoomBytes(long ownBytes) {
      long ownRoomBytes = partBytes() - ownBytes;
      long commonRoomBytes = roomBytes(ownBytes) - Math.max(0, ownRoomBytes);
      return Math.max(0, ownRoomBytes) + commonRoomBytes / loops();
    }

    /** What the other event loops use beyond their parts, in bytes. */
    private long othersBeyondBytes(long ownBytes) {
      long partBytes = partBytes();
      long beyondBytes = -Math.max(0, ownBytes - partBytes);
      for (LongSupplier used : usedBytes.get()) {
        beyondBytes += Math.max(0, used.getAsLong() - partBytes);
      }
      return beyondBytes;
    }
  }

  /**
   * The share of a {@link MemoryLimit} that sessions may hold while their owners close them and
   * other sessions wait for memory, on all event loops: a quarter of the limit, about half of what
   * sending may take. Beyond that, the slowest give way. Each event loop counts what its sessions
   * hold, by the rate at which they deliver. Thread-safe.
   */
  public static final class ClosingShare {

    private static final int PART = 4;

    /** The share is in force for so long after a session has waited last. */
    private static final long AWAITED_US = 1_000_000;

    /** That a session waits is noted at most so often. */
    private static final long NOTE_US = 50_000;

    private static final long NEVER = Long.MIN_VALUE;

    /** A rate is rounded down to this number of significant bits. */
    private static final int RATE_BITS = 4;

    private static final int RATES = rateClass(Long.MAX_VALUE) + 1;

    private final long bytes;
    private final AtomicLongArray heldBytes = new AtomicLongArray(RATES);
    private volatile long awaitedAtUs = NEVER;

    public ClosingShare(long limitBytes) {
      bytes = limitBytes / PART;
    }

    /** The share, in bytes. */
    public long bytes() {
      return bytes;
    }

    /** A session waits for memory that is not closing. */
    public void await(long nowUs) {
      if (!isAwaited() || nowUs - awaitedAtUs >= NOTE_US) {
        awaitedAtUs = nowUs;
      }
    }

    /** Whether such a session has waited lately, on any event loop. */
    public boolean isAwaited() {
      return awaitedAtUs != NEVER;
    }

    /** Ends that some time after a session has waited last. */
    public void update(long nowUs) {
      if (isAwaited() && nowUs - awaitedAtUs > AWAITED_US) {
        awaitedAtUs = NEVER;
      }
    }

    /** The class of a rate, 0 or more bytes per second: the higher the faster. */
    public static int rateClass(long bytesPerSecond) {
      int bits = Long.SIZE - Long.numberOfLeadingZeros(bytesPerSecond);
      int shift = Math.max(0, bits - RATE_BITS);
      return (shift << (RATE_BITS - 1)) + (int) (bytesPerSecond >>> shift);
    }

    /** Counts what sessions hold that deliver at rates of a class. */
    public void add(int rateClass, long bytes) {
      heldBytes.addAndGet(rateClass, bytes);
    }

    /**
     * Whether sessions of a class have to give way: even without all slower ones, more than the
     * share is held.
     */
    public boolean isExceededFrom(int rateClass) {
      long sum = 0;
      for (int faster = rateClass; faster < RATES; faster++) {
        sum += heldBytes.get(faster);
      }
      return sum > bytes;
    }
  }
}
