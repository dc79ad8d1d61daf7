package io.kcp4j;

/**
 * Limits what is sent to a peer that has not proven that it receives at its address, so that forged
 * source addresses gain nothing: protocol.md 8.7, after RFC 9000 §8.1. What would exceed the
 * allowance of the path does not leave, as if it had been lost; new segments wait.
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
final class SendLimit {

  /** The payload of a small segment, in bytes. */
  private static final int SMALL_PAYLOAD_BYTES = 40;

  /** The largest small segment, its header included, in bytes. */
  private static final int SMALL_BYTES = Segment.HEADER_BYTES + SMALL_PAYLOAD_BYTES;

  private static final int MAX_SMALL = 8;

  /** A peer that has sent so many segments, in order, is challenged though nothing waits. */
  private static final int CHALLENGE_SEGMENTS = 8;

  /** The time between the first two small segments; the next ones wait twice as long each. */
  private static final int FIRST_GAP_US = 200_000;

  /** Room for any message of the extension. */
  private static final int MESSAGE_BYTES = 128;

  private final Kcp kcp;
  private final SendAllowance allowance;

  /** What has been sent beyond the allowance, and does not count against it. */
  private long exceededBytes;

  private int small;
  private long nextSmallAtUs;

  /** The latest transmissions, also of what is no longer in flight: sequence number, timestamp. */
  private final long[] sent = new long[16];

  private int sentCount;
  private int nextSent;

  /** Whether the peer is to be validated soon, since it may hold more memory then. */
  private boolean isChallengeRequested;

  /** Since when new segments wait, and none is in flight. */
  private long blockedSinceUs = Kcp.NO_DEADLINE;

  /** Since when the path is to be challenged. */
  private long challengeSinceUs = Kcp.NO_DEADLINE;

  SendLimit(Kcp kcp, SendAllowance allowance) {
    this.kcp = kcp;
    this.allowance = allowance;
  }

  private static long transmission(int sn, int ts) {
    return (long) sn << 32 | Integer.toUnsignedLong(ts);
  }

  /** A PUSH has been sent. */
  void sent(int sn, int ts) {
    sent[nextSent] = transmission(sn, ts);
    nextSent = (nextSent + 1) % sent.length;
    sentCount = Math.min(sentCount + 1, sent.length);
  }

  /** Whether a segment has been sent with this timestamp lately. */
  boolean hasSent(int sn, int ts) {
    long transmission = transmission(sn, ts);
    for (int i = 0; i < sentCount; i++) {
      if (sent[i] == transmission) {
        return true;
      }
    }
    return false;
  }

  private long allowanceBytes() {
    return allowance.bytes() + exceededBytes;
  }

  /**
   * Whether the next new segment may leave, with a datagram of its own.
   *
   * @param unsentBytes what has been written in this flush, and does not count as sent yet
   */
  boolean isNewAllowed(int unsentBytes) {
    int bytes = nextBytes() + kcp.overheadBytes() + unsentBytes;
    boolean isFirst = kcp.losses.unacknowledged() == 0 && small == 0;
    return bytes <= allowanceBytes()
        || (isFirst && nextBytes() <= SMALL_BYTES && allowance.mayFirstExceed());
  }

  /** The size of the next new segment; one that has to be pulled has the largest size. */
  private int nextBytes() {
    return kcp.sending.queued() > 0
        ? kcp.sending.bytes(kcp.sending.firstQueued())
        : Segment.HEADER_BYTES + nextPayloadBytes();
  }

  /** The largest payload of a segment that is pulled, while none is queued. */
  int nextPayloadBytes() {
    return isFirst() ? Math.min(SMALL_PAYLOAD_BYTES, kcp.mssBytes()) : kcp.mssBytes();
  }

  /**
   * The largest payload of the first segment.
   *
   * @param payloadBytes what is to be sent in all, as far as is known
   */
  int firstPayloadBytes(int payloadBytes) {
    // The first datagram also has an ACK.
    int otherBytes = 2 * Segment.HEADER_BYTES + kcp.overheadBytes();
    boolean fitsTwice = payloadBytes + otherBytes <= allowanceBytes() / 2;
    return Math.min(fitsTwice ? payloadBytes : SMALL_PAYLOAD_BYTES, kcp.mssBytes());
  }

  /**
   * How much more payload of a stream may be queued: no more than may leave, since that of many
   * forged addresses would never leave.
   *
   * @param payloadBytes what is to be queued; if not all of it fits, full segments are
   */
  long queueRoomBytes(int payloadBytes) {
    int queuedBytes = 0;
    for (int i = 0; i < kcp.sending.queued(); i++) {
      queuedBytes += kcp.sending.bytes(kcp.sending.index(kcp.sending.next() + i));
    }
    long roomBytes = allowanceBytes() - queuedBytes - kcp.overheadBytes() - Segment.HEADER_BYTES;
    long fittingBytes = Math.max(0, roomBytes);
    return payloadBytes <= fittingBytes
        ? fittingBytes
        : fittingBytes - fittingBytes % kcp.mssBytes();
  }

  /** Whether the first segment of the session has not been sent, and is the only one, if any. */
  boolean isFirst() {
    return kcp.sending.next() == kcp.firstSn && kcp.sending.queued() <= 1;
  }

  /** Whether a message of the extension may leave in a flush that begins now. */
  boolean isMessageAllowed() {
    return allowanceBytes() >= MESSAGE_BYTES + kcp.overheadBytes();
  }

  /**
   * Whether so much may be sent.
   *
   * @param bytes what has been written in this flush and does not count as sent yet, the segment
   *     included
   */
  boolean isAllowed(int bytes) {
    return bytes <= allowanceBytes();
  }

  // Blocked segments

  /** To be called at the end of a batch or a flush. */
  void update(long nowUs) {
    blockedSinceUs = since(isBlocked(), blockedSinceUs, nowUs);
    challengeSinceUs = since(isChallengeWanted(), challengeSinceUs, nowUs);
  }

  private static long since(boolean holds, long sinceUs, long nowUs) {
    return holds ? Math.min(sinceUs, nowUs) : Kcp.NO_DEADLINE;
  }

  /** Whether new segments wait for the allowance, and no ACK of one in flight can end that. */
  private boolean isBlocked() {
    return kcp.losses.unacknowledged() == 0
        && (Transmitter.hasNew(kcp) || kcp.admission.isHeldBack())
        && Transmitter.isWindowFree(kcp)
        && !isNewAllowed(0);
  }

  void requestChallenge() {
    isChallengeRequested = true;
  }

  /** Whether nothing is in flight whose ACK could validate the path, and that would be of use. */
  boolean isChallengeWanted() {
    boolean hasSentMuch = kcp.receiving.next() - kcp.firstSn >= CHALLENGE_SEGMENTS;
    return isBlocked()
        || (kcp.losses.unacknowledged() == 0 && (hasSentMuch || isChallengeRequested));
  }

  /** Since when new segments wait, or {@link Kcp#NO_DEADLINE}. */
  long blockedSinceUs() {
    return blockedSinceUs;
  }

  /** When the path is to be challenged, or {@link Kcp#NO_DEADLINE}. */
  long deadlineUs() {
    return challengeSinceUs == Kcp.NO_DEADLINE || small == MAX_SMALL
        ? Kcp.NO_DEADLINE
        : Math.max(challengeSinceUs, nextSmallAtUs);
  }

  /** Whether one of the small segments may leave now, which counts as done. */
  private boolean takeSmall(boolean exceeds, long nowUs) {
    if (small == MAX_SMALL || (small > 0 && nowUs < nextSmallAtUs)) {
      return false;
    }
    if (exceeds && !(small == 0 ? allowance.takeFirstExcess() : allowance.takeFurtherExcess())) {
      nextSmallAtUs = nowUs + FIRST_GAP_US;
      kcp.counters.add(KcpCounter.OVER_ADDRESS_LIMIT, 1);
      return false;
    }
    nextSmallAtUs = nowUs + ((long) FIRST_GAP_US << small);
    small++;
    return true;
  }

  /**
   * Whether a path challenge may be sent, in place of a small segment.
   *
   * @param bytes as for {@link #isAllowed}
   * @param growthBytes by which the packets of this flush grow
   */
  boolean allowChallenge(int bytes, int growthBytes, long nowUs) {
    boolean exceeds = !isAllowed(bytes);
    if (!takeSmall(exceeds, nowUs)) {
      return false;
    }
    exceededBytes += exceeds ? growthBytes : 0;
    return true;
  }

  /** Whether a probe may be sent; the parameters are those of {@link #allowChallenge}. */
  boolean allowProbe(int bytes, int growthBytes) {
    if (isAllowed(bytes)) {
      return true;
    }
    if (!allowance.takeFurtherExcess()) {
      kcp.counters.add(KcpCounter.OVER_ADDRESS_LIMIT, 1);
      return false;
    }
    exceededBytes += growthBytes;
    return true;
  }

  /**
   * Whether a segment with payload may be sent, if need be beyond the allowance.
   *
   * @param bytes as for {@link #isAllowed}
   * @param growthBytes by which the packets of this flush grow
   * @param segmentBytes its size, header included
   */
  boolean allowOrExceed(int bytes, int growthBytes, int segmentBytes, long nowUs) {
    if (isAllowed(bytes)) {
      return true;
    }
    if (segmentBytes > SMALL_BYTES || !takeSmall(true, nowUs)) {
      return false;
    }
    exceededBytes += growthBytes;
    return true;
  }
}
