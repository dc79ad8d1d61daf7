package io.kcp4j.session;

/**
 * What is left of a session that was closed: its peer may not know that, and is told when it sends
 * something: protocol.md 13.11.
 */
final class ClosedSession {

  /** The time between two answers. */
  private static final int ANSWER_INTERVAL_US = 1_000_000;

  private final long peerToken;
  private final int incarnation;
  private final long forgetAtUs;
  private long answerAtUs = Long.MIN_VALUE;

  /**
   * Makes one.
   *
   * @param peerToken what messages to the peer have to show; 0 if there is none
   * @param incarnation that of the client, 0 if it is not known
   */
  ClosedSession(long peerToken, int incarnation, long forgetAtUs) {
    this.peerToken = peerToken;
    this.incarnation = incarnation;
    this.forgetAtUs = forgetAtUs;
  }

  long peerToken() {
    return peerToken;
  }

  /** The incarnation of the client, 0 if it is not known. */
  int incarnation() {
    return incarnation;
  }

  /** When it is forgotten. */
  long forgetAtUs() {
    return forgetAtUs;
  }

  /** Whether the peer may be answered now; if so, it may not for a second. */
  boolean takeAnswer(long nowUs) {
    if (peerToken == 0 || nowUs < answerAtUs) {
      return false;
    }
    answerAtUs = nowUs + ANSWER_INTERVAL_US;
    return true;
  }
}
