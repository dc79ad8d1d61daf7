package io.kcp4j.internal.wire;

import io.kcp4j.KcpConfig;

/** How times are counted: in microseconds of a clock that never goes back. */
public final class Time {

  /** What stands for a time when there is nothing to wait for. */
  public static final long NO_DEADLINE = Long.MAX_VALUE;

  /** Timestamps on the wire and durations in {@link KcpConfig} count milliseconds. */
  public static final int US_PER_MS = 1_000;

  private Time() {}
}
