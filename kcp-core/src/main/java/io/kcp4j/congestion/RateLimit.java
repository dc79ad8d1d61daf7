package io.kcp4j.congestion;

/**
 * Holds a session to its rate limit, by the virtual scheduling algorithm of ITU-T I.371, which
 * needs only the time at which everything sent so far would have left at exactly that rate. Sending
 * may be two intervals ahead of it, so that a flush at the end of each interval keeps to the rate.
 *
 * <p>Datagrams that do not wait for the {@link Pacer} are a debt, which idle time pays, and the
 * datagrams that wait: each of those costs up to eight times its bytes. So they share the rate
 * limit, and an eighth of it is always left to what waits. The debt is at most what the rate limit
 * allows in a second.
 */
final class RateLimit {

  private static final int INTERVALS_AHEAD = 2;

  /** How many bytes of the debt are paid by each byte that has waited for the pacer. */
  private static final int DEBT_SHARE = 7;

  private static final int MAX_DEBT_US = 1_000_000;

  private final int bytesPerSecond;
  private int aheadUs;
  private long leftAtUs;

  /** The time that datagrams that did not wait take at the rate limit, and that is not paid yet. */
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

  /** Whether so many bytes may leave at once. */
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
