package io.kcp4j.internal.congestion;

import io.kcp4j.CongestionControl;

/**
 * Pacing: when the datagrams of a session may leave.
 *
 * <p>Two rates apply: the rate limit of the session, and the rate of its {@link CongestionControl}.
 *
 * <p>Acknowledgements and unreliable datagrams do not wait for the pacer. They count against the
 * rate limit, but not against the rate of the congestion control, which is one for what waits (RFC
 * 9002 §7.7): otherwise those that exceed a low rate would keep all else waiting.
 *
 * <p>The pacer also limits bursts, which may exceed the receiver's socket buffer or the queue of a
 * slow link: in a millisecond one burst may leave, and one more datagram for each segment that the
 * peer has acknowledged meanwhile, which is no longer on the path. So acknowledgements clock
 * transmissions, and the number in flight can still grow.
 *
 * <p>Used by {@link io.kcp4j.internal.arq.Kcp} alone, on its thread. Times are in microseconds of
 * the session's clock.
 */
public final class Pacer {

  /** One burst may leave in this time. */
  private static final int BURST_US = 1_000;

  /** How much later than acknowledgements the flush of their batch may be. */
  private static final int CREDIT_US = 100_000;

  /** Null while there is no rate limit. */
  private RateLimit limit;

  /** Null while the congestion control has no rate. */
  private ControlRate control;

  private int datagramBytes;

  private int burst;
  private int allowance;

  /** When the millisecond of the burst began. */
  private long burstAtUs = Long.MIN_VALUE / 2;

  /**
   * What was acknowledged since {@link #burstAtUs}, and has not been followed by a datagram yet.
   */
  private int credit;

  /**
   * Takes over settings that may have changed.
   *
   * @param bytesPerSecond the rate limit, or 0 for none
   * @param intervalMs the flush interval, in milliseconds
   * @param maxBurst the most datagrams of a burst, or 0 for no limit
   * @param mtuBytes the size of the largest datagram
   */
  public void configure(int bytesPerSecond, int intervalMs, int maxBurst, int mtuBytes) {
    if (bytesPerSecond == 0) {
      limit = null;
    } else {
      if (limit == null || limit.bytesPerSecond() != bytesPerSecond) {
        limit = new RateLimit(bytesPerSecond);
      }
      limit.intervalMs(intervalMs);
    }
    burst = maxBurst;
    datagramBytes = mtuBytes;
    if (control != null) {
      control.datagramBytes(mtuBytes);
    }
  }

  /** Sets the rate of the congestion control, in bytes per second, or 0 for none. */
  public void controlRate(long bytesPerSecond) {
    if (bytesPerSecond == 0) {
      control = null;
      return;
    }
    if (control == null) {
      control = new ControlRate(datagramBytes);
    }
    control.bytesPerSecond(bytesPerSecond);
  }

  /** Whether another datagram may leave. */
  public boolean isOpen(long nowUs) {
    return (limit == null || limit.isOpen(nowUs))
        && (control == null || control.isOpen(nowUs))
        && !isBurstSpent(nowUs);
  }

  /** How many datagrams may leave before {@link #isOpen}, which holds, is called again. */
  public int room() {
    if (limit != null) {
      return 1;
    }
    int room = burst == 0 ? Integer.MAX_VALUE : allowance;
    return control == null ? room : Math.min(room, control.room());
  }

  /**
   * Returns into how many datagrams a flush may be split: 0 if the rates do not let all of its
   * bytes leave at once.
   */
  public int roomForFlush(int bytes, long nowUs) {
    renew(nowUs);
    boolean isTooMuch =
        (limit != null && !limit.hasRoom(bytes, nowUs))
            || (control != null && !control.hasRoom(bytes, nowUs));
    if (isTooMuch) {
      return 0;
    }
    return burst == 0 ? Integer.MAX_VALUE : Math.max(allowance, 0);
  }

  /**
   * Whether what waits may leave as soon as the pacer opens, and not only at the end of the
   * interval: the burst is spent, or the rate of the congestion control holds it back.
   */
  public boolean isDeferring(long nowUs) {
    renew(nowUs);
    return isBurstSpent() || (control != null && !control.isOpen(nowUs));
  }

  /** Whether the burst is spent: datagrams wait for the next millisecond or acknowledgement. */
  boolean isBurstSpent(long nowUs) {
    renew(nowUs);
    return isBurstSpent();
  }

  private boolean isBurstSpent() {
    return burst > 0 && allowance <= 0;
  }

  /** From when on another datagram may leave, in microseconds; any time in the past if it may. */
  public long opensAtUs() {
    long opensAtUs = limit == null ? 0 : limit.opensAtUs();
    if (control != null) {
      opensAtUs = Math.max(opensAtUs, control.opensAtUs());
    }
    return isBurstSpent() ? Math.max(opensAtUs, burstAtUs + BURST_US) : opensAtUs;
  }

  /** Begins a burst. Acknowledgements count even if handlers took until the next millisecond. */
  private void renew(long nowUs) {
    if (isBurstOver(nowUs)) {
      long atUs = nowUs - Math.floorMod(nowUs, BURST_US);
      allowance = burst + (atUs - burstAtUs <= CREDIT_US ? credit : 0);
      burstAtUs = atUs;
      credit = 0;
    }
  }

