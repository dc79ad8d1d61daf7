package io.kcp4j.congestion;

/** Halves the rate whenever timeouts go on for two round trips without an acknowledgement. */
final class TimeoutBackOff {

  private static final int MAX_HALVINGS = 6;

  private int halvings;
  private boolean hasTimedOut;
  private long sinceUs;

  /** Segments have timed out. */
  void timedOut(int rttUs, long nowUs) {
    if (!hasTimedOut) {
      hasTimedOut = true;
      sinceUs = nowUs;
    } else if (nowUs - sinceUs >= 2L * rttUs) {
      halvings = Math.min(halvings + 1, MAX_HALVINGS);
      sinceUs = nowUs;
    }
  }

  /** An acknowledgement has come, or timeouts may have had another reason than the path. */
  void reset() {
    hasTimedOut = false;
    halvings = 0;
  }

  /** Whether segments have timed out since the last acknowledgement. */
  boolean hasTimedOut() {
    return hasTimedOut;
  }

  /** The rate after so many halvings. */
  long apply(double bytesPerSecond) {
    return (long) bytesPerSecond >> halvings;
  }
}
