package io.kcp4j;

/**
 * Window probes (WASK). While the peer's window is closed and there is something to send, the first
 * leaves after half a second, and each further one after a wait that is half as long again:
 * protocol.md 6.1. A probe can also be requested, to see whether the peer still answers.
 */
final class WindowProbe {

  /** kcp-go's first wait; the reference waits 5 s, too long after a lost WINS. */
  private static final int FIRST_WAIT_MS = 500;

  /** The reference's IKCP_PROBE_LIMIT. */
  private static final int MAX_WAIT_MS = 120_000;

  private boolean requested;
  private boolean running;
  private int waitMs;
  private long nextAtMs;

  /** Sends a probe with the next flush. */
  void request() {
    requested = true;
  }

  boolean isRequested() {
    return requested;
  }

  /** Starts or stops the timer, as the state of the window demands. */
  void update(boolean needed, long nowMs) {
    if (needed && !running) {
      waitMs = FIRST_WAIT_MS;
      nextAtMs = nowMs + waitMs;
    }
    running = needed;
  }

  /** Whether to write a probe in this flush, which counts as done. */
  boolean take(long nowMs) {
    boolean due = running && nowMs >= nextAtMs;
    if (due) {
      waitMs = Math.min(waitMs + waitMs / 2, MAX_WAIT_MS);
      nextAtMs = nowMs + waitMs;
    }
    boolean taken = due || requested;
    requested = false;
    return taken;
  }

  /** When the timer expires, or {@link Kcp#NO_DEADLINE}. */
  long nextAtMs() {
    return running ? nextAtMs : Kcp.NO_DEADLINE;
  }
}
