package io.kcp4j;

/**
 * The clock of a peer, whose timestamps are milliseconds. Another process that has got the peer's
 * address, and has chosen the same conversation id, has another clock, with a random origin:
 * protocol.md 13.12. Made for peers that are known to have such a clock.
 */
final class PeerClock {

  /** The peer's PUSHes arrive within this time. */
  private static final int MAX_APART_MS = 60_000;

  private boolean hasNewest;

  /** The newest timestamp of a PUSH, if there was one. */
  private int newest;

  /** When it was received, in microseconds. */
  private long newestAtUs;

  /** Whether a PUSH was refused since its timestamp is too new. */
  private boolean hasJumped;

  /** Whether the next one may be: the peer has shown that it is the one of the session. */
  private boolean mayJump;

  /** Whether a PUSH with this timestamp can be of the peer. */
  boolean isPossible(int ts, long nowUs) {
    if (isUnknown(nowUs)) {
      return true;
    }
    int newerMs = ts - newest;
    if (newerMs > MAX_APART_MS + passedMs(nowUs) && !mayJump) {
      hasJumped = true;
      return false;
    }
    return newerMs >= -MAX_APART_MS;
  }

  private long passedMs(long nowUs) {
    return (nowUs - newestAtUs) / Kcp.US_PER_MS;
  }

  /** Whether any timestamp is possible, as it is after 24 days, too: they wrap. */
  private boolean isUnknown(long nowUs) {
    return !hasNewest || passedMs(nowUs) >= Integer.MAX_VALUE - MAX_APART_MS;
  }

  /** A PUSH that was not received before has been taken. */
  void taken(int ts, long nowUs) {
    if (!isUnknown(nowUs) && ts - newest <= 0) {
      return;
    }
    hasNewest = true;
    newest = ts;
    newestAtUs = nowUs;
    mayJump = false;
  }

  /** Whether a timestamp was refused as too new since the last call. */
  boolean takeJump() {
    boolean hadJumped = hasJumped;
    hasJumped = false;
    return hadJumped;
  }

  /** The peer is the one of the session: the clock of this side has stood still. */
  void acceptJump() {
    mayJump = true;
  }
}
