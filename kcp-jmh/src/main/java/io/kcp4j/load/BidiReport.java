package io.kcp4j.load;

import java.util.concurrent.TimeUnit;

/**
 * The round trips of the first second of a bidirectional call, and those of the time after it, each
 * since the previous mark.
 */
final class BidiReport implements LoadReport {

  private static final long FIRST_NS = TimeUnit.SECONDS.toNanos(1);

  private final RoundTripHistogram first = new RoundTripHistogram();
  private final RoundTripHistogram later = new RoundTripHistogram();
  private long beganAtNs;

  /** Adds a message that was sent at {@code sentAtNs}, and whose echo arrives now. */
  synchronized void add(long sentAtNs) {
    long nowNs = System.nanoTime();
    if (beganAtNs == 0) {
      beganAtNs = sentAtNs;
    }
    (nowNs - beganAtNs < FIRST_NS ? first : later).add(nowNs - sentAtNs);
  }

  /** With the time since the first second. */
  @Override
  public synchronized String toJson() {
    long laterNs = beganAtNs == 0 ? 0 : System.nanoTime() - beganAtNs - FIRST_NS;
    return "{\"first_second\":"
        + first.toJson()
        + ",\"later\":"
        + later.toJson()
        + ",\"later_ns\":"
        + Math.max(laterNs, 0)
        + "}";
  }
}
