package io.kcp4j;

/**
 * Window probes (WASK). While the peer's window is closed and there is something to send, the first
 * leaves after half a second, and each further one after a wait that is half as long again:
 * protocol.md 6.1. A probe can also be requested, to see whether the peer still answers.
 */
final class WindowProbe {

  /** kcp-go's first wait; the reference waits 5 s, too long after a lost WINS. */
  private static final int FIRST_WAIT_US = 500_000;

  /** The reference's IKCP_PROBE_LIMIT. */
  private static final int MAX_WAIT_US = 120_000_000;

  private boolean requested;

  /** Whether nothing new has been received since a probe was sent. */
  private boolean isUnanswered;

  private boolean running;
  private int waitUs;
  private long nextAtUs;

  /** Sends a probe with the next flush. */
  void request() {
    requested = true;
  }

  boolean isRequested() {
    return requested;
  }

  /** Starts or stops the timer, as the state of the window demands. */
  void update(boolean needed, long nowUs) {
    if (needed && !running) {
      waitUs = FIRST_WAIT_US;
      nextAtUs = nowUs + waitUs;
    }
    running = needed;
  }

  /** Whether to write a probe in this flush, which counts as done. */
  boolean take(long nowUs) {
    boolean due = running && nowUs >= nextAtUs;
    if (due) {
      waitUs = Math.min(waitUs + waitUs / 2, MAX_WAIT_US);
      nextAtUs = nowUs + waitUs;
    }
    boolean taken = due || requested;
    requested = false;
    isUnanswered |= taken;
    return taken;
  }

  /** Something has been received that is not stale. */
  void answered() {
    isUnanswered = false;
  }

  boolean isUnanswered() {
    return isUnanswered;
  }

  /** When the timer expires, or {@link Kcp#NO_DEADLINE}. */
  long nextAtUs() {
    return running ? nextAtUs : Kcp.NO_DEADLINE;
  }
}
