package io.kcp4j.internal.recovery;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.LossDetection;
import io.kcp4j.internal.buffer.TransmissionOrder;

/**
 * KCP's own loss detection, used with {@link LossDetection#FAST_RETRANSMIT}. A segment is lost when
 * enough segments that were sent after it have been acknowledged (fast retransmit, protocol.md
 * 4.4), when one has and nothing new may be sent (early retransmit, 4.5), or when its
 * retransmission timeout has passed (4.3).
 *
 * <p>The skip counts are in {@link TransmissionOrder}.
 */
public final class FastRetransmitDetector extends LossDetector {

  private int threshold;

  public FastRetransmitDetector(RttEstimator rtt) {
    super(rtt);
  }

  @Override
  public void configure(KcpConfig config) {
    super.configure(config);
    threshold = config.fastRetransmit();
  }

  @Override
  public int timeoutUs() {
    return rtt.rtoUs();
  }

  /** Only an ACK of the last transmission shows that what was sent before it was skipped. */
  @Override
  public void acknowledged(int index, int ts, int rttUs, long nowUs) {
    if (isLastTransmission(index, ts)) {
      order.countSkippedBefore(index);
    }
    super.acknowledged(index, ts, rttUs, nowUs);
  }

  @Override
  public boolean isLossDetected(long nowUs) {
    return threshold > 0 && order.headSkipCount() >= threshold;
  }

  @Override
  public boolean isLossSuspected() {
    return threshold > 0 && order.headSkipCount() > 0;
  }

  @Override
  LossCause causeAtHead(boolean newAllowed, long nowUs) {
    if (isLossDetected(nowUs)) {
      return LossCause.FAST_RETRANSMIT;
    }
    return !newAllowed && isLossSuspected() ? LossCause.EARLY_RETRANSMIT : null;
  }
}
