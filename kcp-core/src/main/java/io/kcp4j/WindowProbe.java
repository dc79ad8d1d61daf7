package io.kcp4j;

/**
 * Asks a peer whose window is closed for news of it: after half a second, then ever more seldom.
 * Runs only while there is something to send: protocol.md 6.1.
 */
final class WindowProbe {

  /** kcp-go's first wait; the reference waits 5 s, too long after a lost WINS. */
  private static final int FIRST_WAIT_MS = 500;

  /** The reference's IKCP_PROBE_LIMIT. */
  private static final int MAX_WAIT_MS = 120_000;

  private boolean running;
  private int waitMs;
  private long nextAtMs;

  /** Starts or stops, as the state of the window demands. */
  void update(boolean needed, long nowMs) {
    if (needed && !running) {
      waitMs = FIRST_WAIT_MS;
      nextAtMs = nowMs + waitMs;
    }
    running = needed;
  }

  /** Whether a probe has to leave now; if so, sets the time of the next one. */
  boolean isDue(long nowMs) {
    if (!running || nowMs < nextAtMs) {
      return false;
    }
    waitMs = Math.min(waitMs + waitMs / 2, MAX_WAIT_MS);
    nextAtMs = nowMs + waitMs;
    return true;
  }

  /** When {@link #isDue} will hold, or {@link Kcp#NO_DEADLINE}. */
  long nextAtMs() {
    return running ? nextAtMs : Kcp.NO_DEADLINE;
  }
}
