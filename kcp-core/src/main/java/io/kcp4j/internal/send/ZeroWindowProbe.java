package io.kcp4j.internal.send;

import io.kcp4j.internal.wire.Time;

/**
 * Window probes (WASK). While the peer's window is closed and there is something to send, the first
 * leaves after half a second, and each further one after a wait that is half as long again:
 * protocol.md 6.1. A probe can also be requested, to see whether the peer still answers.
 *
 * <p>An answer that has been recorded can be replayed. So a keep-alive probe also challenges the
 * peer to acknowledge a timestamp that has not been sent before: protocol.md 7.3.
 */
public final class ZeroWindowProbe {

  /** kcp-go's first wait; C KCP waits 5 s, too long after a lost WINS. */
  private static final int FIRST_WAIT_US = 500_000;

  /** The reference's IKCP_PROBE_LIMIT. */
  private static final int MAX_WAIT_US = 120_000_000;

  private boolean requested;

  /** Whether nothing new has been received since a probe was sent. */
  private boolean isUnanswered;

  private boolean isChallengeRequested;

  /** Whether the peer has been challenged, and has not answered yet. */
  private boolean isChallenged;

  /** The timestamp of the first challenge that is not answered. */
  private int challengeTs;

  private int waitUs;

  /** When the timer expires, or {@link Time#NO_DEADLINE} while it is stopped. */
  private long nextAtUs = Time.NO_DEADLINE;

  /** Sends a probe with the next flush. */
  public void request() {
    requested = true;
  }

  /** Whether the next flush has a probe or a challenge to send. */
  public boolean isRequested() {
    return requested || isChallengeRequested;
  }

  /** Sends a challenge with the next flush. */
  public void requestChallenge() {
    isChallengeRequested = true;
  }

  /** Whether to write a challenge with the timestamp {@code ts}, which counts as done. */
  public boolean takeChallenge(int ts) {
    if (!isChallengeRequested) {
      return false;
    }
    isChallengeRequested = false;
    if (!isChallenged) {
      isChallenged = true;
      challengeTs = ts;
    }
    return true;
  }

  /**
   * Whether an ACK with the timestamp {@code ts} answers a challenge. It may answer an earlier one
   * if the round trip is longer than the time between two.
   *
   * @param newestTs the timestamp that a segment would have now
   */
  boolean takeAnswer(int ts, int newestTs) {
    if (!isChallenged || ts - challengeTs < 0 || newestTs - ts < 0) {
      return false;
    }
    isChallenged = false;
    return true;
  }

  /** Starts or stops the timer, as the state of the window demands. */
  public void update(boolean needed, long nowUs) {
    if (!needed) {
      nextAtUs = Time.NO_DEADLINE;
    } else if (nextAtUs == Time.NO_DEADLINE) {
      waitUs = FIRST_WAIT_US;
      nextAtUs = nowUs + waitUs;
    }
  }

  /** Whether to write a probe in this flush, which counts as done. */
  public boolean take(long nowUs) {
    boolean due = nowUs >= nextAtUs;
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
  public void answered() {
    isUnanswered = false;
  }

  public boolean isUnanswered() {
    return isUnanswered;
  }

  /** When the timer expires, or {@link Time#NO_DEADLINE}. */
  public long nextAtUs() {
    return nextAtUs;
  }
}
