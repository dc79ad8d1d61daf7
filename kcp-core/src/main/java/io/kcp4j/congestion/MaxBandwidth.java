package io.kcp4j.congestion;

/**
 * The bandwidth of the path: the highest delivery rate of the last two cycles of probing. A lower
 * bound that queues teach holds until the path is probed again.
 */
final class MaxBandwidth {

  private double latest;
  private double before;
  private double bound = Double.POSITIVE_INFINITY;

  /** A delivery rate, in bytes per second. */
  void sample(double bytesPerSecond) {
    latest = Math.max(latest, bytesPerSecond);
  }

  /** A cycle begins: what was measured before the last one is forgotten. */
  void beginCycle() {
    before = latest;
    latest = 0;
  }

  /** The highest rate, whatever the bound. */
  double max() {
    return Math.max(latest, before);
  }

  /** The bandwidth in bytes per second, or 0 before the first sample. */
  double bytesPerSecond() {
    return Math.min(max(), bound);
  }

  /** A queue has shown that there is no more than this. */
  void bound(double bytesPerSecond) {
    bound = Math.min(bound, bytesPerSecond);
  }

  /** The path is about to be probed. */
  void unbound() {
    bound = Double.POSITIVE_INFINITY;
  }

  /** Lowers what has been measured. */
  void scale(double factor) {
    latest *= factor;
    before *= factor;
  }
}
