package io.kcp4j.internal.recovery;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.wire.Time;

/**
 * The probe timeout of {@link RackDetector} (RFC 8985 §7.2, RFC 9002 §6.2.1; protocol.md 4.10): the
 * longer of the RTT with its variation, and of the time that acknowledgements take with a margin.
 * The RFCs add the longest delay that the peer may choose for an ACK; here it is measured, unless
 * the peer has said it. KCP's minimum of 30 ms or more does not hold.
 *
 * <p><b>Acknowledgement time.</b> The third longest time that acknowledgements took, the peer's
 * delay included, in the last 1.5 to 3 seconds. One or two lost ACKs do not count; a peer that
 * delays its ACKs, and a path that often loses them, do.
 *
 * <p><b>Margin.</b> It grows while spurious timeouts are too many: more than needed ones, as on a
 * path without losses between busy hosts, or more than one for {@link #SEGMENTS} segments, as where
 * ACKs are lost in bursts. It shrinks with needed ones, and while none is spurious.
 */
final class ProbeTimeout {

  /**
   * The least timeout. A deadline that is nearer than the next tick of the system's scheduler, 4 ms
   * at 250 Hz, makes each wait for I/O expensive; Linux's TCP has two ticks. Stalls of a few
   * milliseconds are common, too.
   */
  private static final int MIN_TIMEOUT_US = 6_000;

  /** RFC 9002 §6.1.2 has a millisecond; the timers of both sides have that resolution. */
  private static final int MIN_VARIATION_US = 2_000;

  /** How long a period of times lasts. A stall of either side is forgotten after two. */
  static final long PERIOD_US = 1_500_000;

  /** How many times are needed before the measured one replaces the assumed one. */
  private static final int KNOWN_ACK_TIMES = 16;

  private static final int UNKNOWN = -1;

  /** The least margin: the resolution of timestamps and timers. */
  private static final int MIN_MARGIN_US = 1_000;

  /** KCP's smallest timeout with no-delay. */
  private static final int MAX_MARGIN_US = 30_000;

  /** One spurious timeout for this number of segments is not too many. */
  private static final int SEGMENTS = 144;

  /** The margin shrinks after this number of segments without a spurious timeout. */
  private static final int QUIET_SEGMENTS = 2 * SEGMENTS;

  /**
   * After this number of segments the margin may shrink. Acknowledgements alone do not cause that,
   * since they may be forged.
   */
  private static final int REVIEW_SEGMENTS = 32;

  private final RttEstimator rtt;
  private final Redundancy redundancy;

  private int intervalUs;

  /** How long the peer delays ACKs at most; {@link #UNKNOWN} if it has not said so. */
  private int maxAckDelayUs = UNKNOWN;

  /** The timeout: as of the last acknowledgement. */
  private int us;

  // The longest times of this period and of the one before, in descending order.

  private int first;
  private int second;
  private int third;
  private int firstBefore;
  private int secondBefore;
  private int thirdBefore;

  /** The third longest of both periods. */
  private int thirdOfBothUs;

  private long periodEndsAtUs;

  // How many times each period has, at most KNOWN_ACK_TIMES.

  private byte ackTimes;
  private byte ackTimesBefore;

  private int marginUs = MIN_MARGIN_US;

  /** The segments to go until the rate of spurious timeouts is acceptable again. */
  private int excess;

  /** The transmissions of the session, when they were counted, reviewed, and the margin changed. */
  private int transmissions;

  private int reviewedAt;
  private int changedAt;

  ProbeTimeout(RttEstimator rtt, Redundancy redundancy) {
    this.rtt = rtt;
    this.redundancy = redundancy;
  }

  /** Takes over settings that have changed. */
  void configure(KcpConfig config) {
    intervalUs = config.intervalMs() * Time.US_PER_MS;
    update();
  }

  /** The timeout of segments that are sent now, in microseconds: as of the last {@link #update}. */
  int us() {
    return us;
  }

  /** Computes the timeout again. */
  void update() {
    if (!rtt.hasSample()) {
      us = rtt.rtoUs();
      return;
    }
    int variationUs = Math.max(4 * rtt.rttVarUs(), Math.max(marginUs, MIN_VARIATION_US));
    long timeoutUs = Math.max(rtt.srttUs() + (long) variationUs, ackTimeUs() + (long) marginUs);
    us = (int) Math.min(Math.max(timeoutUs, MIN_TIMEOUT_US), RttEstimator.MAX_RTO_US);
  }

