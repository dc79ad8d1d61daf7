package io.kcp4j;

/**
 * The losses that one flush has repaired.
 *
 * <p>A session has one sample and fills it anew for each such flush: a {@link CongestionControl}
 * may read it during {@link CongestionControl#onLoss} only, and keeps no reference to it.
 */
public interface LossSample {

  /** The time of the flush, in microseconds. */
  long nowUs();

  /** How many segments were lost by acknowledgements of later ones. */
  int lostByAcks();

  /** How many segments were lost by a timeout. */
  int lostByTimeout();

  /**
   * Segments from the oldest that is unacknowledged to the newest sent, new segments of the flush
   * included.
   */
  int inFlightSegments();

  /** The window in force when the flush began, in segments: the smallest of all that apply. */
  int window();

  /** The fast retransmit threshold, in acknowledgements. */
  int fastRetransmit();
}
