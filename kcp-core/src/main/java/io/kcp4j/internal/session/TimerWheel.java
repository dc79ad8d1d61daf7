package io.kcp4j.internal.session;

/**
 * A timer wheel for all sessions of one thread. Timers are intrusive: arming one takes a few
 * nanoseconds and allocates nothing, and an empty wheel costs nothing. Used by one thread.
 *
 * <p>Time is divided into ticks. A slot holds a doubly linked list of the timers of one tick, and a
 * bit map finds the next slot that is not empty. A timer beyond the range of the wheel waits in the
 * last slot and is moved on from there. A deadline within a tick is rounded up to the end of that
 * tick: timers expire up to one tick late, and never early.
 */
public final class TimerWheel {

  /** Something with a deadline. Belongs to at most one wheel at a time. */
  public abstract static class Timer {

    private static final int NOT_ARMED = -1;

    private Timer previous;
    private Timer next;
    private int slot = NOT_ARMED;
    private long deadlineUs;

    /**
     * The deadline has passed. The timer is no longer armed; this method may arm it again.
     *
     * @param nowUs the time, in microseconds
     */
    protected abstract void expire(long nowUs);
  }

  private static final int DEFAULT_TICK_US = 1_000;
  private static final int DEFAULT_SLOTS = 1024;

  private final int tickUs;

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
  public TimerWheel(long nowUs) {
    this(nowUs, DEFAULT_TICK_US, DEFAULT_SLOTS);
  }

  /**
   * Makes a wheel.
   *
   * @param nowUs the time, in microseconds
   * @param tickUs the length of a tick, in microseconds
   * @param slots the range in ticks: a power of two, at least 64
   * @throws IllegalArgumentException if {@code tickUs} or {@code slots} is out of range
   */
  public TimerWheel(long nowUs, int tickUs, int slots) {
    if (slots < Long.SIZE || Integer.bitCount(slots) != 1) {
      throw new IllegalArgumentException("slots: " + slots + " (expected: a power of two >= 64)");
    }
    if (tickUs < 1) {
      throw new IllegalArgumentException("tickUs: " + tickUs + " (expected: >= 1)");
    }
    this.tickUs = tickUs;
    this.slots = new Timer[slots];
    occupied = new long[slots / Long.SIZE];
    mask = slots - 1;
    now = Math.floorDiv(nowUs, tickUs);
    tick = now;
  }

  /** How many timers are armed. */
  public int size() {
    return size;
  }

  /**
   * Arms a timer, or moves one that is armed. A timer whose deadline, rounded up to a tick, has
   * passed expires in the next {@link #advance(long)}.
   *
   * @param deadlineUs the deadline, in microseconds
   */
  public void arm(Timer timer, long deadlineUs) {
    long due = Math.max(-Math.floorDiv(-deadlineUs, tickUs), now);
    int slot = (int) Math.min(due, tick + mask) & mask;
    timer.deadlineUs = deadlineUs;
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
   * The time for the next {@link #advance(long)}, in microseconds, or {@link Long#MAX_VALUE} if no
   * timer is armed. No timer expires before that time; at that time there may be none either.
   */
  public long nextDeadline() {
    if (size == 0) {
      return Long.MAX_VALUE;
    }
    if (taken != null) {
      return now * tickUs;
    }
    return (tick + distanceToOccupied((int) tick & mask)) * tickUs;
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
   * Expires every timer whose deadline, rounded up to a tick, is not after {@code nowUs}. A timer
   * that is armed meanwhile with a deadline that has passed may wait for the next call.
   *
   * @param nowUs the time, in microseconds
   */
  public void advance(long nowUs) {
    advance(nowUs, Integer.MAX_VALUE);
  }

  /**
   * Expires timers as {@link #advance(long)} does, but at most {@code most} of them.
   *
   * @param nowUs the time, in microseconds
   * @return whether some may be left, for the next call
   */
  public boolean advance(long nowUs, int most) {
    now = Math.max(Math.floorDiv(nowUs, tickUs), now);
    tick = Math.max(tick, now - mask); // Earlier ticks have the same slots.
    int left = most - expireTaken(nowUs, most); // Those that the last call has left.
    for (long cursor = tick; left > 0 && size > 0; cursor++) {
      cursor += distanceToOccupied((int) cursor & mask);
      if (cursor > now) {
        break;
      }
      take((int) cursor & mask);
      tick = Math.min(cursor + 1, now);
      left -= expireTaken(nowUs, left);
    }
    if (left > 0) {
      tick = now;
    }
    return left == 0 && nextDeadline() <= nowUs;
  }

  /** Empties a slot first, since a timer that expires may arm and cancel any other. */
  private void take(int slot) {
    taken = slots[slot];
    slots[slot] = null;
    occupied[slot >> 6] &= ~(1L << slot);
  }

  private int expireTaken(long nowUs, int most) {
    int count = 0;
    for (; count < most && taken != null; count++) {
      Timer timer = taken;
      cancel(timer);
      if (timer.deadlineUs <= nowUs) {
        timer.expire(nowUs);
      } else {
        arm(timer, timer.deadlineUs);
      }
    }
    return count;
  }
}