  private boolean isBurstOver(long nowUs) {
    return nowUs - burstAtUs >= BURST_US;
  }

  /** Segments have been acknowledged, and so have left the path. */
  public void acknowledged(int segments, long nowUs) {
    if (isBurstOver(nowUs)) {
      credit = 0;
    }
    renew(nowUs);
    allowance += segments;
    credit += segments;
  }

  /** Counts datagrams that begin. */
  public void begin(int datagrams, long nowUs) {
    renew(nowUs);
    allowance -= datagrams;
    credit = 0;
  }

  /** Counts {@code bytes} that have been sent against the rates. */
  public void charge(int bytes, long nowUs) {
    if (limit != null) {
      limit.charge(bytes, nowUs);
    }
    if (control != null) {
      control.charge(bytes, nowUs);
    }
  }

  /** Counts {@code bytes} of datagrams that do not wait for the pacer against the rate limit. */
  public void chargeUnpaced(int bytes, long nowUs) {
    if (limit != null) {
      limit.chargeUnpaced(bytes, nowUs);
    }
  }

  /** The bytes charged in all while the congestion control had a rate. */
  public long chargedBytes() {
    return control == null ? 0 : control.chargedBytes();
  }

  /**
   * Holds a session to its rate limit, by the virtual scheduling algorithm of ITU-T I.371, which
   * needs only the time at which everything sent so far would have left at exactly that rate.
   * Sending may be two intervals ahead of it, so that a flush at the end of each interval keeps to
   * the rate.
   *
   * <p>Datagrams that do not wait for the pacer are a debt, which idle time pays, and the datagrams
   * that wait: each of those costs up to eight times its bytes. So they share the rate limit, and
   * an eighth of it is always left to what waits. The debt is at most what the rate limit allows in
   * a second.
   */
  private static final class RateLimit {

    private static final int INTERVALS_AHEAD = 2;

    /** How many bytes of the debt are paid by each byte that has waited for the pacer. */
    private static final int DEBT_SHARE = 7;

    private static final int MAX_DEBT_US = 1_000_000;

    private final int bytesPerSecond;
    private int aheadUs;
    private long leftAtUs;

    /**
     * The time that datagrams that did not wait take at the rate limit, and that is not paid yet.
     */
    private long debtUs;

    RateLimit(int bytesPerSecond) {
      this.bytesPerSecond = bytesPerSecond;
    }

    int bytesPerSecond() {
      return bytesPerSecond;
    }

    /** Sets the flush interval, in milliseconds. */
    void intervalMs(int ms) {
      aheadUs = 1_000 * INTERVALS_AHEAD * ms;
    }

    /** Whether another datagram may leave. */
    boolean isOpen(long nowUs) {
      return leftAtUs <= nowUs + aheadUs;
    }

    /** From when on another datagram may leave, in microseconds; any time in the past if it may. */
    long opensAtUs() {
      return leftAtUs - aheadUs;
    }

    /** Whether {@code bytes} may leave at once. */
    boolean hasRoom(int bytes, long nowUs) {
      passIdleTime(nowUs);
      long atLimitUs = atLimitUs(bytes);
      return leftAtUs + atLimitUs + paidUs(atLimitUs) <= nowUs + aheadUs;
    }

    /** Counts {@code bytes} that have been sent. */
    void charge(int bytes, long nowUs) {
      passIdleTime(nowUs);
      long atLimitUs = atLimitUs(bytes);
      long paidUs = paidUs(atLimitUs);
      debtUs -= paidUs;
      leftAtUs += atLimitUs + paidUs;
    }

    /** Counts {@code bytes} of datagrams that do not wait for the pacer. */
    void chargeUnpaced(int bytes, long nowUs) {
      passIdleTime(nowUs);
      debtUs = Math.min(debtUs + atLimitUs(bytes), MAX_DEBT_US);
    }

    private long atLimitUs(int bytes) {
      return bytes * 1_000_000L / bytesPerSecond;
    }

    /** How much of the debt is paid by datagrams that take {@code atLimitUs} at the rate limit. */
    private long paidUs(long atLimitUs) {
      return Math.min(debtUs, DEBT_SHARE * atLimitUs);
    }

    /** The time in which nothing was left to be sent pays the debt. */
    private void passIdleTime(long nowUs) {
      if (leftAtUs < nowUs) {
        debtUs = Math.max(debtUs - (nowUs - leftAtUs), 0);
        leftAtUs = nowUs;
      }
    }
  }

  /**
   * Paces to the rate of a {@link CongestionControl}: a leaky bucket. What is sent fills it, and
   * the rate drains it. Datagrams may leave until it contains what the rate sends in a millisecond,
   * the resolution of the driver's timers, so that a millisecond's datagrams leave together; and at
   * least ten datagrams (RFC 9002 §7.7: the initial window), so that the flushes of a game are not
   * delayed.
   */
  private static final class ControlRate {

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

    ControlRate(int datagramBytes) {
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

    /** Whether {@code bytes} may leave together. */
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
}
