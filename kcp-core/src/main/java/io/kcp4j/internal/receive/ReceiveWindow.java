package io.kcp4j.internal.receive;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.recovery.RttEstimator;
import io.kcp4j.internal.wire.Time;

/**
 * The receive window, which grows with the bandwidth-delay product of the path: protocol.md 3.4. A
 * limit of at most {@link KcpConfig#MAX_FIXED_WINDOW} segments is the window. Below a larger limit,
 * the window begins with {@link KcpConfig#INITIAL_WINDOW} segments.
 *
 * <p><b>Growth</b> is that of Chromium's QUIC ({@code QuicFlowController}): the window doubles when
 * the reader takes half of it in less than two round trips. So it is at least four bandwidth-delay
 * products in the end: one in flight, one that waits behind a loss, and room for the sender to
 * double its rate in each round trip. A slow reader, or a slow sender, does not make it grow.
 *
 * <p><b>Round trip.</b> A session that sends data knows it. One that only receives takes the time
 * from a flush that moves the end of the window to the arrival of the last segment before that end:
 * no peer can have sent it before it knew of the window. That is the estimate of Linux ({@code
 * tcp_rcv_rtt_measure}), after Dynamic Right-Sizing by Fisk and Feng. It is exact while the peer
 * waits for the window and too long otherwise, so the shortest time counts.
 */
final class ReceiveWindow {

  /** A longer time than that is not a round trip: the peer has little to send. */
  private static final int MAX_ROUND_TRIP_US = 1_000_000;

  /** For how long a round trip counts, since paths change: the period of {@link RttEstimator}. */
  private static final long MAX_AGE_US = 10_000_000;

  private int limit;
  private int segments;

  /** How far the reader had come when the current period began. */
  private int startSn;

  private long startedAtUs;

  private int roundTripUs = MAX_ROUND_TRIP_US;

  private long roundTripAtUs;

  /** The end of the window at {@link #advertisedAtUs}, or {@link Time#NO_DEADLINE}. */
  private int endSn;

  private long advertisedAtUs = Time.NO_DEADLINE;

  ReceiveWindow(KcpConfig config, int consumedSn, long nowUs) {
    configure(config);
    beginPeriod(consumedSn, nowUs);
  }

  /** Takes over a limit that may have changed. */
  void configure(KcpConfig config) {
    limit = config.receiveWindow();
    segments = Math.min(Math.max(segments, initial(limit)), limit);
  }

  /** The window, without what the reader has not taken. */
  int segments() {
    return segments;
  }

  /**
   * A flush begins, which advertises the window. It may grow before.
   *
   * @param consumedSn the next segment that the reader takes
   * @param next the next segment in order
   */
  void update(int consumedSn, int next, RttEstimator rtt, long nowUs) {
    if (segments >= limit) {
      return;
    }
    measureRoundTrip(next, rtt, nowUs);
    boolean isRecent = nowUs - startedAtUs < 2L * roundTripUs;
    if (consumedSn - startSn >= segments / 2) {
      if (isRecent) {
        segments = Math.min(2 * segments, limit);
      }
      beginPeriod(consumedSn, nowUs);
      if (advertisedAtUs == Time.NO_DEADLINE) {
        endSn = consumedSn + segments;
        advertisedAtUs = nowUs;
      }
    } else if (!isRecent) {
      beginPeriod(consumedSn, nowUs);
    }
  }

  private void beginPeriod(int consumedSn, long nowUs) {
    startSn = consumedSn;
    startedAtUs = nowUs;
  }

  private void measureRoundTrip(int next, RttEstimator rtt, long nowUs) {
    if (rtt.sampledAtUs() > roundTripAtUs) {
      setRoundTrip(rtt.srttUs(), rtt.sampledAtUs());
    }
    if (advertisedAtUs != Time.NO_DEADLINE && next - endSn >= 0) {
      long us = nowUs - advertisedAtUs;
      advertisedAtUs = Time.NO_DEADLINE;
      if (us < roundTripUs || nowUs - roundTripAtUs > MAX_AGE_US) {
        setRoundTrip(us, nowUs);
      }
    }
  }

  private void setRoundTrip(long us, long nowUs) {
    roundTripUs = (int) Math.min(us, MAX_ROUND_TRIP_US);
    roundTripAtUs = nowUs;
  }

  /** The window with which a session begins, below this limit; both in segments. */
  static int initial(int limit) {
    return limit <= KcpConfig.MAX_FIXED_WINDOW ? limit : KcpConfig.INITIAL_WINDOW;
  }
}
