package io.kcp4j.internal.wire;

/**
 * The timestamps of a session and those of its peer, in milliseconds. Where the two clocks are far
 * apart, they tell a segment of the peer from one of this side that somebody has sent back:
 * protocol.md 2.7.
 */
public final class Timestamps {

  /** The clocks are at least so far apart, or segments that were sent back are not recognised. */
  private static final int APART_MS = 1 << 29;

  /** What was sent longer ago, 4.6 hours, is not recognised: the clock of a peer may run faster. */
  private static final int RECOGNISED_MS = 1 << 24;

  /** By how much the clocks may drift. */
  private static final int DRIFT_MS = 1 << 20;

  private int origin;
  private boolean isRandom;
  private boolean hasSent;
  private boolean hasPeer;
  private boolean isApart;

  /** By how much the peer's clock is ahead. */
  private int aheadMs;

  /**
   * The newest timestamp of the peer's PUSHes; until there is one, that of this side's first flush.
   */
  private int newestOrFirst;

  /** Null unless the peer is known to have one. */
  private PeerClock peerClock;

  /**
   * @param origin the timestamp at time 0
   */
  public Timestamps(int origin) {
    this.origin = origin;
  }

  /** The timestamp of a segment that is sent now. */
  public int at(long nowUs) {
    return origin + (int) Math.floorDiv(nowUs, Time.US_PER_MS);
  }

  /** The origin is a random one, so it is not that of a peer. */
  public void random() {
    isRandom = true;
  }

  /** The timestamp of the segments of a flush. */
  public int flushed(long nowUs) {
    int ts = at(nowUs);
    if (!hasSent) {
      hasSent = isRandom;
      newestOrFirst = hasPeer ? newestOrFirst : ts;
    }
    return ts;
  }

  /**
   * Moves the clock away from the peer's, by at least a quarter of its range. To be called before
   * anything is sent.
   *
   * @param ts a timestamp of the peer
   */
  public void keepApart(int ts, long nowUs) {
    int random = at(nowUs) >>> 1;
    origin += ts + (1 << 30) + random - at(nowUs);
  }

  /**
   * Takes the timestamp of a PUSH; returns whether it is newer than all before.
   *
   * @param isNew whether the segment was received in order: before the first of these, one may be a
   *     challenge, or forged, with any timestamp
   */
  public boolean takePeer(int ts, boolean isNew, long nowUs) {
    if (hasPeer ? ts - newestOrFirst <= 0 : !isNew) {
      return false;
    }
    if (!hasPeer) {
      hasPeer = true;
      aheadMs = ts - at(nowUs);
      isApart = aheadMs >= APART_MS || aheadMs <= -APART_MS;
    }
    newestOrFirst = ts;
    return true;
  }

  /** The peer's timestamps are milliseconds of a clock. */
  public void checkPeer(long nowUs) {
    peerClock = new PeerClock();
    if (hasPeer) {
      peerClock.taken(newestOrFirst, nowUs);
    }
  }

  /** Null unless the peer is known to have one. */
  public PeerClock peerClock() {
    return peerClock;
  }

  /** Whether {@link #isOwn} recognises anything. */
  public boolean isOwnRecognised() {
    return isApart || (!hasPeer && hasSent);
  }

  /**
   * Whether this side has sent a PUSH, or an ACK, with this timestamp. If the origin is random,
   * that is known of a PUSH before the peer's clock is: its timestamp is of the time since the
   * first flush.
   *
   * @param nowTs the timestamp of a segment that is sent now
   */
  public boolean isOwn(int cmd, int ts, int nowTs) {
    if (cmd == Segment.PUSH) {
      return isOfOwnClock(ts, nowTs);
    }
    int newest = nowTs + aheadMs + DRIFT_MS;
    return isApart && cmd == Segment.ACK && Integer.compareUnsigned(newest - ts, RECOGNISED_MS) < 0;
  }

  /** Whether a timestamp is one of this side's clock, as far as that can be told. */
  public boolean isOfOwnClock(int ts, int nowTs) {
    int ageMs = nowTs - ts;
    return hasPeer
        ? isApart && Integer.compareUnsigned(ageMs, RECOGNISED_MS) < 0
        : hasSent && Integer.compareUnsigned(ageMs, nowTs - newestOrFirst) <= 0;
  }

  /**
   * The clock of a peer, whose timestamps are milliseconds. Another process that has got the peer's
   * address, and has chosen the same conversation id, has another clock, with a random origin:
   * protocol.md 13.12. Made for peers that are known to have such a clock.
   */
  public static final class PeerClock {

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
    public boolean isPossible(int ts, long nowUs) {
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
      return (nowUs - newestAtUs) / Time.US_PER_MS;
    }

    /** Whether any timestamp is possible, as it is after 24 days, too: they wrap. */
    private boolean isUnknown(long nowUs) {
      return !hasNewest || passedMs(nowUs) >= Integer.MAX_VALUE - MAX_APART_MS;
    }

    /** A PUSH that was not received before has been taken. */
    public void taken(int ts, long nowUs) {
      if (!isUnknown(nowUs) && ts - newest <= 0) {
        return;
      }
      hasNewest = true;
      newest = ts;
      newestAtUs = nowUs;
      mayJump = false;
    }

    /** Whether a timestamp was refused as too new since the last call. */
    public boolean takeJump() {
      boolean hadJumped = hasJumped;
      hasJumped = false;
      return hadJumped;
    }

    /** The peer is the one of the session: the clock of this side has stood still. */
    public void acceptJump() {
      mayJump = true;
    }
  }
}
