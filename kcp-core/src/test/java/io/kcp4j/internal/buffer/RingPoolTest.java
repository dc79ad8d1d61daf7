package io.kcp4j.internal.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;

/** {@link RingPool} with arrays for rings. */
class RingPoolTest {

  private static final int ENTRY_BYTES = 64;

  private int made;
  private final RingPool<int[]> pool =
      new RingPool<>(
          ENTRY_BYTES,
          capacity -> {
            made++;
            return new int[capacity];
          });

  private void giveBack(int[] ring) {
    pool.giveBack(ring, ring.length);
  }

  @Test
  void ringHasTheNextPowerOfTwoOfEntriesAndAtLeastFour() {
    assertEquals(4, pool.take(1).length);
    assertEquals(4, pool.take(4).length);
    assertEquals(8, pool.take(5).length);
    assertEquals(65_536, pool.take(65_535).length);
  }

  @Test
  void ringThatWasReturnedLastIsTakenFirst() {
    int[] first = pool.take(4);
    int[] last = pool.take(4);
    giveBack(first);
    giveBack(last);
    assertSame(last, pool.take(4));
    assertSame(first, pool.take(4));
    assertEquals(2, made);
  }

  @Test
  void ringOfAnotherCapacityIsNotTaken() {
    int[] ring = pool.take(16);
    giveBack(ring);
    assertNotSame(ring, pool.take(8));
    assertNotSame(ring, pool.take(32));
    assertSame(ring, pool.take(16));
  }

  @Test
  void ringsBeyondTheLimitAreDropped() {
    assertPooled(256 * 1024 / (8 * ENTRY_BYTES), 8);
  }

  @Test
  void moreOfTheSmallestRingsArePooled() {
    assertPooled(4 * 1024 * 1024 / (4 * ENTRY_BYTES), 4);
  }

  private void assertPooled(int limit, int capacity) {
    for (int i = 0; i <= limit; i++) {
      giveBack(new int[capacity]);
    }
    for (int i = 0; i < limit; i++) {
      pool.take(capacity);
    }
    assertEquals(0, made);
    pool.take(capacity);
    assertEquals(1, made);
  }

  @Test
  void fourLargeRingsArePooledAndLargerOnesNot() {
    for (int i = 0; i < 5; i++) {
      giveBack(new int[2048]);
      giveBack(new int[4096]);
    }
    for (int i = 0; i < 4; i++) {
      pool.take(2048);
    }
    assertEquals(0, made);
    pool.take(2048);
    pool.take(4096);
    assertEquals(2, made);
  }
}
