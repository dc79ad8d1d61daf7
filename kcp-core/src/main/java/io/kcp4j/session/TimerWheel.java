package io.kcp4j.session;

/**
 * A timer wheel for all sessions of one thread. Entries are intrusive: arming one takes a few
 * nanoseconds and allocates nothing, and an empty wheel costs nothing. Used by one thread.
 *
 * <p>Time is divided into ticks. A slot holds a doubly linked list of the entries of one tick, and
 * a bit map finds the next slot that is not empty. An entry beyond the range of the wheel waits in
 * the last slot and is moved on from there. Entries expire up to one tick late.
 */
public final class TimerWheel {

  /** Something with a deadline. Belongs to at most one wheel at a time. */
  public abstract static class Entry {

    private static final int NOT_ARMED = -1;

    private Entry previous;
    private Entry next;
    private int slot = NOT_ARMED;
    private long deadlineMs;

    /**
     * The deadline has passed. The entry is no longer armed; this method may arm it again.
     *
     * @param nowMs the time, in milliseconds
     */
    protected abstract void expire(long nowMs);
  }

  private static final int DEFAULT_SLOTS = 1024;

  private final int tickMs;

  /** The first entry of each slot. */
  private final Entry[] slots;

  private final long[] occupied;
  private final int mask;

  /** The first of the entries that were taken out of their slot to expire; they keep its number. */
  private Entry taken;

  /** The slots of all ticks before this one have been taken. */
  private long tick;

  /** The tick of the last {@link #advance}; nothing is armed for an earlier one. */
  private long now;

  private int size;

  /** Makes a wheel with ticks of one millisecond and a range of a second. */
  public TimerWheel(long nowMs) {
    this(nowMs, 1, DEFAULT_SLOTS);
  }

  /**
   * Makes a wheel.
   *
   * @param nowMs the time, in milliseconds
   * @param tickMs the length of a tick, in milliseconds
   * @param slots the range in ticks: a power of two, at least 64
   * @throws IllegalArgumentException if {@code tickMs} or {@code slots} is out of range
   */
  public TimerWheel(long nowMs, int tickMs, int slots) {
    if (slots < Long.SIZE || Integer.bitCount(slots) != 1) {
      throw new IllegalArgumentException("slots: " + slots + " (expected: a power of two >= 64)");
    }
    if (tickMs < 1) {
      throw new IllegalArgumentException("tickMs: " + tickMs + " (expected: >= 1)");
    }
    this.tickMs = tickMs;
    this.slots = new Entry[slots];
    occupied = new long[slots / Long.SIZE];
    mask = slots - 1;
    now = Math.floorDiv(nowMs, tickMs);
    tick = now;
  }

  /** How many entries are armed. */
  public int size() {
    return size;
  }

  /**
   * Arms an entry, or moves one that is armed. An entry whose deadline has passed expires in the
   * next {@link #advance(long)}.
   *
   * @param deadlineMs the deadline, in milliseconds
   */
  public void arm(Entry entry, long deadlineMs) {
    long due = Math.max(-Math.floorDiv(-deadlineMs, tickMs), now);
    int slot = (int) Math.min(due, tick + mask) & mask;
    entry.deadlineMs = deadlineMs;
    if (entry.slot != slot) {
      cancel(entry);
      link(entry, slot);
    }
  }

  /** Disarms an entry; nothing happens if it is not armed. */
  public void cancel(Entry entry) {
    int slot = entry.slot;
    if (slot == Entry.NOT_ARMED) {
      return;
    }
    if (entry == taken) {
      taken = entry.next;
    } else if (entry.previous == null) {
      slots[slot] = entry.next;
      if (entry.next == null) {
        occupied[slot >> 6] &= ~(1L << slot);
      }
    } else {
      entry.previous.next = entry.next;
    }
    if (entry.next != null) {
      entry.next.previous = entry.previous;
    }
    entry.previous = null;
    entry.next = null;
    entry.slot = Entry.NOT_ARMED;
    size--;
  }

  private void link(Entry entry, int slot) {
    Entry first = slots[slot];
    entry.next = first;
    entry.slot = slot;
    if (first != null) {
      first.previous = entry;
    }
    slots[slot] = entry;
    occupied[slot >> 6] |= 1L << slot;
    size++;
  }

  /**
   * The time for the next {@link #advance(long)}, in milliseconds, or {@link Long#MAX_VALUE} if no
   * entry is armed. No entry expires before that time; at that time there may be none either.
   */
  public long nextDeadline() {
    if (size == 0) {
      return Long.MAX_VALUE;
    }
    if (taken != null) {
      return now * tickMs;
    }
    return (tick + distanceToOccupied((int) tick & mask)) * tickMs;
  }

  /** How many slots lie between {@code from} and the next one that is not empty. */
  private int distanceToOccupied(int from) {
    int word = from >> 6;
    long bits = occupied[word] & -1L << from;
    int wordMask = occupied.length - 1;
    for (int i = 0; i <= occupied.length; i++) {
      if (bits != 0) {
        return (word << 6 | Long.numberOfTrailingZeros(bits)) - from & mask;
      }
      word = word + 1 & wordMask;
      bits = occupied[word];
    }
    throw new AssertionError("size is " + size + ", and every slot is empty");
  }

  /**
   * Expires every entry whose deadline is not after {@code nowMs}. An entry that is armed meanwhile
   * with a deadline that has passed may wait for the next call.
   *
   * @param nowMs the time, in milliseconds
   */
  public void advance(long nowMs) {
    advance(nowMs, Integer.MAX_VALUE);
  }

  /**
   * Expires entries as {@link #advance(long)} does, but at most {@code most} of them.
   *
   * @param nowMs the time, in milliseconds
   * @return whether some may be left, for the next call
   */
  public boolean advance(long nowMs, int most) {
    now = Math.max(Math.floorDiv(nowMs, tickMs), now);
    tick = Math.max(tick, now - mask); // Earlier ticks have the same slots.
    int left = most - expireTaken(nowMs, most); // Those that the last call has left.
    for (long cursor = tick; left > 0 && size > 0; cursor++) {
      cursor += distanceToOccupied((int) cursor & mask);
      if (cursor > now) {
        break;
      }
      take((int) cursor & mask);
      tick = Math.min(cursor + 1, now);
      left -= expireTaken(nowMs, left);
    }
    if (left > 0) {
      tick = now;
    }
    return left == 0 && nextDeadline() <= nowMs;
  }

  /** Empties a slot first, since an entry that expires may arm and cancel any other. */
  private void take(int slot) {
    taken = slots[slot];
    slots[slot] = null;
    occupied[slot >> 6] &= ~(1L << slot);
  }

  private int expireTaken(long nowMs, int most) {
    int count = 0;
    for (; count < most && taken != null; count++) {
      Entry entry = taken;
      cancel(entry);
      if (entry.deadlineMs <= nowMs) {
        entry.expire(nowMs);
      } else {
        arm(entry, entry.deadlineMs);
      }
    }
    return count;
  }
}
