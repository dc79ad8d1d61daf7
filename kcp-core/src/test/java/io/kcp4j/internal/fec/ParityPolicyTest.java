package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.fec.FecConfig;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@link ParityPolicy} at a tick of 60 Hz. */
class ParityPolicyTest {

  private static final long S = 1_000_000;
  private static final int TICKS_PER_S = 60;
  private static final int SRTT_US = 22_000;

  private ParityPolicy policy = new ParityPolicy(FecConfig.adaptive());
  private int srttUs = SRTT_US;
  private long ticks;

  private long nowUs() {
    return ticks * S / TICKS_PER_S;
  }

  /** Sends the next group; returns its parity. */
  private int group() {
    int parity = policy.parity(nowUs());
    if (parity > 0) {
      policy.onGroup(srttUs, nowUs());
    }
    ticks++;
    return parity;
  }

  private List<Integer> groups(int count) {
    List<Integer> parity = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      parity.add(group());
    }
    return parity;
  }

  private void runTo(long untilUs) {
    while (nowUs() < untilUs) {
      group();
    }
  }

  /** The parity of a group outside of training. */
  private int untrainedParity() {
    int parity = group();
    while (parity == 3) {
      parity = group();
    }
    return parity;
  }

  private void runWhileParityIs(int packets) {
    int parity = packets;
    while (parity == packets) {
      parity = untrainedParity();
    }
  }

  private void lose(int segments) {
    policy.onLost(segments, nowUs());
  }

  @Test
  void fixedRatioAlwaysHasAllParity() {
    policy = new ParityPolicy(FecConfig.of(3, 2).toBuilder().flushAligned(true).build());
    assertEquals(List.of(2, 2), groups(2));
    runTo(200 * S);
    assertEquals(List.of(2, 2), groups(2));
    assertFalse(policy.isTraining());
  }

  @Test
  void sessionBeginsWithThreeWholeGroupsAndThenHasOneParityPacket() {
    assertEquals(List.of(3, 3, 3, 1, 1, 1), groups(6));
  }

  @Test
  void threeOfEverySixtyGroupsAreWholeForTenSeconds() {
    for (int period = 0; period < 10; period++) {
      assertEquals(List.of(3, 3, 3), groups(3), "period " + period);
      assertFalse(groups(57).contains(3), "period " + period);
    }
  }

  @Test
  void laterThreeGroupsAreWholeEveryThirtySeconds() {
    runTo(10 * S);
    List<Long> trained = new ArrayList<>();
    while (nowUs() < 130 * S) {
      long atUs = nowUs();
      if (group() == 3) {
        trained.add(atUs / S);
      }
    }
    assertEquals(List.of(39L, 39L, 39L, 69L, 69L, 69L, 99L, 99L, 99L, 129L, 129L, 129L), trained);
  }

  @Test
  void eachLossRaisesParityUpToTheLimit() {
    runTo(11 * S);
    assertEquals(1, group());
    lose(1);
    assertEquals(2, group());
    lose(100);
    assertEquals(2, group());
  }

  @Test
  void limitOfThreeAllowsThree() {
    policy = new ParityPolicy(FecConfig.adaptive().toBuilder().maxParity(3).build());
    runTo(11 * S);
    lose(2);
    assertEquals(3, group());
    assertFalse(policy.isTraining());
  }

  @Test
  void limitOfOneHoldsExceptForTraining() {
    policy = new ParityPolicy(FecConfig.adaptive().toBuilder().maxParity(1).build());
    assertEquals(List.of(3, 3, 3, 1), groups(4));
    lose(10);
    assertEquals(1, group());
  }

  @Test
  void parityFallsAgainWithEachGroup() {
    runTo(11 * S);
    lose(10);
    long before = ticks;
    runWhileParityIs(2);
    long groups = ticks - before;
    assertTrue(groups > 3_000 && groups < 3_400, "2 to 1 in " + groups + " groups");
  }

  @Test
  void groupsGetNoParityAMinuteAfterTheBeginning() {
    runTo(59 * S);
    assertEquals(1, group());
    runTo(60 * S);
    assertEquals(0, group());
    lose(1);
    assertTrue(group() > 0);
  }

  @Test
  void groupsGetNoParityWhenOnePacketHasBeenEnoughForAMinute() {
    runTo(40 * S);
    lose(10);
    long lostAtUs = nowUs();
    runWhileParityIs(2);
    long oneAtUs = nowUs();
    assertEquals(55, (double) (oneAtUs - lostAtUs) / S, 3);
    runTo(oneAtUs + 59 * S);
    assertEquals(1, untrainedParity());
    runTo(oneAtUs + 60 * S);
    assertEquals(0, untrainedParity());
  }

  @Test
  void quietSessionStillHasTrainingGroups() {
    runTo(90 * S);
    long trained = groups(60 * TICKS_PER_S).stream().filter(parity -> parity == 3).count();
    assertEquals(6, trained);
  }

  /** How long a loss brings parity back, in seconds. */
  private double protectedFor() {
    assertEquals(0, untrainedParity());
    lose(1);
    long lostAtUs = nowUs();
    runWhileParityIs(2);
    runWhileParityIs(1);
    return (double) (nowUs() - lostAtUs) / S;
  }

  @Test
  void lossSoonAfterParityWasLeftOutDoublesTheTimeUntilTheNextAttempt() {
    runTo(60 * S);
    assertEquals(120 + 28, protectedFor(), 3);
    assertEquals(240 + 28, protectedFor(), 3);
    assertEquals(480 + 28, protectedFor(), 3);
    assertEquals(960 + 28, protectedFor(), 3);
    assertEquals(960 + 28, protectedFor(), 3);
  }

  @Test
  void lossLongAfterParityWasLeftOutDoesNot() {
    runTo(60 * S);
    protectedFor();
    runTo(nowUs() + 59 * S);
    assertEquals(240 + 28, protectedFor(), 3);
    runTo(nowUs() + 61 * S);
    assertEquals(60 + 28, protectedFor(), 3);
  }

  @Test
  void spuriousRetransmissionUndoesALoss() {
    runTo(50 * S);
    lose(1);
    assertEquals(2, group());
    policy.onSpurious(1);
    assertEquals(1, group());
    runTo(59 * S);
    assertEquals(1, group());
    runTo(61 * S);
    assertEquals(0, untrainedParity(), "the minute has not begun again");
  }

  @Test
  void onlyTheSpuriousOnesOfSeveralLossesAreUndone() {
    runTo(50 * S);
    lose(2);
    policy.onSpurious(1);
    runTo(61 * S);
    assertTrue(untrainedParity() > 0);
  }

  @Test
  void spuriousLossesDoNotUndoOthersAtTheLimit() {
    runTo(50 * S);
    for (int i = 0; i < 100; i++) {
      lose(3);
      policy.onSpurious(2);
      group();
    }
    assertEquals(2, untrainedParity());
    runTo(55 * S);
    assertEquals(2, untrainedParity());
  }

  @Test
  void spuriousLossIsUndoneOnlyForASecond() {
    runTo(50 * S);
    lose(1);
    runTo(50 * S + 1_100_000);
    policy.onSpurious(1);
    assertEquals(2, group());
  }

  @Test
  void spuriousLossWithoutParityDoesNotDoubleTheTime() {
    runTo(60 * S);
    assertEquals(0, group());
    lose(1);
    policy.onSpurious(1);
    assertEquals(0, untrainedParity());
    assertEquals(120 + 28, protectedFor(), 3);
  }

  @Test
  void copiesAreNotTrained() {
    policy = new ParityPolicy(FecConfig.adaptive().toBuilder().delayedCopyMs(5).build());
    assertFalse(groups(TICKS_PER_S * 40).contains(3));
  }

  /** How many of a hundred thousand groups are lost if one parity packet is too few. */
  private int equilibrium() {
    runTo(11 * S);
    int lost = 0;
    for (int i = 0; i < 100_000; i++) {
      if (group() == 1) {
        lose(1);
        lost++;
      }
    }
    return lost;
  }

  @Test
  void threeInTenThousandGroupsAreLostInEquilibrium() {
    assertEquals(30, equilibrium(), 2);
  }

  @Test
  void fewerAreLostWhereEachDelaysMoreGroups() {
    srttUs = 200_000;
    assertEquals(70.0 / 13, equilibrium(), 1);
  }

  @Test
  void moreAreLostWhereNoOtherGroupIsDelayed() {
    srttUs = 1_000;
    assertEquals(66, equilibrium(), 3);
  }
}