  // Acknowledgement time

  /** The peer has said how long it delays ACKs at most. */
  void peerMaxAckDelay(int us) {
    maxAckDelayUs = us;
  }

  /** Whether it has. */
  boolean isPeerMaxAckDelayKnown() {
    return maxAckDelayUs != UNKNOWN;
  }

  /** How long acknowledgements take, in microseconds: measured, or assumed. */
  int ackTimeUs() {
    boolean isKnown = ackTimes + ackTimesBefore >= KNOWN_ACK_TIMES;
    int us = isKnown ? thirdOfBothUs : Math.max(thirdOfBothUs, assumedAckTimeUs());
    return isPeerMaxAckDelayKnown() ? Math.min(us, assumedAckTimeUs()) : us;
  }

  /** If the peer's longest delay is not known, it is taken to be the interval of this side. */
  int assumedAckTimeUs() {
    int delayUs = isPeerMaxAckDelayKnown() ? maxAckDelayUs : intervalUs;
    return Math.min(rtt.srttUs() + delayUs, RttEstimator.MAX_RTO_US);
  }

  /** An acknowledgement has taken {@code sampleUs}. */
  void sampleAckTime(long sampleUs, long nowUs) {
    if (nowUs >= periodEndsAtUs) {
      beginPeriod(nowUs);
    }
    ackTimes = (byte) Math.min(ackTimes + 1, KNOWN_ACK_TIMES);
    if (sampleUs > third) {
      insert((int) Math.min(sampleUs, RttEstimator.MAX_RTO_US));
      updateThird();
    }
  }

  private void beginPeriod(long nowUs) {
    boolean isNext = nowUs - periodEndsAtUs < PERIOD_US;
    firstBefore = isNext ? first : 0;
    secondBefore = isNext ? second : 0;
    thirdBefore = isNext ? third : 0;
    ackTimesBefore = isNext ? ackTimes : 0;
    first = 0;
    second = 0;
    third = 0;
    ackTimes = 0;
    periodEndsAtUs = nowUs + PERIOD_US;
    updateThird();
  }

  private void insert(int timeUs) {
    if (timeUs > first) {
      third = second;
      second = first;
      first = timeUs;
    } else if (timeUs > second) {
      third = second;
      second = timeUs;
    } else {
      third = timeUs;
    }
  }

  private void updateThird() {
    // In descending order, the third is in one period, or follows one of it and two of the other.
    int oneAndTwo = Math.max(Math.min(first, secondBefore), Math.min(second, firstBefore));
    thirdOfBothUs = Math.max(oneAndTwo, Math.max(third, thirdBefore));
  }

  /** The third longest time of both periods, in microseconds; 0 before the third sample. */
  int thirdLongestUs() {
    return thirdOfBothUs;
  }

  // Margin

  /** The margin, in microseconds. */
  int marginUs() {
    return marginUs;
  }

  /** Segments are sent; the session has made {@code transmissions} in all. */
  void sent(int transmissions) {
    if (transmissions - reviewedAt >= REVIEW_SEGMENTS) {
      reviewedAt = transmissions;
      transmitted(transmissions);
      update();
    }
  }

  /** The session has made {@code transmissions} in all until now. */
  void transmitted(int transmissions) {
    excess = Math.max(excess - (transmissions - this.transmissions), 0);
    this.transmissions = transmissions;
    if (transmissions - changedAt >= QUIET_SEGMENTS) {
      shrink();
    }
  }

  private void shrink() {
    marginUs = Math.max(marginUs - marginUs / 8, MIN_MARGIN_US);
    changedAt = transmissions;
  }

  /** A timeout was spurious. */
  void spurious(int transmissions) {
    transmitted(transmissions);
    excess += SEGMENTS;
    if (redundancy.isMostlySpurious() || excess > 2 * SEGMENTS) {
      marginUs = Math.min(2 * marginUs, MAX_MARGIN_US);
    }
    changedAt = transmissions;
  }

  /** A retransmission was needed. */
  void needed(int transmissions) {
    transmitted(transmissions);
    if (!redundancy.isMostlySpurious() && excess < SEGMENTS) {
      shrink();
    }
  }
}
