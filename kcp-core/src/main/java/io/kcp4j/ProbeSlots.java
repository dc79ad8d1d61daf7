package io.kcp4j;

/** Limits the rate of outage probes of all sessions of a thread, in the order of their requests. */
final class ProbeSlots {

  /** A probe of 100 bytes each millisecond is at most 0.8 Mbit/s of a dead network. */
  private static final int DISTANCE_US = 1_000;

  private long nextAtUs = Long.MIN_VALUE;

  /** Reserves a probe, and returns when it may leave: {@code wantedAtUs} or later. */
  long reserve(long wantedAtUs) {
    long atUs = Math.max(wantedAtUs, nextAtUs);
    nextAtUs = atUs + DISTANCE_US;
    return atUs;
  }
}
