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
  private int writeStallTimeoutMs;

  /** When a segment was acknowledged last, or the first one sent after there were none. */
  private long progressAtMs;

  Liveness(LossDetector losses) {
    this.losses = losses;
  }

  void configure(KcpConfig config) {
    deadLink = config.deadLink();
    progressTimeoutMs = config.progressTimeoutMs();
    writeStallTimeoutMs = config.writeStallTimeoutMs();
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

  /** A segment has been sent again, for the {@code transmissions}-th time in all. */
  void retransmitted(int transmissions) {
    if (deadLink > 0 && transmissions >= deadLink) {
      fail(KcpFailure.DEAD_LINK);
    }
  }

  /** Segments have been acknowledged, or will be sent while none are in flight. */
  void progress(long nowMs) {
    progressAtMs = nowMs;
  }

  /** Notes whether the peer has room; see {@link WriteStall#update}. */
  void updateStall(boolean queued, int remoteWindow, int una, int window, long nowMs) {
    stall.update(queued, remoteWindow, una, window, nowMs);
  }

  /** When {@link #check} may fail the session, or {@link Kcp#NO_DEADLINE}. */
  long deadlineMs() {
    return Math.min(progressDeadlineMs(), stall.overAtMs(writeStallTimeoutMs));
  }

  private long progressDeadlineMs() {
    return losses.unacknowledged() > 0 && progressTimeoutMs > 0
        ? progressAtMs + progressTimeoutMs
        : Kcp.NO_DEADLINE;
  }

  /**
   * Excludes time in which the session was not driven, as in a long pause of the whole process:
   * nothing was retransmitted that the peer could have acknowledged.
   */
  void excludeDriverStall(long lateMs) {
    progressAtMs += lateMs;
    stall.exclude(lateMs);
  }

  /** Fails the session if a deadline has passed. */
  void check(long nowMs) {
    if (failure != null) {
      return;
    }
    if (nowMs >= progressDeadlineMs()) {
      fail(KcpFailure.NO_PROGRESS);
    } else if (nowMs >= stall.overAtMs(writeStallTimeoutMs)) {
      fail(KcpFailure.WRITE_STALLED);
    }
  }
}
