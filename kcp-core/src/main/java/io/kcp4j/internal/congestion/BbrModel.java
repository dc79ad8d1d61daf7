package io.kcp4j.internal.congestion;

import io.kcp4j.internal.recovery.WindowedFilter;

/**
 * What {@link BbrCongestionControl} knows of the path, as in draft-ietf-ccwg-bbr: the bandwidth,
 * the shortest round trip, and how far acknowledgements are aggregated.
 */
final class BbrModel {

  private static final double US_PER_S = 1e6;

  /** A round trip that is longer by no more confirms the shortest one: jitter. */
  private static final int RTT_TOLERANCE_US = 1_000;

  /** BBRv3's ProbeRTTInterval. */
  private static final long MAX_RTT_AGE_US = 5_000_000;

  /** The largest aggregation of the last five to ten rounds counts. */
  private static final int AGGREGATION_ROUNDS = 5;

  /** BBR.max_bw: the highest rates of this cycle and of the last one. */
  private final WindowedFilter maxBandwidth = WindowedFilter.maximum(1);

  private int cycle;

  /** The bandwidth that a queue or losses allow, in bytes per second. */
  private double bound = Double.POSITIVE_INFINITY;

  private boolean isBandwidthMeasured;

  /** BBR.min_rtt, and when it was seen last. */
  private int minRttUs;

  private long minRttSeenAtUs;

  /** BBR.extra_acked, and what has been acknowledged since the aggregation began. */
  private final WindowedFilter extraAcked = WindowedFilter.maximum(AGGREGATION_ROUNDS);

  private long round;
  private long aggregatedSinceUs;
  private double aggregatedBytes;

  // The bandwidth: the highest delivery rate of the last two cycles of probing. Queues and losses
  // bound it, until the path is probed again.

  /**
   * Takes a delivery rate.
   *
   * @param bytesPerSecond the rate, or 0
   * @param isApplicationLimited whether the path may have delivered more; then it only counts if it
   *     is higher than the others
   */
  void sampleRate(double bytesPerSecond, boolean isApplicationLimited) {
    if (!isApplicationLimited || bytesPerSecond > maxBandwidth()) {
      maxBandwidth.sample(bytesPerSecond, cycle);
    }
    isBandwidthMeasured |= !isApplicationLimited && bytesPerSecond > 0;
  }

  /** Whether there was a rate for which the path was the limit, not the application. */
  boolean isBandwidthMeasured() {
    return isBandwidthMeasured;
  }

  /** The measured rates may be less than the path delivers: the peer has had no room. */
  void limitedByPeer() {
    isBandwidthMeasured = false;
  }

  /** A cycle begins: rates from before the last one are forgotten. */
  void beginCycle() {
    cycle++;
    maxBandwidth.advance(cycle);
  }

  /** The highest rate without its bound, in bytes per second; 0 before the first sample. */
  double maxBandwidth() {
    return maxBandwidth.best();
  }

  /** The bandwidth, in bytes per second. */
  double bandwidth() {
    return Math.min(maxBandwidth(), bound);
  }

  /** Caps the bandwidth until the next probe. */
  void boundBandwidth(double bytesPerSecond) {
    bound = Math.min(bound, bytesPerSecond);
  }

  /** The path is probed again: ends the bound. */
  void unboundBandwidth() {
    bound = Double.POSITIVE_INFINITY;
  }

  // The shortest round trip, for the bandwidth-delay product. It has to be seen again from time to
  // time: the state PROBE_RTT makes the flow's own part of the queue go away for that.

  /**
   * Takes a round-trip time.
   *
   * @param confirms whether one that is about as short confirms the shortest. Beside the queue of a
   *     competing flow it does not: such round trips may all contain the flow's own part of it.
   */
  void sampleRtt(int rttUs, long nowUs, boolean confirms) {
    int limitUs = confirms ? minRttUs + RTT_TOLERANCE_US : minRttUs - RTT_TOLERANCE_US;
    if (minRttUs == 0 || rttUs <= limitUs) {
      minRttSeenAtUs = nowUs;
    }
    if (minRttUs == 0 || rttUs < minRttUs) {
      minRttUs = Math.max(rttUs, 1);
    }
  }

  /** The shortest round trip, in microseconds; 0 before the first one. */
  int minRttUs() {
    return minRttUs;
  }

  /** Whether it has not been seen for too long. */
  boolean isMinRttExpired(long nowUs) {
    return nowUs - minRttSeenAtUs > MAX_RTT_AGE_US;
  }

  /** Begins anew, with a round trip of which only the next ones will tell whether it is short. */
  void restartMinRtt(int rttUs, long nowUs) {
    minRttUs = rttUs;
    minRttSeenAtUs = nowUs;
  }

  // The aggregation of acknowledgements: KCP's peers acknowledge every 10 to 40 ms what has arrived
  // meanwhile. Without room for that in the window the path would run dry.

  /**
   * Bytes have been acknowledged.
   *
   * @param limitBytes more than this does not count
   */
  void acknowledged(int bytes, double limitBytes, long nowUs) {
    double expected = bandwidth() * (nowUs - aggregatedSinceUs) / US_PER_S;
    if (aggregatedBytes <= expected) {
      aggregatedSinceUs = nowUs;
      aggregatedBytes = 0;
      expected = 0;
    }
    aggregatedBytes += bytes;
    extraAcked.sample(Math.min(aggregatedBytes - expected, limitBytes), round);
  }

  /** A round begins. */
  void beginRound() {
    round++;
    extraAcked.advance(round);
  }

  /** How many more bytes are acknowledged at once than the bandwidth explains. */
  double extraAckedBytes() {
    return extraAcked.best();
  }
}
