package io.kcp4j.congestion;

import io.kcp4j.Unstable;

/**
 * Pacing: when the datagrams of a session may leave.
 *
 * <p>{@link RateLimit} holds the session to its rate limit, and {@link PacingRate} to the rate of
 * its {@link CongestionControl}.
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
 * <p>Used by {@link io.kcp4j.Kcp} alone, on its thread. Times are in microseconds of the session's
 * clock.
 */
@Unstable
public final class Pacer {

  /** One burst may leave in so many microseconds. */
  private static final int BURST_US = 1_000;

  /** How much later than acknowledgements the flush of their batch may be. */
  private static final int CREDIT_US = 100_000;

  /** Null while there is no rate limit. */
  private RateLimit limit;

  /** Null while the congestion control has no rate. */
  private PacingRate control;

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
      control = new PacingRate(datagramBytes);
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
}
