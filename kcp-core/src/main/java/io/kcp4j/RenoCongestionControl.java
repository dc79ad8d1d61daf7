package io.kcp4j;

/**
 * The congestion control of the reference ({@code ikcp.c}, after RFC 5681): slow start up to {@code
 * ssthresh}, then about one segment a round trip; half the flight after a fast resend; one segment
 * after a timeout. The window never exceeds what the peer can take.
 */
final class RenoCongestionControl implements CongestionControl {

  /** The reference's IKCP_THRESH_INIT and IKCP_THRESH_MIN. */
  private static final int MIN_THRESHOLD = 2;

  private int mssBytes;
  private int window = 1;
  private int threshold = MIN_THRESHOLD;

  /** The window in bytes: it carries the fraction of a segment between acknowledgements. */
  private long windowBytes;

  RenoCongestionControl(int mssBytes) {
    this.mssBytes = mssBytes;
    this.windowBytes = mssBytes;
  }

  @Override
  public int window() {
    return window;
  }

  @Override
  public void onAcknowledged(int remoteWindow) {
    if (window >= remoteWindow) {
      return;
    }
    if (window < threshold) {
      window++;
      windowBytes += mssBytes;
    } else {
      windowBytes = Math.max(windowBytes, mssBytes);
      windowBytes += (long) mssBytes * mssBytes / windowBytes + mssBytes / 16;
      if ((window + 1L) * mssBytes <= windowBytes) {
        window = (int) ((windowBytes + mssBytes - 1) / mssBytes);
      }
    }
    if (window > remoteWindow) {
      window = remoteWindow;
      windowBytes = (long) remoteWindow * mssBytes;
    }
  }

  @Override
  public void onFastRetransmit(int inFlight, int fastRetransmit) {
    threshold = Math.max(inFlight / 2, MIN_THRESHOLD);
    window = threshold + fastRetransmit;
    windowBytes = (long) window * mssBytes;
  }

  @Override
  public void onTimeout(int effectiveWindow) {
    threshold = Math.max(effectiveWindow / 2, MIN_THRESHOLD);
    window = 1;
    windowBytes = mssBytes;
  }

  @Override
  public void onMssChanged(int mssBytes) {
    this.mssBytes = mssBytes;
    windowBytes = (long) window * mssBytes;
  }
}
