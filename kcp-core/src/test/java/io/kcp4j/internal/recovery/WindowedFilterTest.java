package io.kcp4j.internal.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class WindowedFilterTest {

  private static final int PERIOD = 10;

  private final WindowedFilter minimum = WindowedFilter.minimum(PERIOD);
  private final WindowedFilter maximum = WindowedFilter.maximum(PERIOD);

  @Test
  void bestValueOfThisPeriodAndOfTheOneBeforeCounts() {
    minimum.sample(5, 1_000);
    minimum.sample(3, 1_009);
    minimum.sample(4, 1_010);
    assertEquals(3, minimum.best());
    minimum.sample(6, 1_020);
    assertEquals(4, minimum.best());
    minimum.sample(7, 1_030);
    assertEquals(6, minimum.best());
  }

  @Test
  void maximumIsThatOfPeriodsFromRoundZeroOn() {
    maximum.sample(5, 3);
    maximum.sample(4, 9);
    maximum.advance(10);
    assertEquals(5, maximum.best());
    maximum.sample(2, 19);
    maximum.advance(20);
    assertEquals(2, maximum.best());
    maximum.advance(30);
    assertEquals(0, maximum.best());
  }

  @Test
  void valuesFromBeforeALongPauseAreForgotten() {
    minimum.sample(3, 1_000);
    assertFalse(minimum.isExpired(1_019));
    assertTrue(minimum.isExpired(1_020));
    minimum.sample(8, 1_020);
    assertEquals(8, minimum.best());
  }

  @Test
  void nothingIsKnownAtFirst() {
    assertEquals(Double.POSITIVE_INFINITY, minimum.best());
    assertEquals(0, maximum.best());
  }
}
