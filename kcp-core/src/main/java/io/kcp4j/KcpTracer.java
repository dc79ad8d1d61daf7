package io.kcp4j;

/**
 * Observes what one session sends, receives, loses and measures. Channels get theirs by the option
 * {@code TRACER}.
 *
 * <p>Methods are called on the thread that drives the session, in the order of the events, from
 * within the calls of its driver: they must return quickly, must not throw, and must not call the
 * session. A session without a tracer pays for a comparison with null. All times are those of the
 * session's clock, in microseconds.
 */
public interface KcpTracer {

  /** Where a datagram comes from. */
  enum Origin {
    /** It was received. */
    NETWORK,
    /**
     * It was lost and recovered from others. Its delay is no round-trip time, and its window may be
     * outdated: protocol.md 2.6.
     */
    RECOVERED
  }

  /**
   * Datagrams of one size were written.
   *
   * @param datagrams how many, at least 1
   * @param bytesEach the size of each, without the headers of FEC, encryption and UDP
   */
  default void datagramsSent(long nowUs, int datagrams, int bytesEach) {}

  /**
   * A valid datagram arrived.
   *
   * @param bytes its size, without the headers of FEC, encryption and UDP
   * @param origin whether it came from the network or was recovered by FEC
   */
  default void datagramReceived(long nowUs, int bytes, Origin origin) {}

  /**
   * A segment with payload was written.
   *
   * @param sn its sequence number
   * @param payloadBytes the size of its payload
   * @param transmission 1 for the first transmission, more for a retransmission
   */
  default void segmentSent(long nowUs, int sn, int payloadBytes, int transmission) {}

  /** A segment in flight counts as lost; it is retransmitted next. */
  default void segmentLost(long nowUs, int sn, LossCause cause) {}

  /**
   * A datagram acknowledged segments in flight.
   *
   * @param una every segment below this sequence number has been received by the peer
   * @param segments how many segments the datagram acknowledged that were not acknowledged before
   * @param rttUs the round-trip time that it gave, or -1 if it gave none
   */
  default void acknowledged(long nowUs, int una, int segments, int rttUs) {}

  /**
   * The state of congestion and flow control after a datagram that acknowledged segments, and after
   * each flush. Values may be the same as before.
   *
   * @param srttUs the smoothed round-trip time, 0 before the first sample
   * @param rttVarUs the variation of the round-trip time
   * @param rtoUs the retransmission timeout of a segment that is sent now
   * @param congestionWindow in segments
   * @param remoteWindow the receive window that the peer advertised last, in segments
   * @param inFlight segments sent and not acknowledged
   * @param queued segments that wait to be sent
   */
  default void stateUpdated(
      long nowUs,
      int srttUs,
      int rttVarUs,
      int rtoUs,
      int congestionWindow,
      int remoteWindow,
      int inFlight,
      int queued) {}

  /**
   * What the congestion control knows and does, after each {@link #stateUpdated} of a session whose
   * control has named states. Values may be the same as before.
   *
   * @param state what it does, such as {@code STARTUP}
   * @param pacingBytesPerSecond the rate at which datagrams may leave, or 0 for no limit
   * @param bandwidthBytesPerSecond the bandwidth of the path, in bytes of segments, or 0
   * @param queueUs how long datagrams wait in the queue of the path, in microseconds
   * @param isApplicationLimited whether the application has less to send than the path would take
   */
  default void congestionUpdated(
      long nowUs,
      String state,
      long pacingBytesPerSecond,
      long bandwidthBytesPerSecond,
      int queueUs,
      boolean isApplicationLimited) {}

  /**
   * All of a message of a lane was copied into segments or, if the lane is unreliable, into a
   * datagram.
   *
   * @param lane the id of the lane
   * @param bytes the size of the message
   */
  default void laneMessageSent(long nowUs, int lane, int bytes) {}

  /** A message of a lane has arrived as a whole, and can be read. */
  default void laneMessageReceived(long nowUs, int lane, int bytes) {}

  /** A lane has to wait with a message until the peer has read more of it or of other lanes. */
  default void laneBlocked(long nowUs, int lane) {}

  /** This side has ended a lane, behind all messages that it has sent on it. */
  default void laneOutputEnded(long nowUs, int lane) {}

  /** The peer has ended a lane, and all of its messages have arrived. */
  default void laneInputEnded(long nowUs, int lane) {}

  /** The session has failed: {@link #closed} follows when its owner closes it. */
  default void failed(long nowUs, EndReason failure) {}

  /** The session was closed, or the tracer taken away: the last event. */
  default void closed() {}

  /** Why a segment counts as lost. */
  enum LossCause {
    /** Enough segments that were sent after it have been acknowledged: protocol.md 4.4. */
    FAST_RETRANSMIT(KcpCounter.FAST_RETRANSMITTED),
    /**
     * One segment that was sent after it has been acknowledged, and nothing new may be sent:
     * protocol.md 4.5.
     */
    EARLY_RETRANSMIT(KcpCounter.EARLY_RETRANSMITTED),
    /**
     * A segment that was sent after it has been acknowledged, and it is overdue by more than the
     * reordering window: protocol.md 4.9.
     */
    TIME_THRESHOLD(KcpCounter.TIME_THRESHOLD_RETRANSMITTED),
    /** Its retransmission timeout, or probe timeout, has passed: protocol.md 4.3 and 4.10. */
    TIMEOUT(KcpCounter.TIMED_OUT);

    private final KcpCounter counter;

    LossCause(KcpCounter counter) {
      this.counter = counter;
    }

    /** What counts the retransmissions of this cause. */
    @Unstable
    public KcpCounter counter() {
      return counter;
    }
  }
}
