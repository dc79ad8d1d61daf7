package io.kcp4j.lab;

/**
 * A rate limit and the drop-tail queue before it, to the nanosecond. Several links may share one.
 */
final class Bottleneck {

  /** What {@link #admit} returns for a datagram for which the queue has no room. */
  static final long DROPPED = -1;

  private static final int NS_PER_US = 1_000;

  /** Null for no limit. */
  private final RateSchedule rates;

  private final int queueBytes;

  /** When the last bit of all that was admitted leaves. */
  private long freeAtNs;

  private boolean isMeasuring;
  private Latencies waits = new Latencies();
  private long offered;
  private long dropped;

  /**
   * Makes a bottleneck.
   *
   * @param queueBytes how much may wait, the datagram that is leaving included
   */
  Bottleneck(RateSchedule rates, int queueBytes) {
    this.rates = rates;
    this.queueBytes = queueBytes;
  }

  /** That of one link. */
  static Bottleneck of(LinkSettings settings) {
    long bitsPerSecond = settings.bitsPerSecond();
    RateSchedule rates = bitsPerSecond == 0 ? null : RateSchedule.constant(bitsPerSecond);
    return new Bottleneck(rates, settings.queueBytes());
  }

  /**
   * Puts a datagram into the queue.
   *
   * @param sizeOnLink its size with the headers of IP
   * @return when its last bit leaves, rounded up to microseconds, or {@link #DROPPED}
   */
  long admit(int sizeOnLink, long nowUs) {
    if (rates == null) {
      return nowUs;
    }
    offered++;
    long nowNs = nowUs * NS_PER_US;
    long beginsAtNs = Math.max(nowNs, freeAtNs);
    if (rates.bytesBetween(nowNs, beginsAtNs) + sizeOnLink > queueBytes) {
      dropped++;
      return DROPPED;
    }
    if (isMeasuring) {
      waits.add((beginsAtNs - nowNs) / NS_PER_US);
    }
    freeAtNs = rates.endsAtNs(beginsAtNs, sizeOnLink);
    return -Math.floorDiv(-freeAtNs, NS_PER_US);
  }

  /** How long a datagram would wait now, in microseconds. */
  long waitUs(long nowUs) {
    return Math.max(freeAtNs / NS_PER_US - nowUs, 0);
  }

  /** Begins to measure how long datagrams wait. */
  void measureWaits() {
    isMeasuring = true;
    waits = new Latencies();
  }

  /** How long datagrams have waited since {@link #measureWaits}. */
  Latencies waits() {
    return waits;
  }

  /** The datagrams that came to a limit. */
  long offered() {
    return offered;
  }

  /** Those for which the queue had no room. */
  long dropped() {
    return dropped;
  }
}
