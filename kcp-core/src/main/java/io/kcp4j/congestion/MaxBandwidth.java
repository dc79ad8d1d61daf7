package io.kcp4j.congestion;

/**
 * The bandwidth of the path: the highest delivery rate of the last two cycles of probing. Queues
 * and losses bound it, until the path is probed again.
 */
final class MaxBandwidth {

  /** The highest rates of this cycle and of the last one. */
  private final WindowedFilter rates = WindowedFilter.maximum(1);

  private int cycle;
  private double bound = Double.POSITIVE_INFINITY;
  private boolean isMeasured;

  /**
   * A delivery rate.
   *
   * @param bytesPerSecond in bytes per second, or 0
   * @param isApplicationLimited whether the path may have delivered more; then it only counts if it
   *     is higher than the others
   */
  void sample(double bytesPerSecond, boolean isApplicationLimited) {
    if (!isApplicationLimited || bytesPerSecond > max()) {
      rates.sample(bytesPerSecond, cycle);
    }
    isMeasured |= !isApplicationLimited && bytesPerSecond > 0;
  }

  /** Whether there was a rate for which the path was the limit, not the application. */
  boolean isMeasured() {
    return isMeasured;
  }

  /** The measured rates may be less than the path delivers: the peer has had no room. */
  void limitedByPeer() {
    isMeasured = false;
  }

  /** A cycle begins: what was measured before the last one is forgotten. */
  void beginCycle() {
    cycle++;
    rates.advance(cycle);
  }

  /** The highest rate, whatever its bound; 0 before the first sample. */
  double max() {
    return rates.best();
  }

  /** The bandwidth, in bytes per second. */
  double bytesPerSecond() {
    return Math.min(max(), bound);
  }

  /** There is no more than this at present. */
  void bound(double bytesPerSecond) {
    bound = Math.min(bound, bytesPerSecond);
  }

  /** There may be more again. */
  void unbound() {
    bound = Double.POSITIVE_INFINITY;
  }
}
