package io.kcp4j.session;

/**
 * The token that messages to this side have to show. Until a client has an answer, a retry of the
 * server may replace it, and answers to earlier offers count as well: protocol.md 13.6.2.
 */
final class OwnToken {

  private long present;

  /** That of the first offers, which may be answered after a retry, too. */
  private final long first;

  /** The one before the last retry, which offers under way have. */
  private long previous;

  /** What the peer has shown last. */
  private long shown;

  OwnToken(long token) {
    present = token;
    first = token;
    previous = token;
  }

  long present() {
    return present;
  }

  long first() {
    return first;
  }

  /**
   * The peer shows a token; returns whether it is one that it has to show.
   *
   * @param isOffering whether it may be that of an earlier offer
   */
  boolean take(long token, boolean isOffering) {
    boolean isEarlier = token == first || token == previous;
    if (token != present && !(isOffering && isEarlier)) {
      return false;
    }
    shown = token;
    return true;
  }

  /** A retry replaces the token, if it has shown the present one; returns whether it has. */
  boolean replace(long token) {
    if (shown != present) {
      return false;
    }
    previous = present;
    present = token;
    return true;
  }

  /** The server has taken the offer whose token it has shown last. */
  void confirm() {
    present = shown;
  }
}
