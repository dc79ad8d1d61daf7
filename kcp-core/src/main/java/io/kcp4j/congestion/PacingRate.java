package io.kcp4j.congestion;

/**
 * Paces to the rate of a {@link CongestionControl}: a leaky bucket. What is sent fills it, and the
 * rate drains it. Datagrams may leave until it contains what the rate sends in a millisecond, the
 * resolution of the driver's timers, so that a millisecond's datagrams leave together; and at least
 * ten datagrams (RFC 9002 §7.7: the initial window), so that the flushes of a game are not delayed.
 */
final class PacingRate {

  private static final int AHEAD_US = 1_000;

  private static final int BURST_DATAGRAMS = 10;

  /** Units of a byte: what a rate of one byte per second drains in a microsecond. */
  private static final long BYTE = 1_000_000;

  /** An empty bucket stays empty, so longer times need no product. */
  private static final long MAX_DRAIN_US = 10_000_000;

  /** 800 Gbit/s: products of times and rates do not overflow. */
  private static final long MAX_BYTES_PER_SECOND = 100_000_000_000L;

  private long bytesPerSecond;
  private int datagramBytes;

  /** What the bucket may contain when a datagram leaves. */
  private long ahead;

  private long level;
  private long levelAtUs;
  private long chargedBytes;

  PacingRate(int datagramBytes) {
    this.datagramBytes = datagramBytes;
  }

  void datagramBytes(int datagramBytes) {
    this.datagramBytes = datagramBytes;
    update();
  }

  /** Sets the rate, which is positive. */
  void bytesPerSecond(long bytesPerSecond) {
    long limited = Math.min(bytesPerSecond, MAX_BYTES_PER_SECOND);
    if (limited != this.bytesPerSecond) {
      this.bytesPerSecond = limited;
      update();
    }
  }

  private void update() {
    ahead = Math.max(bytesPerSecond * AHEAD_US, BURST_DATAGRAMS * BYTE * datagramBytes);
  }

  private void drain(long nowUs) {
    long us = Math.min(nowUs - levelAtUs, MAX_DRAIN_US);
    if (us > 0) {
      level = us < MAX_DRAIN_US ? Math.max(level - us * bytesPerSecond, 0) : 0;
      levelAtUs = nowUs;
    }
  }

  /** Whether another datagram may leave. */
  boolean isOpen(long nowUs) {
    drain(nowUs);
    return level < ahead;
  }

  /** Whether so many bytes may leave together. */
  boolean hasRoom(int bytes, long nowUs) {
    drain(nowUs);
    return level + bytes * BYTE <= ahead;
  }

  /** How many datagrams may leave together as of the last {@link #isOpen}, which was true. */
  int room() {
    long datagram = BYTE * datagramBytes;
    return (int) Math.min((ahead - level + datagram - 1) / datagram, Integer.MAX_VALUE);
  }

  /** From when on another datagram may leave, in microseconds. */
  long opensAtUs() {
    return level < ahead ? levelAtUs : levelAtUs + (level - ahead) / bytesPerSecond + 1;
  }

  void charge(int bytes, long nowUs) {
    drain(nowUs);
    level += bytes * BYTE;
    chargedBytes += bytes;
  }

  /** The bytes charged in all. */
  long chargedBytes() {
    return chargedBytes;
  }
}
