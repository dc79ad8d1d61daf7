package io.kcp4j.congestion;

/**
 * The bandwidth of the path: the highest delivery rate of the last two cycles of probing. Queues
 * and losses bound it, until the path is probed again.
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

  /** The highest rate, whatever its bound; 0 before the first sample. */
  double max() {
    return Math.max(latest, before);
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
