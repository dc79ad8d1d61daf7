package io.kcp4j.internal.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** {@link BbrLoss}: losses of rounds, and timeouts. */
class BbrLossTest {

  private static final int BYTES = 1_000;

  private static final int RTT_US = 40_000;

  private final BbrLoss loss = new BbrLoss();
  private long lost;
  private long delivered;

  /** A round in which so many segments were found lost and delivered. */
  private void round(int lostSegments, int deliveredSegments) {
    lost += (long) lostSegments * BYTES;
    delivered += (long) deliveredSegments * BYTES;
    loss.endRound(lost, delivered, BYTES);
  }

  @Test
  void twoLossesAreNeverExcessive() {
    round(2, 8);
    assertFalse(loss.isExcessive());
    round(3, 7);
    assertTrue(loss.isExcessive());
  }

  @Test
  void singleLossIsUnusualOnACleanPathOnly() {
    round(0, 100);
    assertFalse(loss.isUnusual());
    round(1, 99);
    assertTrue(loss.isUnusual());
    for (int i = 0; i < 100; i++) {
      round(1, 99);
      loss.learn();
    }
    round(2, 98);
    assertFalse(loss.isUnusual());
    round(4, 96);
    assertTrue(loss.isUnusual());
  }

  @Test
  void aFewPercentAreExcessiveOnACleanPath() {
    round(3, 97);
    assertFalse(loss.isExcessive());
    round(5, 95);
    assertTrue(loss.isExcessive());
  }

  @Test
  void whatThePathLosesIsLearnedAndIsNotExcessive() {
    SplittableRandom random = new SplittableRandom(1);
    int excessive = 0;
    for (int i = 0; i < 1_000; i++) {
      int lostSegments = 0;
      for (int segment = 0; segment < 100; segment++) {
        lostSegments += random.nextInt(10) == 0 ? 1 : 0;
      }
      round(lostSegments, 100 - lostSegments);
      loss.learn();
      excessive += i > 100 && loss.isExcessive() ? 1 : 0;
    }
    assertEquals(0, excessive, 10);
    round(25, 75);
    assertTrue(loss.isExcessive());
  }

  @Test
  void heavyLossNeedsThreeRounds() {
    round(30, 70);
    round(30, 70);
    assertFalse(loss.isHeavy());
    round(30, 70);
    assertTrue(loss.isHeavy());
    round(10, 90);
    assertFalse(loss.isHeavy());
  }

  @Test
  void lossesThatTurnOutToBeSpuriousDoNotCountTwice() {
    round(10, 90);
    round(-10, 90);
    assertFalse(loss.isExcessive());
  }

  // Timeouts

  @Test
  void firstTimeoutsDoNotLowerTheRate() {
    loss.timedOut(RTT_US, 0);
    loss.timedOut(RTT_US, 2 * RTT_US - 1);
    assertTrue(loss.hasTimedOut());
    assertEquals(6400, loss.backOff(6400));
    loss.timedOut(RTT_US, 2 * RTT_US);
    assertEquals(3200, loss.backOff(6400));
  }

  @Test
  void rateHalvesSixTimes() {
    for (int i = 0; i < 100; i++) {
      loss.timedOut(RTT_US, i * 2L * RTT_US);
    }
    assertEquals(100, loss.backOff(6400));
  }

  @Test
  void acknowledgementEndsTheBackOff() {
    for (int i = 0; i < 3; i++) {
      loss.timedOut(RTT_US, i * 2L * RTT_US);
    }
    loss.resetBackOff();
    assertFalse(loss.hasTimedOut());
    assertEquals(6400, loss.backOff(6400));
  }
}
