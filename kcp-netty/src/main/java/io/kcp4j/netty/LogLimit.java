package io.kcp4j.netty;

/** Lets a line of a kind pass once in ten seconds, and counts those that it holds back. */
final class LogLimit {

  static final int INTERVAL_MS = 10_000;

  private long nextAtMs = Long.MIN_VALUE;
  private long heldBack;

  /** Whether a line may be logged now; if not, it counts as held back. */
  boolean passes(long nowMs) {
    if (nowMs < nextAtMs) {
      heldBack++;
      return false;
    }
    nextAtMs = nowMs + INTERVAL_MS;
    return true;
  }

  /** How many were held back since this was last asked. */
  long takeHeldBack() {
    long taken = heldBack;
    heldBack = 0;
    return taken;
  }
}
