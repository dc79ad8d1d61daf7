package io.kcp4j.internal.extension;

import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;

/**
 * By what a client finds out whether the server still knows the session: protocol.md 13.5. After a
 * probe timeout without an answer it names the session, and a server that does not know it answers
 * with the session's reset token. A query can be recorded, and repeated from elsewhere to obtain an
 * answer, so a token counts only while a query is outstanding, and with the random bytes of that.
 */
final class StatelessResetDetector {

  /** Not waiting. */
  private static final long NEVER = Time.NO_DEADLINE;

  /** What is on its way from a server that does know the session may arrive later than a token. */
  private static final int SRTT_SHARE = 4;

  private final Kcp kcp;
  private final Parameters.Exchange parameters;
  private final long sessionId;

  // The reset token.

  private final long tokenFirst;
  private final long tokenSecond;

  /** Since when the server owes an answer, as of the last flush. */
  private long silentSinceUs = NEVER;

  /** When to ask without having waited. */
  private long askAtUs = NEVER;

  /** Whether a query has been sent since something was received. */
  private boolean isOutstanding;

  /** How often that has been so. */
  private int rounds;

  /** The random bytes of such queries; null if the server does not repeat any. */
  private ExtensionMessage.Echo echo;

  /** When the session ends, unless it makes progress before. */
  private long lostAtUs = NEVER;

  /** {@link Kcp#progress} when the token was received. */
  private int progress;

  private StatelessResetDetector(
      Kcp kcp, Parameters.Exchange parameters, long sessionId, long tokenFirst, long tokenSecond) {
    this.kcp = kcp;
    this.parameters = parameters;
    this.sessionId = sessionId;
    this.tokenFirst = tokenFirst;
    this.tokenSecond = tokenSecond;
  }

  /** Reads an item SESSION at {@code index}. */
  static StatelessResetDetector read(
      Kcp kcp, Parameters.Exchange parameters, ByteBuf buf, int index) {
    int token = index + Long.BYTES;
    return new StatelessResetDetector(
        kcp,
        parameters,
        ExtensionMessage.longValue(buf, index),
        ExtensionMessage.longValue(buf, token),
        ExtensionMessage.longValue(buf, token + Long.BYTES));
  }

  /** Something has been received whose sender knows the session. */
  void received() {
    silentSinceUs = NEVER;
    isOutstanding = false;
  }

  /** Whether the server has owed an answer for a probe timeout. */
  boolean isSilent(long nowUs) {
    if (!kcp.isAnswerAwaited()) {
      return false;
    }
    silentSinceUs = Math.min(silentSinceUs, nowUs);
    return nowUs - silentSinceUs >= kcp.probeTimeoutUs();
  }

  /** The server may not know the session at this address: asks it now, unless that was done. */
  void ask(long nowUs) {
    if (!isOutstanding) {
      askAtUs = nowUs;
      silentSinceUs = nowUs - kcp.probeTimeoutUs();
      kcp.probe();
    }
  }

  /** The size of a query, in bytes. */
  int queryBytes() {
    int bytes = ExtensionMessage.itemBytes(ExtensionMessage.SESSION_QUERY);
    return hasEcho() ? bytes + ExtensionMessage.Echo.BYTES : bytes;
  }

  /** Whether the server repeats bytes of a query in its answer. */
  private boolean hasEcho() {
    return parameters.hasPeer(Parameters.RESET_ECHO);
  }

  /**
   * Writes a query.
   *
   * @param token what messages to the client have to show
   * @param peerToken what messages to the server have to show
   */
  void writeQuery(ByteBuf out, long token, long peerToken) {
    askAtUs = NEVER;
    if (!isOutstanding) {
      isOutstanding = true;
      echo = hasEcho() ? ExtensionMessage.Echo.of(token, peerToken, rounds++) : null;
    }
    ExtensionMessage.writeItemHeader(out, ExtensionMessage.SESSION_QUERY, echo);
    out.writeLongLE(sessionId).writeIntLE(kcp.sendUna());
    ExtensionMessage.Echo.write(out, echo);
  }

  /**
   * Whether the item at {@code index} repeats the random bytes of the outstanding query, if any.
   */
  boolean isAnswer(ByteBuf buf, int index) {
    return isOutstanding && (echo == null || echo.equals(ExtensionMessage.Echo.read(buf, index)));
  }

  /** Takes the item STATELESS_RESET at {@code index}; returns false if it answers no query. */
  boolean receiveReset(ByteBuf buf, int index, long nowUs) {
    boolean isGenuine =
        ExtensionMessage.longValue(buf, index) == tokenFirst
            && ExtensionMessage.longValue(buf, index + Long.BYTES) == tokenSecond
            && isAnswer(buf, index);
    if (isGenuine && lostAtUs == NEVER) {
      lostAtUs = nowUs + kcp.srttUs() / SRTT_SHARE;
      progress = kcp.progress();
    }
    return isGenuine;
  }

  /** Whether the server does not know the session, and nothing has contradicted that in time. */
  boolean isLost(long nowUs) {
    if (nowUs < lostAtUs) {
      return false;
    }
    lostAtUs = NEVER;
    return kcp.progress() == progress;
  }

  long deadlineUs() {
    return Math.min(lostAtUs, askAtUs);
  }
}
