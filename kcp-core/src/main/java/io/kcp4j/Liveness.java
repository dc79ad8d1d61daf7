package io.kcp4j;

/**
 * Whether the session goes on. It fails by a segment that was sent too often, by segments that stay
 * unacknowledged for too long (both protocol.md 7.1), by a peer that takes next to nothing (7.2),
 * or by a violation of the protocol (7.4).
 */
final class Liveness {

  private final LossDetector losses;
  private final WriteStall stall = new WriteStall();

  /** Null while there is no tracer. */
  private Tracing tracing;

  private KcpFailure failure;
  private boolean closed;
  private int deadLink;
  private int progressTimeoutMs;
  private long progressTimeoutUs;
  private long writeStallTimeoutUs;

  /** When a segment was acknowledged last, or the first one sent after there were none. */
  private long progressAtUs;

  Liveness(LossDetector losses) {
    this.losses = losses;
  }

  void configure(KcpConfig config) {
    deadLink = config.deadLink();
    progressTimeoutMs = config.progressTimeoutMs();
    progressTimeoutUs = (long) progressTimeoutMs * Kcp.US_PER_MS;
    writeStallTimeoutUs = (long) config.writeStallTimeoutMs() * Kcp.US_PER_MS;
  }

  /** Sets the tracer, or null for none; the one before has had its last event. */
  void tracing(Tracing tracing) {
    if (this.tracing != null) {
      this.tracing.closed();
    }
    this.tracing = tracing;
  }

  /** Whether the session has neither failed nor been closed. */
  boolean isOpen() {
    return !closed && failure == null;
  }

  boolean isClosed() {
    return closed;
  }

  void close() {
    closed = true;
    tracing(null);
  }

  /** Why the session has failed, or null. */
  KcpFailure failure() {
    return failure;
  }

  void fail(KcpFailure reason) {
    if (tracing != null && failure == null) {
      tracing.failed(reason);
    }
    failure = reason;
  }

  /**
   * A segment has been sent again, for the {@code transmissions}-th time in all. While others are
   * acknowledged, it may well be sent often within a short time: only one that has been in flight
   * for the whole progress timeout shows that the link is dead.
   *
   * @param inFlightMs the time since its first transmission
   */
  void retransmitted(int transmissions, int inFlightMs) {
    if (deadLink > 0 && transmissions >= deadLink && inFlightMs >= progressTimeoutMs) {
      fail(KcpFailure.DEAD_LINK);
    }
  }

  /** Segments have been acknowledged, or will be sent while none are in flight. */
  void progress(long nowUs) {
    progressAtUs = nowUs;
  }

  /** Notes whether the peer has room; see {@link WriteStall#update}. */
  void updateStall(boolean queued, int remoteWindow, int una, int window, long nowUs) {
    stall.update(queued, remoteWindow, una, window, nowUs);
  }

  /** When {@link #check} may fail the session, or {@link Kcp#NO_DEADLINE}. */
  long deadlineUs() {
    return Math.min(progressDeadlineUs(), stall.overAtUs(writeStallTimeoutUs));
  }

  private long progressDeadlineUs() {
    return losses.unacknowledged() > 0 && progressTimeoutUs > 0
        ? progressAtUs + progressTimeoutUs
        : Kcp.NO_DEADLINE;
  }

  /**
   * Excludes time in which the session was not driven, as in a long pause of the whole process:
   * nothing was retransmitted that the peer could have acknowledged.
   */
  void excludeDriverStall(long lateUs) {
    progressAtUs += lateUs;
    stall.exclude(lateUs);
  }

  /** Fails the session if a deadline has passed. */
  void check(long nowUs) {
    if (failure != null) {
      return;
    }
    if (nowUs >= progressDeadlineUs()) {
      fail(KcpFailure.NO_PROGRESS);
    } else if (nowUs >= stall.overAtUs(writeStallTimeoutUs)) {
      fail(KcpFailure.WRITE_STALLED);
    }
  }
}
