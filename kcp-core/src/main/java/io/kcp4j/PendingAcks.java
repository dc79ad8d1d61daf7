package io.kcp4j;

import java.util.Arrays;

/**
 * The acknowledgements that wait for the next flush. Of segments that arrived in order only the
 * newest needs an ACK of its own, for its timestamp: {@code una} speaks for the rest. Segments
 * beyond a gap need one each, but no more than one between two flushes however often they arrive:
 * protocol.md 3.2.
 *
 * <p>The list of these is given back when there is no gap any more.
 */
final class PendingAcks {

  private static final int[] EMPTY = {};

  /** A list of so many counts as part of the session. */
  private static final int MIN_CAPACITY = 8;

  private static final int ENTRY_BYTES = 8;

  private final MemoryBudget budget;

  private int[] sns = EMPTY;
  private int[] tss = EMPTY;
  private int count;
  private boolean pending;
  private int newestSn;
  private int newestTs;
  private int arrivals;

  PendingAcks(MemoryBudget budget) {
    this.budget = budget;
  }

  /** Whether there is anything to acknowledge. */
  boolean isPending() {
    return pending;
  }

  /** How many segments that had not been seen before arrived since the last flush. */
  int arrivals() {
    return arrivals;
  }

  /**
   * Makes room for the next one that is beyond a gap, so that adding it cannot fail.
   *
   * @return false if the memory budget has no room
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  boolean ensureRoom() {
    if (count < sns.length) {
      return true;
    }
    int capacity = Math.max(MIN_CAPACITY, 2 * count);
    int[] largerSns = Arrays.copyOf(sns, capacity);
    int[] largerTss = Arrays.copyOf(tss, capacity);
    int more = chargedBytes(capacity) - heldBytes();
    if (!budget.tryReserveBeyondGap(more)) {
      return false;
    }
    sns = largerSns;
    tss = largerTss;
    return true;
  }

  private static int chargedBytes(int capacity) {
    return capacity <= MIN_CAPACITY ? 0 : capacity * ENTRY_BYTES;
  }

  /** What is counted against the memory budget. */
  int heldBytes() {
    return chargedBytes(sns.length);
  }

  /**
   * There is no gap any more: {@code una} speaks for all that is listed. Gives back a list that is
   * larger than it always may be.
   */
  void gapClosed() {
    count = 0;
    if (sns.length > MIN_CAPACITY) {
      budget.release(heldBytes());
      sns = EMPTY;
      tss = EMPTY;
    }
  }

  /** A new segment arrived in order. */
  void addInOrder(int sn, int ts) {
    arrivals++;
    newest(sn, ts);
  }

  /** A new segment arrived beyond a gap; there is room for it. */
  void addBeyondGap(int sn, int ts) {
    arrivals++;
    newest(sn, ts);
    list(sn, ts);
  }

  /**
   * A segment arrived that is already beyond a gap, and whose ACK has left since then; there is
   * room for it.
   */
  void addDuplicateBeyondGap(int sn, int ts) {
    newest(sn, ts);
    list(sn, ts);
  }

  /** A segment arrived again that {@code una} speaks for. */
  void addDuplicate(int sn, int ts) {
    if (!pending) { // else a replayed segment could keep the peer from measuring the round trip
      newest(sn, ts);
    }
  }

  private void newest(int sn, int ts) {
    pending = true;
    newestSn = sn;
    newestTs = ts;
  }

  private void list(int sn, int ts) {
    sns[count] = sn;
    tss[count++] = ts;
  }

  /** Writes what has to be acknowledged and forgets it. */
  void flush(int rcvNext, SegmentWriter writer) {
    for (int i = 0; i < count; i++) {
      if (sns[i] - rcvNext >= 0) {
        writer.control(Segment.ACK, tss[i], sns[i]);
      }
    }
    if (pending && newestSn - rcvNext < 0) {
      writer.control(Segment.ACK, newestTs, newestSn);
    }
    count = 0;
    pending = false;
    arrivals = 0;
  }
}
