package io.kcp4j;

import io.kcp4j.congestion.Pacer;

/**
 * Schedules flushes: the earliest of all deadlines of a session. What can wait to share datagrams,
 * such as acknowledgements, leaves one interval after the first of it began to wait; a
 * retransmission when the loss detector and the pacer allow it; the rest of a burst in the next
 * millisecond.
 */
final class FlushSchedule {

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

  private int intervalMs;
  private int sendWindow;

  /** When what waits has to leave. */
  private long flushAtMs = Kcp.NO_DEADLINE;

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
    intervalMs = config.intervalMs();
    sendWindow = config.sendWindow();
  }

  /** When to flush at the latest, or {@link Kcp#NO_DEADLINE}; see {@link Kcp#nextDeadline}. */
  long deadlineMs() {
    long flush = Math.min(flushAtMs, admission.retryAtMs());
    long retransmit = Math.max(losses.deadlineMs(), pacer.opensAtMs());
    long end = Math.min(probe.nextAtMs(), liveness.deadlineMs());
    return Math.min(Math.min(flush, retransmit), end);
  }

  /** Whether nothing is pending but what the send and the receive buffer hold. */
  boolean isIdle() {
    return flushAtMs == Kcp.NO_DEADLINE
        && !probe.isRequested()
        && !advertised.isUpdatePending()
        && !advertised.isWithheld()
        && !admission.isDeferred();
  }

  /** A flush begins, which takes all that waits. */
  void beginFlush(long nowMs) {
    liveness.excludeDriverStall(Math.max(0, nowMs - deadlineMs()));
    flushAtMs = Kcp.NO_DEADLINE;
    admission.endDeferral(nowMs);
  }

  /** Starts and stops timers at the end of a batch or a flush. */
  void update(long nowMs) {
    probe.update(transmitter.isRemoteWindowClosed(), nowMs);
    int window = Math.min(sendWindow, remote.largest());
    liveness.updateStall(puller.hasNew(), remote.segments(), sending.una(), window, nowMs);
    if (!isWaiting(nowMs)) {
      flushAtMs = Kcp.NO_DEADLINE;
    } else if (flushAtMs == Kcp.NO_DEADLINE) {
      flushAtMs = nowMs + intervalMs;
    }
    admission.scheduleRetry(nowMs);
  }

  private boolean isWaiting(long nowMs) {
    return receiving.acks().isPending()
        || receiving.isMovePending()
        || advertised.isReviewDue(nowMs)
        || transmitter.isNewAllowed()
        || losses.isLossDetected() // deferred by the pacer
        || losses.isLossSuspected();
  }

  /** What waits only for the end of a burst leaves with the next one, not after the interval. */
  void continueBurst(long nowMs) {
    if (transmitter.isNewAllowed() && pacer.isBurstSpent(nowMs)) {
      flushAtMs = Math.min(flushAtMs, pacer.opensAtMs());
    }
  }
}
