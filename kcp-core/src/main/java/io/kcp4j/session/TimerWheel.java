package io.kcp4j.session;

/**
 * A timer wheel for all sessions of one thread. Timers are intrusive: arming one takes a few
 * nanoseconds and allocates nothing, and an empty wheel costs nothing. Used by one thread.
 *
 * <p>Time is divided into ticks. A slot holds a doubly linked list of the timers of one tick, and a
 * bit map finds the next slot that is not empty. A timer beyond the range of the wheel waits in the
 * last slot and is moved on from there. Timers expire up to one tick late.
 */
public final class TimerWheel {

  /** Something with a deadline. Belongs to at most one wheel at a time. */
  public abstract static class Timer {

    private static final int NOT_ARMED = -1;

    private Timer previous;
    private Timer next;
    private int slot = NOT_ARMED;
    private long deadlineMs;

    /**
     * The deadline has passed. The timer is no longer armed; this method may arm it again.
     *
     * @param nowMs the time, in milliseconds
     */
    protected abstract void expire(long nowMs);
  }

  private static final int DEFAULT_SLOTS = 1024;

  private final int tickMs;

  /** The first timer of each slot. */
  private final Timer[] slots;

  private final long[] occupied;
  private final int mask;

  /** The first of the timers that were taken out of their slot to expire; they keep its number. */
  private Timer taken;

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
    this.slots = new Timer[slots];
    occupied = new long[slots / Long.SIZE];
    mask = slots - 1;
    now = Math.floorDiv(nowMs, tickMs);
    tick = now;
  }

  /** How many timers are armed. */
  public int size() {
    return size;
  }

  /**
   * Arms a timer, or moves one that is armed. A timer whose deadline has passed expires in the next
   * {@link #advance(long)}.
   *
   * @param deadlineMs the deadline, in milliseconds
   */
  public void arm(Timer timer, long deadlineMs) {
    long due = Math.max(-Math.floorDiv(-deadlineMs, tickMs), now);
    int slot = (int) Math.min(due, tick + mask) & mask;
    timer.deadlineMs = deadlineMs;
    if (timer.slot != slot) {
      cancel(timer);
      link(timer, slot);
    }
  }

  /** Disarms a timer; nothing happens if it is not armed. */
  public void cancel(Timer timer) {
    int slot = timer.slot;
    if (slot == Timer.NOT_ARMED) {
      return;
    }
    if (timer == taken) {
      taken = timer.next;
    } else if (timer.previous == null) {
      slots[slot] = timer.next;
      if (timer.next == null) {
        occupied[slot >> 6] &= ~(1L << slot);
      }
    } else {
      timer.previous.next = timer.next;
    }
    if (timer.next != null) {
      timer.next.previous = timer.previous;
    }
    timer.previous = null;
    timer.next = null;
    timer.slot = Timer.NOT_ARMED;
    size--;
  }

  private void link(Timer timer, int slot) {
    Timer first = slots[slot];
    timer.next = first;
    timer.slot = slot;
    if (first != null) {
      first.previous = timer;
    }
    slots[slot] = timer;
    occupied[slot >> 6] |= 1L << slot;
    size++;
  }

  /**
   * The time for the next {@link #advance(long)}, in milliseconds, or {@link Long#MAX_VALUE} if no
   * timer is armed. No timer expires before that time; at that time there may be none either.
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
   * Expires every timer whose deadline is not after {@code nowMs}. A timer that is armed meanwhile
   * with a deadline that has passed may wait for the next call.
   *
   * @param nowMs the time, in milliseconds
   */
  public void advance(long nowMs) {
    advance(nowMs, Integer.MAX_VALUE);
  }

  /**
   * Expires timers as {@link #advance(long)} does, but at most {@code most} of them.
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

  /** Empties a slot first, since a timer that expires may arm and cancel any other. */
  private void take(int slot) {
    taken = slots[slot];
    slots[slot] = null;
    occupied[slot >> 6] &= ~(1L << slot);
  }

  private int expireTaken(long nowMs, int most) {
    int count = 0;
    for (; count < most && taken != null; count++) {
      Timer timer = taken;
      cancel(timer);
      if (timer.deadlineMs <= nowMs) {
        timer.expire(nowMs);
      } else {
        arm(timer, timer.deadlineMs);
      }
    }
    return count;
  }
}
