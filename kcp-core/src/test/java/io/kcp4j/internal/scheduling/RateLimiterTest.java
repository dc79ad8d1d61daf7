package io.kcp4j.internal.scheduling;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link RateLimiter}: its rate, its burst, and what it owes. */
class RateLimiterTest {

  private final RateLimiter limiter = new RateLimiter(100, 10);

  private int takeAll(long nowUs) {
    int taken = 0;
    while (limiter.tryTake(nowUs)) {
      taken++;
    }
    return taken;
  }

  @Test
  void fullBucketHasItsSize() {
    assertEquals(10, takeAll(-5));
    assertFalse(limiter.hasToken(-5));
  }

  @Test
  void bucketFillsAtItsRate() {
    takeAll(0);
    assertEquals(0, takeAll(9_000));
    assertEquals(1, takeAll(10_000));
    assertEquals(5, takeAll(60_000));
    assertEquals(10, takeAll(10_000_000));
  }

  @Test
  void highRatesAreExact() {
    RateLimiter fast = new RateLimiter(600_000, 1_000);
    int taken = 0;
    for (int nowUs = 0; nowUs < 1_000_000; nowUs += 100) {
      while (fast.tryTake(nowUs)) {
        taken++;
      }
    }
    assertEquals(601_000, taken, 1_000);
  }

  @Test
  void tokenThatIsTakenFromAnEmptyBucketIsOwed() {
    takeAll(0);
    limiter.take(0);
    assertEquals(0, takeAll(10_000));
    assertEquals(1, takeAll(20_000));
  }

  @Test
  void noMoreIsOwedThanABucketHolds() {
    takeAll(0);
    for (int i = 0; i < 10; i++) {
      assertTrue(limiter.takeOrOwe(0));
    }
    assertFalse(limiter.takeOrOwe(0), "nothing was taken");
    assertEquals(0, takeAll(100_000));
    assertEquals(1, takeAll(110_000));
  }

  @Test
  void tokenThatIsGivenBackCanBeTakenAgain() {
    takeAll(0);
    limiter.giveBack();
    assertEquals(1, takeAll(0));
  }

  @Test
  void tokensAreReservedAtTheirTimes() {
    RateLimiter empty = new RateLimiter(100, 3, 1_000_000);
    assertFalse(empty.hasToken(1_000_000));
    assertEquals(1_010_000, empty.reserve(1_000_000, 9_000_000));
    assertEquals(1_020_000, empty.reserve(1_000_000, 9_000_000));
    assertEquals(1_025_000, empty.reserve(1_000_000, 1_025_000), "too late: none is taken");
    assertEquals(1_030_000, empty.reserve(1_000_000, 9_000_000));
  }

  @Test
  void reservedTokensMayHaveBeenThereBefore() {
    RateLimiter empty = new RateLimiter(100, 3, 0);
    assertEquals(980_000, empty.reserve(1_000_000, 9_000_000));
    assertEquals(990_000, empty.reserve(1_000_000, 9_000_000));
    assertEquals(1_000_000, empty.reserve(1_000_000, 9_000_000));
    assertEquals(1_010_000, empty.reserve(1_000_000, 9_000_000));
  }
}
