package io.kcp4j.lab;

/**
 * One run of the lab.
 *
 * @param traffic the messages, for workloads that have them
 * @param link both directions of the path
 * @param fromSeconds what is sent before is not measured
 * @param seconds how long data is sent
 */
record Cell(
    Workload workload,
    Variant variant,
    Traffic traffic,
    LinkSettings link,
    int fromSeconds,
    int seconds,
    long seed) {

  /** Until then, round-trip times are not known, and FEC may not know the ratio. */
  static final int DEFAULT_FROM_SECONDS = 1;

  Cell {
    if (fromSeconds >= seconds) {
      throw new IllegalArgumentException(
          "fromSeconds: " + fromSeconds + " (expected: < " + seconds + ")");
    }
  }
}
