package io.kcp4j.internal.congestion;

import io.kcp4j.AckSample;
import io.kcp4j.CongestionControl;
import io.kcp4j.LossSample;

/**
 * The congestion control of C KCP ({@code ikcp.c}, after RFC 5681): slow start up to {@code
 * ssthresh}, then about one segment per round trip; half the flight after fast retransmit; one
 * segment after a timeout. The window does not grow beyond the peer's.
 */
public final class RenoCongestionControl implements CongestionControl {

  /** The reference's IKCP_THRESH_INIT and IKCP_THRESH_MIN. */
  private static final int MIN_THRESHOLD = 2;

  private int mssBytes;
  private int window = 1;
  private int threshold = MIN_THRESHOLD;

  /** The window in bytes: it carries the fraction of a segment between acknowledgements. */
  private long windowBytes;

  public RenoCongestionControl(int mssBytes) {
    this.mssBytes = mssBytes;
    this.windowBytes = mssBytes;
  }

  @Override
  public int window() {
    return window;
  }

  @Override
  public void onAck(AckSample sample) {
    if (sample.isUnaAdvanced() && window < sample.remoteWindow()) {
      grow(sample.remoteWindow());
    }
  }

  private void grow(int remoteWindow) {
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
  public void onLoss(LossSample sample) {
    if (sample.lostByAcks() > 0) {
      threshold = Math.max(sample.inFlightSegments() / 2, MIN_THRESHOLD);
      window = threshold + sample.fastRetransmit();
      windowBytes = (long) window * mssBytes;
    }
    if (sample.lostByTimeout() > 0) {
      threshold = Math.max(sample.window() / 2, MIN_THRESHOLD);
      window = 1;
      windowBytes = mssBytes;
    }
  }

  @Override
  public void onMssChanged(int mssBytes) {
    this.mssBytes = mssBytes;
    windowBytes = (long) window * mssBytes;
  }
}
