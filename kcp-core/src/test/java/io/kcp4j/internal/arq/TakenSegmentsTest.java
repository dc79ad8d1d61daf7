package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.receive.UnorderedReceiveBuffer.TakenSegments;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Which segments beyond a gap have been taken, beside a set of numbers. */
class TakenSegmentsTest {

  private static final int WINDOW = 3000;

  private final MemoryBudget budget = MemoryBudget.unlimited();
  private final TakenSegments taken = new TakenSegments(MemoryAccount.of(budget));

  @Test
  void containsWhatWasAddedAndNothingElse() {
    SplittableRandom random = new SplittableRandom(1);
    Set<Integer> expected = new HashSet<>();
    int next = -100_000; // Sequence numbers wrap.
    for (int step = 0; step < 200_000; step++) {
      int distance = random.nextInt(random.nextBoolean() ? 40 : WINDOW);
      int sn = next + distance;
      assertEquals(expected.contains(sn), taken.contains(next, distance));
      if (distance > 0 && expected.add(sn)) {
        assertTrue(taken.ensureRoom(next, distance));
        taken.add(sn);
      } else if (distance == 0) {
        for (next++; taken.contains(next, 0); next++) {
          assertTrue(expected.remove(next));
          taken.remove(next);
        }
      }
      assertEquals(expected.isEmpty(), taken.isEmpty());
      assertEquals(budget.usedBytes(), taken.heldBytes());
    }
    assertFalse(expected.isEmpty());
  }

  /** The first word may begin before the next segment, so that the last one has fewer bits. */
  @Test
  void segmentsStayWhenTheRingGrows() {
    for (int next : new int[] {0, 1, 63}) {
      for (int distance = 1; distance <= 300; distance++) {
        TakenSegments growing = new TakenSegments(MemoryAccount.of(budget));
        growing.ensureRoom(next, distance);
        growing.add(next + distance);
        growing.ensureRoom(next, 1_000);
        assertTrue(growing.contains(next, distance), next + " + " + distance);
        growing.close();
      }
    }
  }

  @Test
  void memoryFollowsTheDistanceAndIsReleased() {
    taken.ensureRoom(0, 200);
    taken.add(200);
    assertEquals(0, taken.heldBytes(), "the smallest rings do not count");
    taken.ensureRoom(0, 10_000);
    taken.add(10_000);
    assertEquals(2 * 8 * 256, taken.heldBytes());
    assertTrue(taken.contains(0, 200));
    taken.remove(200);
    taken.remove(10_000);
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void segmentIsAcknowledgedAgainOncePerFlush() {
    taken.ensureRoom(0, 5);
    taken.add(5);
    assertTrue(taken.acknowledgeAgain(5));
    assertFalse(taken.acknowledgeAgain(5));
    taken.endFlush();
    assertTrue(taken.acknowledgeAgain(5));
  }

  /** A whole ring later, the same bits stand for another segment. */
  @Test
  void removedSegmentLeavesNothingToThatWithItsBits() {
    taken.ensureRoom(0, 5);
    taken.add(5);
    taken.acknowledgeAgain(5);
    taken.remove(5);
    taken.ensureRoom(100, 5 + 256 - 100);
    taken.add(5 + 256);
    assertTrue(taken.acknowledgeAgain(5 + 256));
  }

  @Test
  void numberThatIsUsedAgainAfterAWholeRingIsNotContained() {
    taken.ensureRoom(0, 255);
    taken.add(255);
    assertFalse(taken.contains(0, 255 + 256));
    assertTrue(taken.contains(0, 255));
  }
}
