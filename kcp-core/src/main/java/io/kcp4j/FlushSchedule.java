package io.kcp4j;

import io.kcp4j.congestion.Pacer;

/**
 * Schedules flushes: the earliest of all deadlines of a session. What can wait to share datagrams,
 * such as acknowledgements, leaves one interval after the millisecond in which the first of it
 * began to wait, so that flushes of many sessions coincide; a retransmission when the loss detector
 * and the pacer allow it; the rest of a burst in the next millisecond.
 */
final class FlushSchedule {

  /** How long acknowledgements of thin traffic wait: protocol.md 3.3. */
  private static final int THIN_ACK_DELAY_US = 2_000;

  private final SendBuffer sending;
  private final SegmentPuller puller;
  private final ReceiveBuffer receiving;
  private final RemoteWindow remote;
  private final AdvertisedWindow advertised;
  private final WindowProbe probe;
  private final SendAdmission admission;
  private final LossDetector losses;
  private final Pacer pacer;
  private final Transmitter transmitter;
  private final Liveness liveness;

  private int intervalUs;
  private int thinAckDelayUs;
  private int sendWindow;

  /** When what waits has to leave. */
  private long flushAtUs = Kcp.NO_DEADLINE;

  FlushSchedule(
      SendBuffer sending,
      SegmentPuller puller,
      ReceiveBuffer receiving,
      RemoteWindow remote,
      AdvertisedWindow advertised,
      WindowProbe probe,
      SendAdmission admission,
      LossDetector losses,
      Pacer pacer,
      Transmitter transmitter,
      Liveness liveness) {
    this.sending = sending;
    this.puller = puller;
    this.receiving = receiving;
    this.remote = remote;
    this.advertised = advertised;
    this.probe = probe;
    this.admission = admission;
    this.losses = losses;
    this.pacer = pacer;
    this.transmitter = transmitter;
    this.liveness = liveness;
  }

  void configure(KcpConfig config) {
    intervalUs = config.intervalMs() * Kcp.US_PER_MS;
    boolean isTime = config.lossDetection() == LossDetection.TIME;
    thinAckDelayUs = isTime ? Math.min(intervalUs, THIN_ACK_DELAY_US) : intervalUs;
    sendWindow = config.sendWindow();
  }

  /** When to flush at the latest, or {@link Kcp#NO_DEADLINE}; see {@link Kcp#nextDeadline}. */
  long deadlineUs() {
    long flush = Math.min(flushAtUs, admission.retryAtUs());
    long retransmit = Math.max(losses.deadlineUs(), pacer.opensAtUs());
    long end = Math.min(probe.nextAtUs(), liveness.deadlineUs());
    return Math.min(Math.min(flush, retransmit), end);
  }

  /** Whether nothing is pending but what the send and the receive buffer hold. */
  boolean isIdle() {
    return flushAtUs == Kcp.NO_DEADLINE
        && !probe.isRequested()
        && !advertised.isUpdatePending()
        && !advertised.isWithheld()
        && !admission.isDeferred();
  }

  /** A flush begins, which takes all that waits. */
  void beginFlush(long nowUs) {
    long lateUs = nowUs - deadlineUs();
    if (lateUs >= Kcp.US_PER_MS) { // Not the resolution of timers.
      liveness.excludeDriverStall(lateUs);
    }
    flushAtUs = Kcp.NO_DEADLINE;
    admission.endDeferral(nowUs);
  }

  /** Starts and stops timers at the end of a batch or a flush. */
  void update(long nowUs) {
    probe.update(transmitter.isRemoteWindowClosed(), nowUs);
    int window = Math.min(sendWindow, remote.largest());
    liveness.updateStall(puller.hasNew(), remote.segments(), sending.una(), window, nowUs);
    if (!isWaiting(nowUs)) {
      flushAtUs = Kcp.NO_DEADLINE;
    } else if (flushAtUs == Kcp.NO_DEADLINE) {
      flushAtUs = nowUs - Math.floorMod(nowUs, Kcp.US_PER_MS) + delayUs();
    }
    admission.scheduleRetry(nowUs);
  }

  /** Delayed writes wait for the whole interval, and acknowledgements with them. */
  private int delayUs() {
    PendingAcks acks = receiving.acks();
    boolean isThin = acks.isPending() && acks.isThin();
    return isThin && !transmitter.isNewAllowed() ? thinAckDelayUs : intervalUs;
  }

  private boolean isWaiting(long nowUs) {
    return receiving.acks().isPending()
        || receiving.isMovePending()
        || advertised.isReviewDue(nowUs)
        || transmitter.isNewAllowed()
        || losses.isLossDetected(nowUs) // deferred by the pacer
        || losses.isLossSuspected();
  }

  /** What waits only for the end of a burst leaves with the next one, not after the interval. */
  void continueBurst(long nowUs) {
    if (transmitter.isNewAllowed() && pacer.isBurstSpent(nowUs)) {
      flushAtUs = Math.min(flushAtUs, pacer.opensAtUs());
    }
  }
}
