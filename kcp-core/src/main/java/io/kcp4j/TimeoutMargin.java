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

  /** The transmissions of the session when the margin changed last. */
  private int changedAt;

  /** The segments that have to follow until there were not too many spurious timeouts. */
  private int excess;

  /** The transmissions of the session at the last one. */
  private int transmissionsBefore;

  TimeoutMargin(Redundancy redundancy) {
    this.redundancy = redundancy;
  }

  /** The margin after so many transmissions of the session, in microseconds. */
  int us(int transmissions) {
    if (us > MIN_US && transmissions - changedAt >= QUIET_SEGMENTS) {
      shrink(transmissions);
    }
    return us;
  }

  private void shrink(int transmissions) {
    us = Math.max(us - us / 8, MIN_US);
    changedAt = transmissions;
  }

  /** A timeout was spurious, after so many transmissions of the session. */
  void spurious(int transmissions) {
    excess = excess(transmissions) + SEGMENTS;
    transmissionsBefore = transmissions;
    if (redundancy.isMostlySpurious() || excess > 2 * SEGMENTS) {
      us = Math.min(2 * us, MAX_US);
    }
    changedAt = transmissions;
  }

  /** A retransmission was needed, after so many transmissions of the session. */
  void needed(int transmissions) {
    if (!redundancy.isMostlySpurious() && excess(transmissions) < SEGMENTS) {
      shrink(transmissions);
    }
  }

  private int excess(int transmissions) {
    return Math.max(excess - (transmissions - transmissionsBefore), 0);
  }
}
