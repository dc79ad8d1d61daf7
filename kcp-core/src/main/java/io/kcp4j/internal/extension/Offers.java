package io.kcp4j.internal.extension;

import io.kcp4j.CloseReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.wire.Time;
import java.util.Arrays;

/**
 * The offers of a client that are in flight, and how often the peer has acknowledged any without an
 * answer: a peer that does so three times does not know them. Protocol.md 13.3.
 */
public final class Offers {

  private static final int MAX_ACKNOWLEDGED = 3;

  /** At most so many are in flight. */
  private static final int MAX_IN_FLIGHT = 4;

  private static final long NONE = -1;

  private final Kcp kcp;

  /** Timestamp and sequence number of the PUSH that each has followed. */
  private final long[] inFlight = new long[MAX_IN_FLIGHT];

  private int acknowledged;

  /** Whether the present datagram has acknowledged one. */
  private boolean hasAcknowledged;

  /** Whether a peer has answered that may know the session. */
  private boolean isAnswered;

  /** Null unless the server has refused the session. */
  private CloseReason refusal;

  /** When that counts, unless there is another answer before. */
  private long refusedAtUs = Time.NO_DEADLINE;

  private boolean isRefused;

  Offers(Kcp kcp) {
    this.kcp = kcp;
    clear();
  }

  /** Forgets those in flight, which the peer has dropped: it asks for others. */
  void clear() {
    forgetRefusal();
    Arrays.fill(inFlight, NONE);
  }

  /** Whether the peer may still know them. */
  boolean mayContinue() {
    return acknowledged < MAX_ACKNOWLEDGED;
  }

  /** Whether one may follow the PUSH {@code sn}. */
  boolean hasRoomFor(int sn) {
    return slot(sn) >= 0;
  }

  /** One has followed a PUSH. */
  void add(int sn, int ts) {
    int slot = slot(sn);
    if (slot >= 0) {
      inFlight[slot] = offer(sn, ts);
    }
  }

  /** The slot of the offer with the segment {@code sn}: the one it has, or a free one, or -1. */
  private int slot(int sn) {
    int free = -1;
    for (int i = 0; i < inFlight.length; i++) {
      int offered = (int) inFlight[i];
      if (inFlight[i] == NONE || offered - kcp.sendUna() < 0) {
        free = i;
      } else if (offered == sn) {
        return i;
      }
    }
    return free;
  }

  private static long offer(int sn, int ts) {
    return ((long) ts << 32) | (sn & 0xffffffffL);
  }

  /** An ACK has come with the sequence number and the timestamp of a segment. */
  void acknowledged(int sn, int ts) {
    long offer = offer(sn, ts);
    for (int i = 0; i < inFlight.length; i++) {
      if (inFlight[i] == offer) {
        inFlight[i] = NONE;
        hasAcknowledged = true;
      }
    }
  }

  /** The server refuses the session. Somebody on the path can say that, too. */
  void refused(CloseReason reason, long nowUs) {
    if (refusal == null && !isAnswered) {
      refusal = reason;
      refusedAtUs = nowUs + kcp.probeTimeoutUs();
    }
  }

  /** Whether the server refuses the session, and nothing has contradicted that in time. */
  public boolean isRefused(long nowUs) {
    isRefused |= nowUs >= refusedAtUs;
    return isRefused;
  }

  /** What the server says about that, or null. */
  public CloseReason refusal() {
    return isRefused ? refusal : null;
  }

  /** When a refusal counts, or {@link Time#NO_DEADLINE}. */
  long deadlineUs() {
    return refusedAtUs;
  }

  private void forgetRefusal() {
    refusal = null;
    refusedAtUs = Time.NO_DEADLINE;
  }

  /**
   * A datagram has been taken in: it counts once, however many it has acknowledged.
   *
   * @param isStale whether its sender may not know the session
   */
  void endDatagram(boolean isStale) {
    if (!isStale && (kcp.isPeerProven() || kcp.hasReceived())) {
      isAnswered = true;
      forgetRefusal();
    }
    if (hasAcknowledged) {
      hasAcknowledged = false;
      acknowledged++;
    }
  }

  /**
   * The token that messages to this side have to show. Until a client has an answer, a retry of the
   * server may replace it, and answers to earlier offers count as well: protocol.md 13.6.2.
   */
  static final class Token {

    /**
     * The retries that a client takes. RFC 9000, 17.2.5.2, has it take one. Here an honest client
     * may need another: its NAT has changed its address, the server has restarted, or a token is
     * too old.
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

    Token(long token) {
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
}
