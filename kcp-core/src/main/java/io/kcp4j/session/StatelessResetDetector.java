package io.kcp4j.session;

import io.kcp4j.Kcp;
import io.netty.buffer.ByteBuf;

/**
 * By what a client finds out whether the server still knows the session: protocol.md 13.5. After a
 * probe timeout without an answer it names the session, and a server that does not know it answers
 * with the session's reset token.
 */
final class StatelessResetDetector {

  /** Not waiting. */
  private static final long NEVER = Kcp.NO_DEADLINE;

  /** What is on its way from a server that does know the session may arrive later than a token. */
  private static final int SRTT_SHARE = 4;

  private final Kcp kcp;
  private final long sessionId;

  // The reset token.

  private final long tokenFirst;
  private final long tokenSecond;

  /** Since when the server owes an answer, as of the last flush. */
  private long silentSinceUs = NEVER;

  /** When the session ends, unless it makes progress before. */
  private long lostAtUs = NEVER;

  /** {@link Kcp#progress} when the token was received. */
  private int progress;

  private StatelessResetDetector(Kcp kcp, long sessionId, long tokenFirst, long tokenSecond) {
    this.kcp = kcp;
    this.sessionId = sessionId;
    this.tokenFirst = tokenFirst;
    this.tokenSecond = tokenSecond;
  }

  /** Reads an item SESSION at {@code index}. */
  static StatelessResetDetector read(Kcp kcp, ByteBuf buf, int index) {
    int token = index + Long.BYTES;
    return new StatelessResetDetector(
        kcp,
        ExtensionMessage.longValue(buf, index),
        ExtensionMessage.longValue(buf, token),
        ExtensionMessage.longValue(buf, token + Long.BYTES));
  }

  /** Something has been received whose sender knows the session. */
  void received() {
    silentSinceUs = NEVER;
  }

  /** Whether the server has owed an answer for a probe timeout. */
  boolean isSilent(long nowUs) {
    if (!kcp.isAnswerAwaited()) {
      return false;
    }
    silentSinceUs = Math.min(silentSinceUs, nowUs);
    return nowUs - silentSinceUs >= kcp.probeTimeoutUs();
  }

  void writeQuery(ByteBuf out) {
    ExtensionMessage.writeItemHeader(out, ExtensionMessage.SESSION_QUERY);
    out.writeLongLE(sessionId).writeIntLE(kcp.sendUna());
  }

  /** Takes the item STATELESS_RESET at {@code index}. */
  void receiveReset(ByteBuf buf, int index, long nowUs) {
    boolean isGenuine =
        ExtensionMessage.longValue(buf, index) == tokenFirst
            && ExtensionMessage.longValue(buf, index + Long.BYTES) == tokenSecond;
    if (isGenuine && lostAtUs == NEVER) {
      lostAtUs = nowUs + kcp.srttUs() / SRTT_SHARE;
      progress = kcp.progress();
    }
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
    return lostAtUs;
  }
}
