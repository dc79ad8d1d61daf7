package io.kcp4j.congestion;

/**
 * What one datagram has acknowledged.
 *
 * <p>A session has one sample and fills it anew for each datagram: a {@link CongestionControl} may
 * read it during {@link CongestionControl#onAck} only, and keeps no reference to it.
 */
public interface AckSample {

  /** What {@link #rttMs} returns when there is no round-trip time. */
  int NO_RTT = -1;

  /** When the datagram was taken in, in milliseconds. */
  long nowMs();

  /**
   * The shortest round-trip time that the datagram shows, in milliseconds, or {@link #NO_RTT}. Each
   * ACK repeats the timestamp of the transmission that arrived, so retransmitted segments have
   * round-trip times, too.
   */
  int rttMs();

  /** How many segments the datagram has acknowledged that were not acknowledged before. */
  int acknowledgedSegments();

  /** How many segments were found lost since the last sample. */
  int lostSegments();

  /** How many segments have been acknowledged in all, these included. */
  long deliveredSegments();

  /** The bytes of {@link #deliveredSegments}, headers included. */
  long deliveredBytes();

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
