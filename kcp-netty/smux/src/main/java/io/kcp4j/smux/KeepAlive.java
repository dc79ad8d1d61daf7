package io.kcp4j.smux;

/**
 * When to send a NOP, and when a peer has been unresponsive for too long. Time in which the driver
 * did not call, as in a long pause of the process, does not count against the peer.
 */
final class KeepAlive {

  private final int intervalMs;
  private final int timeoutMs;
  private final int maxDelayMs;
  private long sentAtMs;
  private long receivedAtMs;
  private long calledAtMs;

  /**
   * Begins at the given time.
   *
   * @param maxDelayMs after how long the driver calls at the latest
   */
  KeepAlive(SmuxConfig config, int maxDelayMs, long nowMs) {
    intervalMs = config.keepAliveMs();
    timeoutMs = config.keepAliveTimeoutMs();
    this.maxDelayMs = maxDelayMs;
    sentAtMs = nowMs;
    receivedAtMs = nowMs;
    calledAtMs = nowMs;
  }

  /** Something was received, or nothing could be, because this side does not read. */
  void received(long nowMs) {
    receivedAtMs = nowMs;
  }

  /** Excludes a pause of the driver. To be called first. */
  void called(long nowMs) {
    long pauseMs = nowMs - calledAtMs - 2L * maxDelayMs;
    if (pauseMs > 0) {
      receivedAtMs = Math.min(nowMs, receivedAtMs + pauseMs);
    }
    calledAtMs = nowMs;
  }

  /** Whether to send a NOP now. */
  boolean takeNop(long nowMs) {
    if (intervalMs == 0 || nowMs - sentAtMs < intervalMs) {
      return false;
    }
    sentAtMs = nowMs;
    return true;
  }

  /** Whether the session has received nothing for too long. */
  boolean isExpired(long nowMs) {
    return timeoutMs != 0 && nowMs - receivedAtMs >= timeoutMs;
  }

  /** After how many milliseconds something is due. */
  long delayMs(long nowMs) {
    long nopMs = intervalMs == 0 ? Long.MAX_VALUE : sentAtMs + intervalMs - nowMs;
    long expiryMs = timeoutMs == 0 ? Long.MAX_VALUE : receivedAtMs + timeoutMs - nowMs;
    return Math.min(nopMs, expiryMs);
  }
}
