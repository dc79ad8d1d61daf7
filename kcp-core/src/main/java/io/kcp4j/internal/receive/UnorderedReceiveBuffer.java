package io.kcp4j.internal.receive;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.recovery.Redundancy;
import io.kcp4j.internal.wire.SegmentSink;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * Passes the payload of each segment to a {@link SegmentSink} as soon as it arrives, whether or not
 * segments before it are missing, and keeps only which segments have been taken.
 */
public final class UnorderedReceiveBuffer extends ReceiveBuffer {

  private final TakenSegments taken;

  /** Null until the driver has set it; then nothing is taken. */
  private SegmentSink sink;

  UnorderedReceiveBuffer(
      MemoryAccount account,
      Redundancy redundancy,
      KcpCounters counters,
      KcpConfig config,
      int firstSn) {
    super(account, redundancy, counters, config, firstSn);
    taken = new TakenSegments(account);
  }

  public void sink(SegmentSink sink) {
    this.sink = sink;
  }

  @Override
  int readableBytes() {
    return sink == null ? 0 : sink.heldBytes();
  }

  @Override
  public int heldBytes() {
    return taken.heldBytes() + readableBytes() + acks.heldBytes();
  }

  /** The sink limits what it holds by other means. */
  @Override
  int unreadSegments() {
    return 0;
  }

  @Override
  public boolean isReceivable() {
    return false;
  }

  @Override
  public boolean hasUnread() {
    return sink != null && sink.hasUnread();
  }

  @Override
  public boolean isViolated() {
    return false;
  }

  @Override
  boolean accept(int distance, int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    if (taken.contains(next, distance)) {
      counters.add(KcpCounter.DUPLICATES, 1);
      if (acks.ensureRoom() && taken.acknowledgeAgain(sn)) {
        acks.addDuplicateBeyondGap(sn, ts);
      }
    } else if (!hasUnreadRoom(distance, bytes)) {
      counters.add(KcpCounter.OVER_UNREAD_LIMIT, 1);
    } else if (frg > 0) {
      counters.add(KcpCounter.FRAGMENT_REFUSED, 1);
    } else if (distance == 0) {
      return takeInOrder(sn, ts, data, index, bytes);
    } else {
      return takeBeyondGap(distance, sn, ts, data, index, bytes);
    }
    return false;
  }

  private boolean take(ByteBuf data, int index, int bytes, boolean isInOrder) {
    return sink != null && sink.take(data, index, bytes, isInOrder);
  }

  private boolean takeInOrder(int sn, int ts, ByteBuf data, int index, int bytes) {
    if (!take(data, index, bytes, true)) {
      counters.add(KcpCounter.OVER_BUDGET, 1);
      return false;
    }
    next++;
    if (taken.isEmpty()) {
      acks.addInOrder(sn, ts);
      return true;
    }
    gapFilled(sn, ts);
    while (taken.contains(next, 0)) {
      taken.remove(next++);
    }
    if (taken.isEmpty()) {
      acks.gapClosed();
    }
    return true;
  }

  private boolean takeBeyondGap(int distance, int sn, int ts, ByteBuf data, int index, int bytes) {
    arrivedBeyondGap(taken.isEmpty(), ts);
    boolean isTaken =
        acks.ensureRoom() && taken.ensureRoom(next, distance) && take(data, index, bytes, false);
    if (isTaken) {
      taken.add(sn);
      acks.addBeyondGap(sn, ts);
    } else {
      counters.add(KcpCounter.OVER_BUDGET, 1);
    }
    return isTaken;
  }

  @Override
  public boolean isMovePending() {
    return false;
  }

  @Override
  public void closeGap() {}

  @Override
  public ByteBuf receive() {
    return null;
  }

  @Override
  public void flushAcks(PendingAcks.Output out, long nowUs) {
    taken.endFlush();
    super.flushAcks(out, nowUs);
  }

  @Override
  public void close() {
    taken.close();
    super.close();
  }

