package io.kcp4j;

/**
 * The acknowledgements of one datagram.
 *
 * <p>A session has one sample and fills it anew for each datagram: a {@link CongestionControl} may
 * read it during {@link CongestionControl#onAck} only, and keeps no reference to it.
 */
public interface AckSample {

  /** What {@link #rttUs} returns when there is no round-trip time. */
  int NO_RTT = -1;

  /** When the datagram was taken in, in microseconds. */
  long nowUs();

  /**
   * The shortest round-trip time that the datagram shows, in microseconds, or {@link #NO_RTT}. Each
   * ACK repeats the timestamp of the transmission that arrived, so retransmitted segments have
   * round-trip times, too: of their last transmission to the microsecond, of an earlier one in
   * whole milliseconds. A round-trip time of more than a minute counts as a minute.
   */
  int rttUs();

  /** The free receive window that the peer advertised last, in segments. */
  int remoteWindow();

  /** Whether the oldest segment in flight has been acknowledged. */
  boolean isUnaAdvanced();

  /**
   * The delivery rate; null unless the congestion control has asked for it by {@link
   * CongestionControl#usesDeliveryRate}.
   */
  Rate rate();

  /**
   * A delivery rate sample (draft-ietf-ccwg-bbr, "Delivery Rate Samples"), which is about the
   * newest transmission that the datagram acknowledges, and what the session has counted until
   * then. Bytes are those of segments, headers included; each segment counts once, however often it
   * is sent.
   */
  interface Rate {

    /**
     * The rate at which the path has delivered in the last {@link #intervalUs}, in bytes per
     * second; 0 if the datagram gives none, as when it acknowledges only segments whose
     * retransmission was spurious.
     */
    double bytesPerSecond();

    /**
     * The longer of the times in which these bytes were sent and delivered, in microseconds; 0 if
     * there is no rate. In less time than the shortest round trip takes, a rate can be too high.
     */
    long intervalUs();

    /**
     * Whether the application had less to send than window and pacing allowed when the transmission
     * left: the path may deliver more than the rate.
     */
    boolean isApplicationLimited();

    /** The bytes in flight when the transmission had left, itself included. */
    int sentInFlightBytes();

    /** The bytes that the datagram acknowledges. */
    int acknowledgedBytes();

    /** Whether a round trip has passed since this was last true. */
    boolean isRoundStart();

    /** The bytes that have been delivered in all. */
    long deliveredBytes();

    /** The bytes that counted as lost in all, less those whose retransmission was spurious. */
    long lostBytes();

    /** The bytes that are sent and not acknowledged. */
    int inFlightBytes();

    /**
     * The bytes of datagrams for each byte of the segments that are sent in them, at least 1: ACKs
     * beside payload, copies and parity, and the headers of FEC and encryption count, those of UDP
     * and IP do not. A rate of segments, multiplied by this, is one for {@link
     * CongestionControl#pacingBytesPerSecond}.
     */
    double wireRatio();
  }
}
