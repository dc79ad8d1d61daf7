package io.kcp4j.internal.recovery;

import io.kcp4j.AckSample;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.wire.Time;

/**
 * RTT estimator: round-trip time and retransmission timeout after RFC 6298, in microseconds, with
 * two of kcp-go's refinements: a sample far below the expected range widens the variation only a
 * little, and the flush interval is part of every round trip: protocol.md 4.2 and 4.3. With loss
 * detection by time, {@link RackDetector} sets timeouts of its own (4.10).
 */
public final class RttEstimator {

  /** The reference's IKCP_RTO_MAX. */
  static final int MAX_RTO_US = 60_000_000;

  /** The reference's IKCP_RTO_DEF: before the first sample. */
  private static final int INITIAL_RTO_US = 200_000;

  /** The reference's IKCP_RTO_MIN and IKCP_RTO_NDL. */
  private static final int MIN_RTO_US = 100_000;

  private static final int MIN_RTO_NO_DELAY_US = 30_000;

  /** While the process stops more often than this, its delays are part of round trips. */
  private static final long STOP_DISTANCE_US = 1_000_000;

  /** A session that writes less often than this has few samples. */
  private static final long FRESH_US = 500_000;

  /** RFC 8985 §5.1 asks for a windowed minimum. The period is that of BBR. */
  private static final int MIN_RTT_PERIOD_US = 10_000_000;

  /** Before all times, and far enough from them for a difference. */
  public static final long NEVER = Long.MIN_VALUE / 2;

  private int srttUs;
  private int rttVarUs;
  private int minRtoUs;
  private int intervalUs;

  private final WindowedFilter minRtt = WindowedFilter.minimum(MIN_RTT_PERIOD_US);

  /** When the last sample was taken, or {@link #NEVER}. */
  private long sampledAtUs = NEVER;

  /** When this process went on after it was stopped last. */
  private long stoppedUntilUs = NEVER;

  /** The shortest time that the ACKs of the datagram have shown that is taken in. */
  private int notedUs = AckSample.NO_RTT;

  /** Takes over limits that may have changed. */
  public void configure(KcpConfig config) {
    minRtoUs = config.noDelay() ? MIN_RTO_NO_DELAY_US : MIN_RTO_US;
    intervalUs = config.intervalMs() * Time.US_PER_MS;
  }

  public boolean hasSample() {
    return sampledAtUs != NEVER;
  }

  public int srttUs() {
    return srttUs;
  }

  public int rttVarUs() {
    return rttVarUs;
  }

  /** When the last sample was taken; long ago before the first. */
  public long sampledAtUs() {
    return sampledAtUs;
  }

  /** Whether the last sample is so old that the path may have changed since. */
  public boolean isStale(long nowUs) {
    return hasSample() && nowUs - sampledAtUs >= FRESH_US;
  }

  /** The least round-trip time of the last ten to twenty seconds; 0 before the first sample. */
  public int minRttUs() {
    double us = minRtt.best();
    return us == Double.POSITIVE_INFINITY ? 0 : (int) us;
  }

  int rtoUs() {
    int rto = hasSample() ? srttUs + Math.max(intervalUs, 4 * rttVarUs) : INITIAL_RTO_US;
    return Math.min(Math.max(rto, minRtoUs), MAX_RTO_US);
  }

  /**
   * This process has been stopped until now, as by a pause of the JVM or of its host: ACKs of what
   * it had sent before may have waited in the buffer of the socket. A first sample that is too long
   * is better than none.
   *
   * @param lateUs by how much it is late
   */
  public void onResumed(long lateUs, long nowUs) {
    boolean isLong = hasSample() && lateUs >= srttUs / 4;
    if (isLong && nowUs - stoppedUntilUs >= Math.max(STOP_DISTANCE_US, 4L * srttUs)) {
      stoppedUntilUs = nowUs;
    }
  }

  /** Whether the ACK of a transmission may have waited in the buffer of the socket. */
  boolean isSentBeforeStop(long sentAtUs) {
    return sentAtUs < stoppedUntilUs;
  }

  /** An ACK of a datagram shows this round-trip time. */
  public void note(int rttUs, long nowUs) {
    if (!isSentBeforeStop(nowUs - rttUs)) {
      notedUs = notedUs < 0 ? rttUs : Math.min(rttUs, notedUs);
    }
  }

  /**
   * A datagram ends: the shortest time that its ACKs have shown is a sample.
   *
   * @param isSample false to take none
   * @return the sample, or {@link AckSample#NO_RTT}
   */
  public int endDatagram(boolean isSample, long nowUs) {
    int us = isSample ? notedUs : AckSample.NO_RTT;
    notedUs = AckSample.NO_RTT;
    if (us >= 0) {
      sample(us, nowUs);
    }
    return us;
  }

  /**
   * The answer to a probe shows this round-trip time. While segments give samples, it is none. Else
   * it is the only one of a second, and those before say little about the path: it replaces them.
   */
  public void sampleProbe(long probeUs, long nowUs) {
    if (isStale(nowUs) && !isSentBeforeStop(nowUs - probeUs)) {
      int rttUs = (int) Math.min(probeUs, MAX_RTO_US);
      rttVarUs += (Math.abs(rttUs - srttUs) - rttVarUs) / 2;
      srttUs = rttUs;
      sampledAtUs = nowUs;
    }
  }

  void sample(int rttUs, long nowUs) {
    if (!hasSample()) {
      srttUs = rttUs;
      rttVarUs = rttUs / 2;
    } else {
      int delta = rttUs - srttUs;
      srttUs += delta >> 3;
      int distance = Math.abs(delta);
      boolean farBelow = rttUs < srttUs - rttVarUs;
      rttVarUs += (distance - rttVarUs) >> (farBelow ? 5 : 2);
    }
    sampledAtUs = nowUs;
  }

  /** A round trip that may be the least. */
  void sampleMinRtt(int rttUs, long nowUs) {
    minRtt.sample(rttUs, nowUs);
  }

  /** The timeout after {@code segmentRtoUs} has passed without an acknowledgement. */
  int backOff(int segmentRtoUs, boolean noDelay) {
    return Math.min(segmentRtoUs + (noDelay ? (segmentRtoUs + 1) / 2 : segmentRtoUs), MAX_RTO_US);
  }
}
