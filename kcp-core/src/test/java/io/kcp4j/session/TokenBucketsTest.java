package io.kcp4j.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link TokenBuckets}: their size, their rate, and that each is its own. */
class TokenBucketsTest {

  private final TokenBuckets buckets = new TokenBuckets(2, 100, 10, -5);

  private int takeAll(int bucket, long nowUs) {
    int taken = 0;
    while (buckets.tryTake(bucket, nowUs)) {
      taken++;
    }
    return taken;
  }

  @Test
  void fullBucketHasItsSize() {
    assertEquals(10, takeAll(0, -5));
    assertFalse(buckets.hasToken(0, -5));
  }

  @Test
  void bucketFillsAtItsRate() {
    takeAll(0, 0);
    assertEquals(0, takeAll(0, 9_000));
    assertEquals(1, takeAll(0, 10_000));
    assertEquals(5, takeAll(0, 60_000));
    assertEquals(10, takeAll(0, 10_000_000));
  }

  @Test
  void bucketsAreIndependent() {
    takeAll(0, 0);
    assertTrue(buckets.hasToken(1, 0));
    assertFalse(buckets.hasToken(-2, 0), "any number stands for a bucket");
  }

  @Test
  void highRatesAreExact() {
    TokenBuckets fast = new TokenBuckets(1, 600_000, 1_000, 0);
    int taken = 0;
    for (int nowUs = 0; nowUs < 1_000_000; nowUs += 100) {
      while (fast.tryTake(0, nowUs)) {
        taken++;
      }
    }
    assertEquals(601_000, taken, 1_000);
  }

  @Test
  void whatIsTakenFromAnEmptyBucketIsOwed() {
    takeAll(0, 0);
    buckets.take(0, 0);
    assertEquals(0, takeAll(0, 10_000));
    assertEquals(1, takeAll(0, 20_000));
  }

  @Test
  void noMoreIsOwedThanABucketHolds() {
    takeAll(0, 0);
    for (int i = 0; i < 10; i++) {
      assertTrue(buckets.take(0, 0));
    }
    assertFalse(buckets.take(0, 0), "nothing was taken");
    assertEquals(0, takeAll(0, 100_000));
    assertEquals(1, takeAll(0, 110_000));
  }
}
