package io.kcp4j.internal.admission;

import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.path.SessionKey;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The conversation ids of authenticated packets that can begin a session, and the nonces of those
 * that have begun one, for two minutes each, and for two minutes from the end of the session:
 * protocol.md 8.10. A client seals each transmission of its first segment with a new nonce, and
 * somebody on the path may hold them back, so nonces alone do not tell a replay: all of them have
 * the conversation id of their session.
 *
 * <p>A set-associative table: an entry has eight slots, of which it replaces the oldest. A slot has
 * 48 bits of a keyed hash and the time; where the slots are is 14 more bits of the hash. One atomic
 * word each, so that of two sockets that receive a packet at once only one finds it new.
 * Thread-safe: the tables of a server share it.
 */
public final class ReplayFilter {

  private static final int REMEMBERED_S = 120;
  private static final long SECOND_US = 1_000_000;

  private static final int SLOTS_OF_ENTRY = 8;

  /** The largest table: 1 MiB has room for 546 short sessions a second. */
  private static final int MAX_BYTES = 1 << 20;

  private static final int MIN_BYTES = 1 << 13;

  /** A table takes this part of a small memory limit. */
  private static final int BUDGET_SHARE = 64;

  private static final long TIME_MASK = 0xffff;

  /** By how much the time of another socket may be ahead: that of its last batch. */
  private static final int SKEW_S = 60;

  /** Takes the place of a nonce in the hash of a conversation id. */
  private static final long CONV_TAG = 0x636f_6e76L;

  private final SessionKey.Hash hash = new SessionKey.Hash();
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
  public static ReplayFilter of(MemoryBudget budget) {
    long shareBytes = Math.min(MAX_BYTES, budget.limitBytes() / BUDGET_SHARE);
    int bytes = Math.max(MIN_BYTES, (int) Long.highestOneBit(shareBytes));
    boolean isCharged = budget.tryReserveOwn(bytes);
    return new ReplayFilter(isCharged ? bytes : MIN_BYTES, budget, isCharged);
  }

  /** The table whose budget this is closes: the filter does not count any more. */
  public void releaseFrom(MemoryBudget closing) {
    if (closing == budget && isCharged) {
      isCharged = false;
      budget.releaseOwn((long) slots.length() * Long.BYTES);
    }
  }

  /** Adds a conversation id; returns whether it was added within the last two minutes. */
  public boolean addConv(int conv, long nowUs) {
    return addAndTest(hash.of(CONV_TAG, conv), false, nowUs);
  }

  /** A session has ended: what has begun it is remembered for two minutes from now on. */
  public void renew(int conv, long nonce, long nowUs) {
    addAndTest(hash.of(CONV_TAG, conv), true, nowUs);
    addAndTest(nonce, true, nowUs);
  }

  /**
   * The hash of the nonce of a packet.
   *
   * @param index where the nonce begins, of at least 8 bytes; 12 of them count
   */
  public long hashOfNonce(ByteBuf packet, int index, int bytes) {
    int rest = bytes < Long.BYTES + Integer.BYTES ? 0 : packet.getInt(index + Long.BYTES);
    return hash.of(packet.getLong(index), rest);
  }

  /** Adds a nonce by its hash; returns whether it was added within the last two minutes. */
  public boolean addNonce(long hash, long nowUs) {
    return addAndTest(hash, false, nowUs);
  }

  /** Whether the nonce of this hash was added within the last two minutes. */
  public boolean containsNonce(long hash, long nowUs) {
    long time = time(nowUs);
    int first = firstSlot(hash);
    for (int i = first; i < first + SLOTS_OF_ENTRY; i++) {
      if (isEntry(slots.get(i), hash, time)) {
        return true;
      }
    }
    return false;
  }

  private static long time(long nowUs) {
    return Math.floorDiv(nowUs, SECOND_US) & TIME_MASK;
  }

  private int firstSlot(long hash) {
    return ((int) (hash & TIME_MASK) * SLOTS_OF_ENTRY) & (slots.length() - 1);
  }

  /** The age of a slot in seconds, plus the skew; that of an empty one is the highest. */
  private static long age(long slot, long time) {
    return slot == 0 ? TIME_MASK + 1 : (time + SKEW_S - slot) & TIME_MASK;
  }

  private static boolean isEntry(long slot, long hash, long time) {
    return (slot ^ hash) >>> Short.SIZE == 0 && age(slot, time) < SKEW_S + REMEMBERED_S;
  }

  private boolean addAndTest(long hash, boolean isRenewed, long nowUs) {
    long time = time(nowUs);
    long added = (hash & ~TIME_MASK) | time;
    int first = firstSlot(hash);
    while (true) {
      int slot = first;
      long before = 0;
      long oldestAge = -1;
      boolean isKnown = false;
      for (int i = first; !isKnown && i < first + SLOTS_OF_ENTRY; i++) {
        long entry = slots.get(i);
        isKnown = isEntry(entry, hash, time);
        long age = age(entry, time);
        if (isKnown || age > oldestAge) {
          slot = i;
          before = entry;
          oldestAge = age;
        }
      }
      boolean isChanged = isRenewed || !isKnown;
      if (!isChanged || slots.compareAndSet(slot, before, added)) {
        return isKnown;
      }
    }
  }
}
