package io.kcp4j.internal.path;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;

/**
 * Limits what is sent to a peer that has not proven that it receives at its address, so that forged
 * source addresses gain nothing: protocol.md 8.7, after RFC 9000 §8.1. A segment that would exceed
 * the allowance of the path does not leave, as if it had been lost; new segments wait.
 *
 * <p>KCP's clients stay silent until they are answered. If the answer is lost, there may be no
 * allowance left to repeat it. So the first segment of a session is small unless the allowance has
 * room for the whole answer twice, and eight transmissions of small segments may exceed the
 * allowance, at growing intervals, as far as the address has not used up what all its sessions may
 * exceed.
 *
 * <p>What waits may be too large for that, and nothing may be in flight whose ACK would validate
 * the path: that of the first segment can be lost, while {@code una} says that it has arrived. Then
 * a path challenge takes the place of a small segment: an empty PUSH below {@code una}, a duplicate
 * that the peer drops, and acknowledges by its timestamp. A peer that sends much and is sent
 * nothing is challenged, too: it would never validate its path otherwise.
 */
public final class AmplificationLimit {

  /**
   * How much may be sent to a peer that has not proven that it receives at its address: protocol.md
   * 8.7. Used by the thread of its session.
   */
  public interface Allowance {

    /** How many bytes may be sent now, what the layers below add included; below 0 for none. */
    long bytes();

    /** Whether the first small segment of the session may exceed that now. */
    default boolean mayFirstExceed() {
      return true;
    }

    /** The first small segment exceeds it, if this returns true. */
    default boolean takeFirstExcess() {
      return true;
    }

    /** Another small segment, or a probe, exceeds it, if this returns true. */
    default boolean takeFurtherExcess() {
      return true;
    }
  }

  /** The payload of a small segment, in bytes. */
  public static final int SMALL_PAYLOAD_BYTES = 40;

  /** The largest small segment, its header included, in bytes. */
  private static final int SMALL_BYTES = Segment.HEADER_BYTES + SMALL_PAYLOAD_BYTES;

  private static final int MAX_SMALL = 8;

  /** How many transmissions are remembered. */
  private static final int REMEMBERED = 16;

  /** The time between the first two small segments; the next ones wait twice as long each. */
  private static final int FIRST_GAP_US = 200_000;

  /** Room for any message of the extension. */
  private static final int MESSAGE_BYTES = 128;

  /** What leaves, which decides whether it may exceed the allowance. */
  public enum Kind {
    /** An ACK, a window update or a message: never exceeds it. */
    CONTROL,
    /** A window probe: exceeds it as far as the address may. */
    PROBE,
    /** A segment with payload: exceeds it if it is a small one, and its time has come. */
    PAYLOAD,
    /** A path challenge: takes the place of a small segment, whether or not it exceeds it. */
    CHALLENGE
  }

  private static final long[] NONE = {};

  private final Allowance allowance;
  private final KcpCounters counters;

  /** The bytes that have left beyond the allowance, and do not count against it. */
  private long exceededBytes;

  private int small;
  private long nextSmallAtUs;

  /**
   * The latest transmissions, also of what is no longer in flight: sequence number, timestamp.
   * Empty until something is sent.
   */
  private long[] sent = NONE;

  private int sentCount;
  private int nextSent;

  /** Whether the peer is to be validated soon, since it may hold more memory then. */
  private boolean isChallengeRequested;

  /** Since when new segments wait, and none is in flight. */
  private long blockedSinceUs = Time.NO_DEADLINE;

  /** Since when the path is to be challenged. */
  private long challengeSinceUs = Time.NO_DEADLINE;

  public AmplificationLimit(Allowance allowance, KcpCounters counters) {
    this.allowance = allowance;
    this.counters = counters;
  }

  /** How many bytes may leave, what the layers below add included; below 0 for none. */
  public long roomBytes() {
    return allowance.bytes() + exceededBytes;
  }

  /**
   * Whether a segment or a message may leave, which then counts as sent.
   *
   * @param bytes what has been written in this flush and does not count as sent yet, with this one
   * @param growthBytes by which the packets of this flush grow
   * @param segmentBytes its size, header included
   */
  public boolean mayLeave(Kind kind, int bytes, int growthBytes, int segmentBytes, long nowUs) {
    boolean exceeds = bytes > roomBytes();
    boolean isAllowed =
        switch (kind) {
          case CONTROL -> !exceeds;
          case PROBE -> !exceeds || takeFurtherExcess();
          case PAYLOAD -> !exceeds || (segmentBytes <= SMALL_BYTES && takeSmall(true, nowUs));
          case CHALLENGE -> takeSmall(exceeds, nowUs);
        };
    if (isAllowed && exceeds) {
      exceededBytes += growthBytes;
    }
    return isAllowed;
  }

