package io.kcp4j.congestion;

/**
 * The shortest round trip, for the bandwidth-delay product. It has to be seen again from time to
 * time: the state {@code PROBE_RTT} makes the flow's own part of the queue go away for that.
 */
final class MinRtt {

  /** A round trip that is longer by no more confirms the shortest one: jitter. */
  private static final int TOLERANCE_US = 1_000;

  /** BBRv3's ProbeRTTInterval. */
  private static final long MAX_AGE_US = 5_000_000;

  private int us;
  private long seenAtUs;

  /**
   * A round-trip time.
   *
   * @param confirms whether one that is about as short confirms the shortest. Beside the queue of
   *     another sender it does not: such round trips may all contain the flow's own part of it.
   */
  void sample(int rttUs, long nowUs, boolean confirms) {
    int limitUs = confirms ? us + TOLERANCE_US : us - TOLERANCE_US;
    if (us == 0 || rttUs <= limitUs) {
      seenAtUs = nowUs;
    }
    if (us == 0 || rttUs < us) {
      us = Math.max(rttUs, 1);
    }
  }

  /** In microseconds; 0 before the first round trip. */
  int us() {
    return us;
  }

  /** Whether it has not been seen for too long. */
  boolean isExpired(long nowUs) {
    return nowUs - seenAtUs > MAX_AGE_US;
  }

  /** Begins anew, with a round trip of which only the next ones will tell whether it is short. */
  void restart(int rttUs, long nowUs) {
    us = rttUs;
    seenAtUs = nowUs;
  }
}
