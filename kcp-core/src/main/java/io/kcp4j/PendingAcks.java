package io.kcp4j;

import java.util.Arrays;

/**
 * The acknowledgements that wait for the next flush: protocol.md 3.2. Of the segments that arrived
 * in order only the newest has an ACK of its own, for its timestamp; {@code una} acknowledges the
 * others. Segments beyond a gap have one each, but only one between two flushes however often they
 * arrive.
 *
 * <p>The list of the latter is released when the gap has closed.
 */
final class PendingAcks {

  private static final int[] EMPTY = {};

  /** A list of this capacity is kept and does not count against the memory budget. */
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
  private int arrivalsBefore;
  private boolean atGap;

  PendingAcks(MemoryBudget budget) {
    this.budget = budget;
  }

  /** Whether there is anything to acknowledge. */
  boolean isPending() {
    return pending;
  }

  /** How many segments arrived since the last flush, without duplicates. */
  int arrivals() {
    return arrivals;
  }

  /** Whether one of them arrived beyond a gap, or closed one. */
  boolean isAtGap() {
    return atGap;
  }

  /** Whether few segments arrive: at most so many since the last flush, and before it. */
  boolean isThin(int segments) {
    return arrivals <= segments && arrivalsBefore <= segments;
  }

  /**
   * Makes room for the ACK of one more segment beyond a gap, so that adding it cannot fail.
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

  /** How much is counted against the memory budget, in bytes. */
  int heldBytes() {
    return chargedBytes(sns.length);
  }

  /**
   * The gap has closed: {@code una} acknowledges all listed segments. Releases the list if it is
   * larger than the smallest.
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

  /** A new segment arrived in order, beyond which others have arrived before. */
  void addBeforeOthers(int sn, int ts) {
    addInOrder(sn, ts);
    atGap = true;
  }

  /** A new segment arrived beyond a gap; there is room for it. */
  void addBeyondGap(int sn, int ts) {
    arrivals++;
    atGap = true;
    newest(sn, ts);
    list(sn, ts);
  }

  /**
   * A duplicate of a segment beyond a gap arrived, whose ACK has been sent since; there is room for
   * another.
   */
  void addDuplicateBeyondGap(int sn, int ts) {
    newest(sn, ts);
    list(sn, ts);
  }

  /** A duplicate arrived of a segment that {@code una} acknowledges. */
  void addDuplicate(int sn, int ts) {
    if (!pending) { // Else replayed segments could prevent the peer's RTT samples.
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

  /** Writes all pending ACKs. */
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
    arrivalsBefore = arrivals;
    arrivals = 0;
    atGap = false;
  }
}
