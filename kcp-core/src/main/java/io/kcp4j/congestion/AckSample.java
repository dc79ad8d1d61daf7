package io.kcp4j.congestion;

/**
 * What one datagram has acknowledged.
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

  /** How many segments the datagram has acknowledged that were not acknowledged before. */
  int acknowledgedSegments();

  /** How many segments were found lost since the last sample. */
  int lostSegments();

  /** How many segments have been acknowledged in all, these included. */
  long deliveredSegments();

  /** The bytes of {@link #deliveredSegments}, headers included. */
  long deliveredBytes();

  /**
   * The bytes that have waited for the rate of the control in all: datagrams with payload, their
   * ACKs, retransmissions and parity, and the headers of FEC and encryption, but not those of UDP
   * and IP.
   */
  long sentBytes();

  /** How many segments are sent and not acknowledged now. */
  int inFlightSegments();

  /** The free receive window that the peer advertised last, in segments. */
  int remoteWindow();

  /** Whether the oldest segment in flight has been acknowledged. */
  boolean isUnaAdvanced();

  /**
   * Whether the application had less to send than windows and pacing allowed when these segments
   * were in flight: the rate at which they were delivered is then no measure of the path.
   */
  boolean isApplicationLimited();
}
