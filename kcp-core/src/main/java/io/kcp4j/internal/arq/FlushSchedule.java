package io.kcp4j.internal.arq;

import io.kcp4j.LossDetection;
import io.kcp4j.internal.receive.PendingAcks;
import io.kcp4j.internal.wire.Time;

/**
 * Schedules flushes: the earliest of all deadlines of a session. What can wait to share datagrams,
 * such as acknowledgements, leaves one interval after the millisecond in which the first of it
 * began to wait, so that flushes of many sessions coincide; a retransmission when the loss detector
 * and the pacer allow it; the rest of a burst in the next millisecond, and what the congestion
 * control has paced when its rate allows it.
 */
final class FlushSchedule {

  /** How long acknowledgements of thin traffic wait: protocol.md 3.3. */
  private static final int THIN_ACK_DELAY_US = 2_000;

  /** A flush that is later than this has not only waited for others of the event loop. */
  private static final int STOP_US = 50_000;

  private final Kcp kcp;

  /** When what waits has to leave. */
  private long flushAtUs = Time.NO_DEADLINE;

  /** The deadline that the driver has asked for last. */
  private long nextUs = Time.NO_DEADLINE;

  /** Whether that is beyond the interval, since the pacer lets nothing leave before. */
  private boolean isDeferred;

  FlushSchedule(Kcp kcp) {
    this.kcp = kcp;
  }

  /** When to flush at the latest, or {@link Time#NO_DEADLINE}; see {@link Kcp#nextDeadline}. */
  long deadlineUs() {
    long flush = Math.min(flushAtUs, kcp.sender.queueLimit.retryAtUs());
    long retransmit = Math.max(kcp.sender.losses.deadlineUs(), kcp.sender.pacer.opensAtUs());
    long end = Math.min(kcp.sender.probe.nextAtUs(), kcp.sender.userTimeout.deadlineUs());
    long next = Math.min(Math.min(flush, retransmit), Math.min(end, kcp.extensionDeadlineUs()));
    return Math.min(Math.min(next, kcp.sender.pathChallengeAtUs()), kcp.sender.probeAtUs());
  }

  /** {@link #deadlineUs}, for the driver. */
  long nextUs() {
    nextUs = deadlineUs();
    return nextUs;
  }

  /** A datagram has been received: the session has been stopped if it is long after a deadline. */
  void datagramReceived(long nowUs) {
    long lateUs = nowUs - nextUs;
    if (lateUs >= STOP_US) {
      excludeStop(lateUs, nowUs);
    }
  }

  /** The session was not driven for some time, which counts once. */
  private void excludeStop(long lateUs, long nowUs) {
    nextUs = Time.NO_DEADLINE;
    kcp.sender.userTimeout.excludeDriverStall(lateUs);
    if (lateUs >= STOP_US) { // What has arrived meanwhile may still have to be read.
      kcp.sender.rtt.onResumed(lateUs, nowUs);
    }
  }

  /** Whether nothing is pending but what the send and the receive buffer hold. */
  boolean isIdle() {
    return flushAtUs == Time.NO_DEADLINE
        && !kcp.sender.probe.isRequested()
        && !kcp.receiver.isUpdatePending()
        && !kcp.receiver.isWithheld()
        && !kcp.sender.queueLimit.isDeferred()
        && kcp.sender.rttProbeAtUs() == Time.NO_DEADLINE;
  }

  /** A flush begins, which takes all that waits. */
  void beginFlush(long nowUs) {
    long lateUs = nowUs - nextUs;
    if (lateUs >= Time.US_PER_MS) { // Not the resolution of timers.
      excludeStop(lateUs, nowUs);
    }
    flushAtUs = Time.NO_DEADLINE;
    isDeferred = false;
    kcp.sender.queueLimit.endDeferral(nowUs);
    kcp.sender.requestProbes(kcp.receiver.acks().isPending(), nowUs);
  }

  /** Starts and stops timers at the end of a batch or a flush. */
  void update(long nowUs) {
    kcp.sender.probe.update(kcp.sender.isRemoteWindowClosed(), nowUs);
    kcp.sender.userTimeout.updateZeroWindow(kcp.sender.hasNew(), nowUs);
    kcp.sender.updateLimit(nowUs);
    if (!isWaiting(nowUs)) {
      flushAtUs = Time.NO_DEADLINE;
      isDeferred = false;
    } else if (flushAtUs == Time.NO_DEADLINE || isDeferred) {
      long atUs = nowUs - Math.floorMod(nowUs, Time.US_PER_MS) + delayUs();
      long opensAtUs = kcp.sender.pacer.opensAtUs();
      isDeferred = opensAtUs > atUs && !isUnpacedWaiting(nowUs);
      flushAtUs = isDeferred ? opensAtUs : Math.min(atUs, flushAtUs);
    }
    kcp.sender.queueLimit.scheduleRetry(nowUs);
  }

  /** Segments that wait for the pacer may do so for the whole interval, and ACKs with them. */
  private int delayUs() {
    int intervalUs = kcp.sender.config.intervalMs() * Time.US_PER_MS;
    PendingAcks acks = kcp.receiver.acks();
    boolean isThin =
        kcp.sender.config.lossDetection() == LossDetection.RACK
            && acks.isPending()
            && acks.isThin();
    return isThin && !kcp.sender.isNewAllowed()
        ? Math.min(intervalUs, THIN_ACK_DELAY_US)
        : intervalUs;
  }

  private boolean isWaiting(long nowUs) {
    return isUnpacedWaiting(nowUs)
        || kcp.sender.isNewAllowed()
        || kcp.sender.losses.isLossDetected(nowUs) // deferred by the pacer
        || kcp.sender.losses.isLossSuspected();
  }

  /** Whether something waits that the pacer does not hold back. */
  private boolean isUnpacedWaiting(long nowUs) {
    return kcp.receiver.acks().isPending()
        || kcp.receiver.isMovePending()
        || kcp.receiver.isReviewDue(nowUs);
  }

  /**
   * What waits only for the end of a burst, or for the rate of the congestion control, leaves when
   * the pacer opens, not after the interval.
   */
  void continuePacing(long nowUs) {
    if (kcp.sender.isNewAllowed() && kcp.sender.pacer.isDeferring(nowUs)) {
      flushAtUs = Math.min(flushAtUs, kcp.sender.pacer.opensAtUs());
    }
  }
}
