package io.kcp4j;

/**
 * Loss detection: which segments in flight are lost, and until when to wait for an acknowledgement.
 *
 * <p>A detector names segments by their index in the ring of the {@link SendBuffer}. It learns of
 * each transmission ({@link #sent}, {@link #retransmitted}) and of each acknowledgement ({@link
 * #acknowledged}, {@link #acknowledgedByUna}, {@link #unaAdvanced}). A flush retransmits the
 * segments that {@link #nextLost} returns, as long as the pacer lets them leave.
 *
 * <p>This class keeps what every strategy needs: the unacknowledged segments in the order of their
 * last transmission, how often each was sent, its first and last timestamp, and when it was sent
 * last. The arrays belong to the ring, which tells of its growth and of its end.
 */
abstract class LossDetector {

  /** No segment. */
  static final int NONE = TransmissionOrder.NONE;

  final TransmissionOrder order = new TransmissionOrder();

  private int[] transmissions;
  private int[] firstTs;
  private int[] lastTs;
  private long[] sentAtUs;

  /** Takes over settings that have changed. */
  abstract void configure(KcpConfig config);

  // Transmissions

  /** The segment at {@code index} is sent for the first time, with the timestamp {@code ts}. */
  void sent(int index, int ts, long nowUs) {
    transmissions[index] = 1;
    firstTs[index] = ts;
    lastTs[index] = ts;
    sentAtUs[index] = nowUs;
    order.append(index);
  }

  /** The segment that {@link #nextLost} has returned last is sent again. */
  void retransmitted(int index, int ts, long nowUs) {
    transmissions[index]++;
    lastTs[index] = ts;
    sentAtUs[index] = nowUs;
    order.remove(index);
    order.append(index);
  }

  /** How often the segment in flight at {@code index} has been sent. */
  final int transmissions(int index) {
    return transmissions[index];
  }

  /** The segments sent and not acknowledged. */
  final int unacknowledged() {
    return order.size();
  }

  // Acknowledgements

  /**
   * Whether {@code ts} lies within the timestamps with which the segment in flight at {@code index}
   * was sent.
   */
  final boolean wasSentAt(int index, int ts) {
    return ts - firstTs[index] >= 0 && ts - lastTs[index] <= 0;
  }

  /** Whether {@code ts} is that of the last transmission of the segment at {@code index}. */
  final boolean isLastTransmission(int index, int ts) {
    return ts == lastTs[index];
  }

  /**
   * The round-trip time that an ACK with the timestamp {@code ts} shows, in microseconds, at most
   * the largest retransmission timeout. Exact for the last transmission; of earlier ones only the
   * timestamp is known, in milliseconds.
   *
   * @param tsNow the timestamp of a segment that would be sent now
   */
  final int rttUs(int index, int ts, int tsNow, long nowUs) {
    long rttUs =
        isLastTransmission(index, ts)
            ? nowUs - sentAtUs[index]
            : Integer.toUnsignedLong(tsNow - ts) * Kcp.US_PER_MS;
    return (int) Math.min(rttUs, RttEstimator.MAX_RTO_US);
  }

  /** An ACK with the timestamp {@code ts} has come for the segment in flight at {@code index}. */
  void acknowledged(int index, int ts, long nowUs) {
    order.remove(index);
  }

  /** The peer's {@code una} covers the segment in flight at {@code index}; no ACK has come. */
  void acknowledgedByUna(int index, long nowUs) {
    order.remove(index);
  }

  /** {@code una} has advanced; the segment at {@code index} is now the oldest in flight. */
  abstract void unaAdvanced(int index, long nowUs);

  // Losses

  /**
   * Whether a segment counts as lost by the acknowledgements so far, so that it is to be
   * retransmitted at once.
   */
  abstract boolean isLossDetected();

  /** Whether a segment will count as lost if there is nothing new to send at the next flush. */
  abstract boolean isLossSuspected();

  /**
   * Whether to ask for {@link #nextLost} in this flush.
   *
   * @param newAllowed whether new segments may be sent in this flush
   */
  abstract boolean isSearchDue(boolean newAllowed, long nowUs);

  /**
   * The next segment that is lost, or {@link #NONE}. The caller retransmits it before it asks
   * again.
   *
   * @param newAllowed as for {@link #isSearchDue}, which holds
   */
  abstract int nextLost(boolean newAllowed, long nowUs);

  /** Why the segment counts as lost that {@link #nextLost} has returned last. */
  abstract LossCause cause();

  /**
   * When to ask for {@link #nextLost} though no acknowledgement comes, in microseconds, or {@link
   * Kcp#NO_DEADLINE}. Never later than a segment is lost.
   */
  abstract long deadlineUs();

  // The ring

  /**
   * Goes on with the arrays of a larger ring, into which the fields of each segment have been
   * copied.
   *
   * @param una a sequence number not above any in flight
   */
  final void grow(int una, int oldMask, SendRing larger) {
    order.grow(una, oldMask, larger.capacity - 1, larger.links);
    use(larger);
  }

  /** Goes on with the arrays of {@code ring}; nothing is in flight. */
  final void reset(SendRing ring) {
    order.clear();
    use(ring);
  }

  /** Uses the arrays of {@code ring}. */
  void use(SendRing ring) {
    transmissions = ring.transmissions;
    firstTs = ring.firstTs;
    lastTs = ring.lastTs;
    sentAtUs = ring.sentAtUs;
  }
}
