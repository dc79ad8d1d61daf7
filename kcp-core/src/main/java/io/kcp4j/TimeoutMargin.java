package io.kcp4j;

/**
 * By how much a probe timeout exceeds the time that acknowledgements take (protocol.md 4.10). It
 * grows while spurious timeouts are too many: more than needed ones, as on a path without losses
 * between busy hosts, or more than one for so many segments, as where ACKs are lost in bursts. It
 * shrinks with needed ones, and while none is spurious.
 */
final class TimeoutMargin {

  /** The resolution of timestamps and timers. */
  static final int MIN_US = 1_000;

  /** KCP's smallest timeout with no-delay. */
  private static final int MAX_US = 30_000;

  /** One spurious timeout for so many segments is not too many. */
  private static final int SEGMENTS = 144;

  /** The margin shrinks after so many segments without a spurious timeout. */
  private static final int QUIET_SEGMENTS = 2 * SEGMENTS;

  private final Redundancy redundancy;

  private int us = MIN_US;

  /** The segments that have to follow until there were not too many spurious timeouts. */
  private int excess;

  /** The transmissions of the session until now, and when the margin changed last. */
  private int transmissions;

  private int changedAt;

  TimeoutMargin(Redundancy redundancy) {
    this.redundancy = redundancy;
  }

  /** The margin, in microseconds. */
  int us() {
    return us;
  }

  /** The session has transmitted so many segments until now. */
  void transmitted(int transmissions) {
    excess = Math.max(excess - (transmissions - this.transmissions), 0);
    this.transmissions = transmissions;
    if (transmissions - changedAt >= QUIET_SEGMENTS) {
      shrink();
    }
  }

  private void shrink() {
    us = Math.max(us - us / 8, MIN_US);
    changedAt = transmissions;
  }

  /** A timeout was spurious. */
  void spurious() {
    excess += SEGMENTS;
    if (redundancy.isMostlySpurious() || excess > 2 * SEGMENTS) {
      us = Math.min(2 * us, MAX_US);
    }
    changedAt = transmissions;
  }

  /** A retransmission was needed. */
  void needed() {
    if (!redundancy.isMostlySpurious() && excess < SEGMENTS) {
      shrink();
    }
  }
}
