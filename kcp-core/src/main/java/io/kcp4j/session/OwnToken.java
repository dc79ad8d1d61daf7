package io.kcp4j.session;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;

/**
 * The token that messages to this side have to show. Until a client has an answer, a retry of the
 * server may replace it, and answers to earlier offers count as well: protocol.md 13.6.2.
 */
final class OwnToken {

  /**
   * The retries that a client takes. RFC 9000, 17.2.5.2, has it take one. Here an honest client may
   * need another: its NAT has changed its address, the server has restarted, or a token is too old.
   */
  private static final int MAX_RETRIES = 3;

  private long present;

  /** That of the first offers, which may be answered after a retry, too. */
  private final long first;

  /** The one before the last retry, which offers under way have. */
  private long previous;

  /** What the peer has shown last. */
  private long shown;

  private int retries;
  private boolean isFirstRetry;

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

  /**
   * A retry replaces the token, if it has shown the present one.
   *
   * @return whether it has; if not, and the limit is the reason, it has been counted
   */
  boolean replace(long token, KcpCounters counters) {
    if (shown != present) {
      return false;
    }
    if (retries == MAX_RETRIES) {
      counters.add(KcpCounter.RETRIES_REFUSED, 1);
      return false;
    }
    previous = present;
    present = token;
    retries++;
    isFirstRetry = retries == 1;
    return true;
  }

  /**
   * Whether the first retry has been taken since the last call. After a later one, the first
   * segment waits for its timeout: a relay can obtain retries for many addresses, and would have
   * the client send the segment as often.
   */
  boolean pollFirstRetry() {
    boolean isFirst = isFirstRetry;
    isFirstRetry = false;
    return isFirst;
  }

  /** The server has taken the offer whose token it has shown last. */
  void confirm() {
    present = shown;
  }
}
