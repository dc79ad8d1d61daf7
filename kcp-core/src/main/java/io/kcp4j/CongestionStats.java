package io.kcp4j;

import io.kcp4j.congestion.BbrState;
import io.kcp4j.congestion.CongestionControl;

/**
 * What the congestion control of a session knows and does at one moment.
 *
 * @param state what it does: for {@link CongestionControl#BBR} the name of a {@link BbrState};
 *     empty for controls without states
 * @param pacingBytesPerSecond the rate at which it lets datagrams leave, or 0 for no limit
 * @param bandwidthBytesPerSecond the bandwidth of the path as it has measured it, in bytes of
 *     segments, or 0
 * @param queueUs how long datagrams wait in the queue of the path, in microseconds, or 0 if it does
 *     not measure that
 * @param isApplicationLimited whether the application has less to send than the path would take;
 *     always false without a congestion control
 */
public record CongestionStats(
    String state,
    long pacingBytesPerSecond,
    long bandwidthBytesPerSecond,
    int queueUs,
    boolean isApplicationLimited) {

  /** Those of a session without congestion control. */
  public static final CongestionStats NONE = new CongestionStats("", 0, 0, 0, false);

  static CongestionStats of(CongestionControl control, boolean isApplicationLimited) {
    return new CongestionStats(
        control.state(),
        control.pacingBytesPerSecond(),
        control.bandwidthBytesPerSecond(),
        control.queueUs(),
        isApplicationLimited);
  }
}
