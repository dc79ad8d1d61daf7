package io.kcp4j.session;

import io.netty.buffer.ByteBuf;

/**
 * An address, beside its own, from which somebody has named a session: perhaps that session's
 * client, whose NAT has rebound; or an attacker who has recorded its packets. {@link
 * CandidatePaths} finds out which: protocol.md 13.9.
 */
final class CandidatePath extends TimerWheel.Timer {

  private final CandidatePaths paths;
  private final SessionKey key;
  private final Session session;

  /** Those of the last query from there. */
  private ExtensionMessage.Echo echo;

  private int una;

  private boolean hasResponded;

  /** When a response has come from there, to a challenge that was sent only there. */
  private long validatedAtUs;

  CandidatePath(CandidatePaths paths, SessionKey key, Session session) {
    this.paths = paths;
    this.key = key;
    this.session = session;
  }

  /** The address, and the conversation id of the session. */
  SessionKey key() {
    return key;
  }

  Session session() {
    return session;
  }

  /** Remembers the last query from there, an item at {@code index}, to be answered later. */
  void queried(ByteBuf segments, int index) {
    echo = ExtensionMessage.Echo.read(segments, index);
    una = ExtensionMessage.queryUna(segments, index);
  }

  /** What the last query wants to be repeated, or null. */
  ExtensionMessage.Echo echo() {
    return echo;
  }

  /** What the last query wants to be acknowledged, in its answer. */
  int una() {
    return una;
  }

  /** Its peer receives there. */
  void validate(long nowUs) {
    hasResponded = true;
    validatedAtUs = nowUs;
  }

  /** Whether its peer has shown that. */
  boolean hasResponded() {
    return hasResponded;
  }

  /** Whether the peer was alive at the session's own address since this one has been validated. */
  boolean isOldPathAlive() {
    return session.keepAlive().lastReceivedAtUs() >= validatedAtUs;
  }

  @Override
  protected void expire(long nowUs) {
    paths.expired(this, nowUs);
  }
}