  /**
   * Which segments beyond a gap have been taken: two bits for each sequence number of the window,
   * in rings of words. The second one says whether the segment has been acknowledged again since
   * the last flush. A set bit costs no more than a clear one, so memory is proportional to the
   * distance of the farthest segment: two words for 64 segments.
   */
  public static final class TakenSegments {

    /** Rings of this capacity are kept and do not count against the memory budget. */
    private static final int MIN_WORDS = 4;

    private static final long[] NO_WORDS = {};

    private final MemoryAccount account;

    private long[] taken = NO_WORDS;
    private long[] again = NO_WORDS;
    private int size;

    /** Whether any bit of {@link #again} is set. */
    private boolean hasAgain;

    public TakenSegments(MemoryAccount account) {
      this.account = account;
    }

    public boolean isEmpty() {
      return size == 0;
    }

    /** How much is counted against the memory budget, in bytes. */
    public int heldBytes() {
      return chargedBytes(taken.length);
    }

    private static int chargedBytes(int words) {
      return words <= MIN_WORDS ? 0 : 2 * Long.BYTES * words;
    }

    /** Whether the segment so far beyond {@code next} is contained. */
    public boolean contains(int next, int distance) {
      int sn = next + distance;
      return size > 0 && words(next, distance) <= taken.length && (taken[word(sn)] & 1L << sn) != 0;
    }

    /** How many words the segments from {@code next} on take. */
    private static int words(int next, int distance) {
      return ((next & 63) + distance) / 64 + 1;
    }

    private int word(int sn) {
      return sn >>> 6 & (taken.length - 1);
    }

    /**
     * Makes room for the segments up to {@code distance} beyond {@code next}, which are the only
     * ones that may be added until {@code next} advances.
     *
     * @return false if the memory budget has no room
     * @throws OutOfMemoryError if there is no memory; nothing has changed then
     */
    public boolean ensureRoom(int next, int distance) {
      int words = words(next, distance);
      if (words <= taken.length) {
        return true;
      }
      int capacity = Math.max(MIN_WORDS, Integer.highestOneBit(2 * words - 1));
      int more = chargedBytes(capacity) - heldBytes();
      if (!account.tryReserveBeyondGap(more)) {
        return false;
      }
      try {
        grow(next, capacity);
        return true;
      } catch (OutOfMemoryError e) {
        account.release(more);
        throw e;
      }
    }

    private void grow(int next, int capacity) {
      long[] largerTaken = new long[capacity];
      long[] largerAgain = new long[capacity];
      int first = next >>> 6;
      for (int i = first; i < first + taken.length; i++) {
        largerTaken[i & (capacity - 1)] = taken[i & (taken.length - 1)];
        largerAgain[i & (capacity - 1)] = again[i & (taken.length - 1)];
      }
      taken = largerTaken;
      again = largerAgain;
    }

    /** Adds a segment, for which there is room, and which is not contained. */
    public void add(int sn) {
      taken[word(sn)] |= 1L << sn;
      size++;
    }

    /** Removes a contained segment: all before it have arrived. */
    public void remove(int sn) {
      taken[word(sn)] &= ~(1L << sn);
      again[word(sn)] &= ~(1L << sn);
      size--;
      if (size == 0) {
        release();
      }
    }

    /** Releases the rings, unless they are of the smallest size. */
    private void release() {
      if (taken.length > MIN_WORDS) {
        account.release(heldBytes());
        taken = NO_WORDS;
        again = NO_WORDS;
      }
    }

    /** Marks a contained segment as acknowledged again. Returns whether it was not. */
    public boolean acknowledgeAgain(int sn) {
      boolean isFirst = (again[word(sn)] & 1L << sn) == 0;
      again[word(sn)] |= 1L << sn;
      hasAgain = true;
      return isFirst;
    }

    /** Acknowledgements leave: each segment may be acknowledged again. */
    public void endFlush() {
      if (hasAgain) {
        hasAgain = false;
        Arrays.fill(again, 0);
      }
    }

    public void close() {
      size = 0;
      release();
    }
  }
}
