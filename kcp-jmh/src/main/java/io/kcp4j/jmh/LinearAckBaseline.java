package io.kcp4j.jmh;

/**
 * Acknowledgements as in C KCP: a linear search from the oldest segment to the acknowledged one, to
 * mark it, and a second pass, to increment the skip count of each segment before it. Acknowledged
 * segments stay in place until {@code una} covers them, as in kcp-go.
 */
final class LinearAckBaseline {

  private static final int FAST_RETRANSMIT = 2;

  private static final class Sent {
    int sn;
    int ts;
    int fastAck;
    boolean acked;
  }

  private final Sent[] segments;
  private int first;

  LinearAckBaseline(int window) {
    segments = new Sent[window];
    for (int i = 0; i < window; i++) {
      segments[i] = new Sent();
      segments[i].sn = i;
    }
  }

  /** Puts the whole window, from sequence number 0 on, in flight. */
  void refill() {
    first = 0;
    for (Sent segment : segments) {
      segment.acked = false;
      segment.fastAck = 0;
    }
  }

  void acknowledgeBelow(int una) {
    while (first < segments.length && segments[first].sn - una < 0) {
      first++;
    }
  }

  /** Whether a segment is due for fast retransmit. */
  boolean acknowledge(int sn, int ts) {
    if (first == segments.length || sn - segments[first].sn < 0) {
      return false;
    }
    mark(sn);
    return incrementSkipCounts(sn, ts);
  }

  private void mark(int sn) {
    for (int i = first; i < segments.length; i++) {
      Sent segment = segments[i];
      if (segment.sn == sn) {
        segment.acked = true;
        break;
      }
      if (sn - segment.sn < 0) {
        break;
      }
    }
  }

  private boolean incrementSkipCounts(int sn, int ts) {
    boolean isFastRetransmitDue = false;
    for (int i = first; i < segments.length; i++) {
      Sent segment = segments[i];
      if (sn - segment.sn < 0) {
        break;
      }
      if (sn != segment.sn && segment.ts - ts <= 0) {
        segment.fastAck++;
        isFastRetransmitDue |= segment.fastAck >= FAST_RETRANSMIT;
      }
    }
    return isFastRetransmitDue;
  }

  /** How many of the segments in flight have not been acknowledged. */
  int unacknowledged() {
    int count = 0;
    for (int i = first; i < segments.length; i++) {
      count += segments[i].acked ? 0 : 1;
    }
    return count;
  }
}
