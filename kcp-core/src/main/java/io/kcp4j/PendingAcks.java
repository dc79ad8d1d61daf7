package io.kcp4j;

import java.util.Arrays;

/**
 * The acknowledgements that wait for the next flush. Of segments that arrived in order only the
 * newest needs an ACK of its own, for its timestamp: {@code una} speaks for the rest. Segments
 * beyond a gap need one each, but no more than one between two flushes however often they arrive:
 * protocol.md 3.2.
 */
final class PendingAcks {

  private static final int[] EMPTY = {};

  private int[] sns = EMPTY;
  private int[] tss = EMPTY;
  private int count;
  private boolean pending;
  private int newestSn;
  private int newestTs;
  private int arrivals;

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
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  void ensureRoom() {
    if (count == sns.length) {
      int capacity = Math.max(8, 2 * count);
      int[] fresh = Arrays.copyOf(sns, capacity);
      tss = Arrays.copyOf(tss, capacity);
      sns = fresh;
    }
  }

  /** A new segment arrived in order. */
  void addInOrder(int sn, int ts) {
    arrivals++;
    newest(sn, ts);
  }

  /** A new segment arrived beyond a gap. */
  void addBeyondGap(int sn, int ts) {
    arrivals++;
    newest(sn, ts);
    list(sn, ts);
  }

  /** A segment arrived that is already beyond a gap, and whose ACK has left since then. */
  void addRepeatedBeyondGap(int sn, int ts) {
    newest(sn, ts);
    list(sn, ts);
  }

  /** A segment arrived again that {@code una} speaks for. */
  void addRepeated(int sn, int ts) {
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
    ensureRoom();
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
