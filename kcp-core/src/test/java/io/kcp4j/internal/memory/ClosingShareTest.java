package io.kcp4j.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.memory.MemoryLimit.ClosingShare;
import org.junit.jupiter.api.Test;

class ClosingShareTest {

  private final ClosingShare share = new ClosingShare(1_000);

  @Test
  void classesOfRatesDifferByAnEighth() {
    assertEquals(0, ClosingShare.rateClass(0));
    for (long rate = 1; rate < 1L << 60; rate += Math.max(1, rate / 7)) {
      int rateClass = ClosingShare.rateClass(rate);
      assertTrue(rateClass > ClosingShare.rateClass(rate - Math.max(1, rate / 8)), "" + rate);
      assertTrue(rateClass < ClosingShare.rateClass(Long.MAX_VALUE), "" + rate);
    }
    assertEquals(ClosingShare.rateClass(80_000), ClosingShare.rateClass(81_000));
  }

  @Test
  void slowestGiveWayUntilOthersHoldAQuarter() {
    share.add(1, 100);
    share.add(5, 51);
    share.add(7, 200);
    assertTrue(share.isExceededFrom(1));
    assertTrue(share.isExceededFrom(5));
    assertFalse(share.isExceededFrom(7));
    share.add(5, -1);
    assertFalse(share.isExceededFrom(5));
    share.add(7, 1);
    assertTrue(share.isExceededFrom(5));
  }

  @Test
  void shareIsInForceForASecondAfterASessionHasWaited() {
    assertFalse(share.isAwaited());
    share.await(5_000_000);
    share.await(5_050_000);
    share.update(6_050_000);
    assertTrue(share.isAwaited());
    share.update(6_050_001);
    assertFalse(share.isAwaited());
  }
}