  /** A PUSH has left. */
  public void sent(int sn, int ts) {
    if (sentCount == 0) {
      sent = new long[REMEMBERED];
    }
    sent[nextSent] = transmission(sn, ts);
    nextSent = (nextSent + 1) % sent.length;
    sentCount = Math.min(sentCount + 1, sent.length);
  }

  /** Whether a segment has been sent with this timestamp lately. */
  public boolean hasSent(int sn, int ts) {
    long transmission = transmission(sn, ts);
    for (int i = 0; i < sentCount; i++) {
      if (sent[i] == transmission) {
        return true;
      }
    }
    return false;
  }

  private static long transmission(int sn, int ts) {
    return (long) sn << 32 | Integer.toUnsignedLong(ts);
  }

  private boolean takeFurtherExcess() {
    boolean isTaken = allowance.takeFurtherExcess();
    if (!isTaken) {
      counters.add(KcpCounter.OVER_ADDRESS_LIMIT, 1);
    }
    return isTaken;
  }

  /** Whether one of the small segments may leave now, which counts as done. */
  private boolean takeSmall(boolean exceeds, long nowUs) {
    if (small == MAX_SMALL || (small > 0 && nowUs < nextSmallAtUs)) {
      return false;
    }
    if (exceeds && !(small == 0 ? allowance.takeFirstExcess() : allowance.takeFurtherExcess())) {
      nextSmallAtUs = nowUs + FIRST_GAP_US;
      counters.add(KcpCounter.OVER_ADDRESS_LIMIT, 1);
      return false;
    }
    nextSmallAtUs = nowUs + ((long) FIRST_GAP_US << small);
    small++;
    return true;
  }

  // Plans

  /**
   * Whether there is room for a new segment.
   *
   * @param bytes what has been written in this flush and does not count as sent yet, with its
   *     packet
   * @param segmentBytes its size, header included
   * @param isOnly whether nothing is in flight
   */
  public boolean hasRoomForNew(int bytes, int segmentBytes, boolean isOnly) {
    boolean isFirst = isOnly && small == 0;
    return bytes <= roomBytes()
        || (isFirst && segmentBytes <= SMALL_BYTES && allowance.mayFirstExceed());
  }

  /** Whether there is room for any message of the extension. */
  public boolean hasRoomForMessage(int overheadBytes) {
    return roomBytes() >= MESSAGE_BYTES + overheadBytes;
  }

  /**
   * The largest payload of the first segment of the session.
   *
   * @param payloadBytes what is to be sent in all, as far as is known
   */
  public int firstPayloadBytes(int payloadBytes, int overheadBytes) {
    // The first datagram also has an ACK.
    int otherBytes = 2 * Segment.HEADER_BYTES + overheadBytes;
    boolean fitsTwice = payloadBytes + otherBytes <= roomBytes() / 2;
    return fitsTwice ? payloadBytes : SMALL_PAYLOAD_BYTES;
  }

  // Blocked segments

  /** The peer is to be challenged with the next flush, if nothing is in flight. */
  public void requestChallenge() {
    isChallengeRequested = true;
  }

  public boolean isChallengeRequested() {
    return isChallengeRequested;
  }

  /** To be called at the end of a batch or a flush. */
  public void update(boolean isBlocked, boolean isChallengeWanted, long nowUs) {
    blockedSinceUs = since(isBlocked, blockedSinceUs, nowUs);
    challengeSinceUs = since(isChallengeWanted, challengeSinceUs, nowUs);
  }

  private static long since(boolean holds, long sinceUs, long nowUs) {
    return holds ? Math.min(sinceUs, nowUs) : Time.NO_DEADLINE;
  }

  /** Since when new segments wait, or {@link Time#NO_DEADLINE}. */
  public long blockedSinceUs() {
    return blockedSinceUs;
  }

  /** When the path is to be challenged, or {@link Time#NO_DEADLINE}. */
  public long challengeAtUs() {
    return challengeSinceUs == Time.NO_DEADLINE || small == MAX_SMALL
        ? Time.NO_DEADLINE
        : Math.max(challengeSinceUs, nextSmallAtUs);
  }
}
