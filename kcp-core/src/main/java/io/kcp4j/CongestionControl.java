package io.kcp4j;

/**
 * Decides how many segments may be in flight, beside the limits that the two windows set. One
 * object serves one session, on that session's thread. All windows are in segments.
 */
public interface CongestionControl {

  /** Makes the congestion control of one session. */
  @FunctionalInterface
  interface Factory {
    /**
     * Makes a congestion control.
     *
     * @param mssBytes the largest payload of a segment, in bytes
     */
    CongestionControl create(int mssBytes);
  }

  /** No congestion control: only the windows limit what is in flight. */
  Factory NONE = mssBytes -> NoCongestionControl.INSTANCE;

  /** The reference's: slow start, congestion avoidance, halving on a fast resend. */
  Factory RENO = RenoCongestionControl::new;

  /** How many segments may be in flight; at least 1. */
  int window();

  /**
   * The peer has acknowledged more of the stream. Called at most once a datagram.
   *
   * @param remoteWindow the peer's free receive window
   */
  void onAcknowledged(int remoteWindow);

  /**
   * One flush resent segments that later acknowledgements had passed over.
   *
   * @param inFlight segments from the oldest that is unacknowledged to the newest sent
   * @param fastRetransmit the fast-resend threshold
   */
  void onFastRetransmit(int inFlight, int fastRetransmit);

  /**
   * One flush resent segments whose timeout had passed.
   *
   * @param effectiveWindow the window that was in force: the smallest of all that apply
   */
  void onTimeout(int effectiveWindow);

  /** The largest payload of a segment has changed to {@code mssBytes}. */
  void onMssChanged(int mssBytes);
}
