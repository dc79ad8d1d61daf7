package io.kcp4j.session;

import io.kcp4j.MemoryBudget;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The nonces of authenticated packets that can begin a session, for two minutes: a recorded packet
 * that is sent again, from whatever address, begins no session (protocol.md 8.10). A client seals
 * each packet with a new nonce, so a retransmission is no replay.
 *
 * <p>A set-associative table: a nonce has eight slots, of which it replaces the oldest. A slot has
 * 48 bits of a keyed hash and the time; where the slots are is 14 more bits of the hash. One atomic
 * word each, so that of two sockets that receive a packet at once only one finds it new.
 * Thread-safe: the tables of a server share it.
 */
final class ReplayFilter {

  private static final int REMEMBERED_S = 120;
  private static final long SECOND_US = 1_000_000;

  private static final int SLOTS_OF_NONCE = 8;

  /** The largest table: 1 MiB has room for 1,092 nonces a second. */
  private static final int MAX_BYTES = 1 << 20;

  private static final int MIN_BYTES = 1 << 13;

  /** A table takes this part of a small memory limit. */
  private static final int BUDGET_SHARE = 64;

  private static final long TIME_MASK = 0xffff;

  /** By how much the time of another socket may be ahead: that of its last batch. */
  private static final int SKEW_S = 60;

  private final KeyHash hash = new KeyHash();
  private final AtomicLongArray slots;
  private final MemoryBudget budget;

  /** Whether its memory counts. Used by the thread of the table whose budget that is. */
  private boolean isCharged;

  private ReplayFilter(int bytes, MemoryBudget budget, boolean isCharged) {
    this.isCharged = isCharged;
    slots = new AtomicLongArray(bytes / Long.BYTES);
    this.budget = budget;
  }

  /** Makes a filter. If the budget has no room for it, it is a small one that does not count. */
  static ReplayFilter of(MemoryBudget budget) {
    long shareBytes = Math.min(MAX_BYTES, budget.limitBytes() / BUDGET_SHARE);
    int bytes = Math.max(MIN_BYTES, (int) Long.highestOneBit(shareBytes));
    boolean isCharged = budget.tryReserveOwn(bytes);
    return new ReplayFilter(isCharged ? bytes : MIN_BYTES, budget, isCharged);
  }

  /** The table whose budget this is closes: the filter does not count any more. */
  void releaseFrom(MemoryBudget closing) {
    if (closing == budget && isCharged) {
      isCharged = false;
      budget.releaseOwn((long) slots.length() * Long.BYTES);
    }
  }

  /**
   * Adds a nonce; returns whether it was added within the last two minutes.
   *
   * @param index where the nonce begins, of at least 8 bytes; 12 of them count
   */
  boolean addAndTest(ByteBuf packet, int index, int bytes, long nowUs) {
    int rest = bytes < Long.BYTES + Integer.BYTES ? 0 : packet.getInt(index + Long.BYTES);
    return addAndTest(hash.of(packet.getLong(index), rest), nowUs);
  }

  private boolean addAndTest(long hash, long nowUs) {
    long time = Math.floorDiv(nowUs, SECOND_US) & TIME_MASK;
    long added = (hash & ~TIME_MASK) | time;
    int first = ((int) (hash & TIME_MASK) * SLOTS_OF_NONCE) & (slots.length() - 1);
    while (true) {
      int oldest = first;
      long oldestValue = 0;
      long oldestAge = -1;
      for (int i = first; i < first + SLOTS_OF_NONCE; i++) {
        long value = slots.get(i);
        long age = value == 0 ? TIME_MASK + 1 : (time + SKEW_S - value) & TIME_MASK;
        if ((value ^ hash) >>> Short.SIZE == 0 && age < SKEW_S + REMEMBERED_S && value != 0) {
          return true;
        }
        if (age > oldestAge) {
          oldest = i;
          oldestValue = value;
          oldestAge = age;
        }
      }
      if (slots.compareAndSet(oldest, oldestValue, added)) {
        return false;
      }
    }
  }
}
