package io.kcp4j;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

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
@Unstable
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
  long borrowedBytes() {
    return sending.get() + receiving.get() + unvalidated.get();
  }

  /** What a member of the process may still borrow, in bytes. */
  long processRoomBytes() {
    return process == null ? Long.MAX_VALUE : process.roomBytes(this);
  }

  /** Whether more than the reserves can be allocated. */
  boolean isAllocatable() {
    return process == null || process.isAllocatable();
  }

  /** The same as {@link #processRoomBytes()} if some quarters of all of it stay free. */
  long processRoomBytes(int keptQuarters) {
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
}
