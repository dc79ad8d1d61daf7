package io.kcp4j.internal.recovery;

/**
 * A windowed minimum or maximum: the best value of this period and of the one before, so of the
 * last one to two periods. The filter of draft-ietf-ccwg-bbr and of Linux (Kathleen Nichols' {@code
 * win_minmax}) keeps three values and forgets after exactly a period; two are enough where up to
 * twice the period does no harm.
 *
 * <p>Time counts in any unit that fits the period: microseconds, or rounds of a congestion control.
 * It never goes back. Values are not negative.
 */
public final class WindowedFilter {

  private final boolean isMinimum;
  private final int period;

  private double best;
  private double bestBefore;
  private long periodEndsAt;

  private WindowedFilter(boolean isMinimum, int period, long periodEndsAt) {
    this.isMinimum = isMinimum;
    this.period = period;
    this.periodEndsAt = periodEndsAt;
    best = none();
    bestBefore = none();
  }

  /** A minimum over time, whose first period begins with the first value. */
  public static WindowedFilter minimum(int periodUs) {
    return new WindowedFilter(true, periodUs, 0);
  }

  /** A maximum over rounds, whose first period begins with round 0. */
  public static WindowedFilter maximum(int periodRounds) {
    return new WindowedFilter(false, periodRounds, periodRounds);
  }

  private double none() {
    return isMinimum ? Double.POSITIVE_INFINITY : 0;
  }

  private double better(double one, double other) {
    return isMinimum ? Math.min(one, other) : Math.max(one, other);
  }

  /** Takes a value. */
  public void sample(double value, long now) {
    advance(now);
    best = better(best, value);
  }

  /** Forgets what is too old. */
  public void advance(long now) {
    if (now >= periodEndsAt) {
      bestBefore = isExpired(now) ? none() : best;
      best = none();
      periodEndsAt = now + period;
    }
  }

  /** Whether all values are too old. */
  public boolean isExpired(long now) {
    return now - periodEndsAt >= period;
  }

  /** The minimum, infinite if there is no value; or the maximum, 0 if there is none. */
  public double best() {
    return better(best, bestBefore);
  }
}
