package io.kcp4j.internal.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** {@link TransmissionOrder} against a model that counts every entry by itself. */
class TransmissionOrderTest {

  private final TransmissionOrder order = new TransmissionOrder();

  private void assertCounts(int... expected) {
    List<Integer> counts = new ArrayList<>();
    while (order.head() != TransmissionOrder.NONE) {
      counts.add(order.headSkipCount());
      order.remove(order.head());
    }
    assertEquals(Arrays.stream(expected).boxed().toList(), counts);
  }

  @Test
  void onlyEarlierTransmissionsAreSkipped() {
    order.grow(0, -1, 7, new TransmissionOrder.Links(8));
    for (int entry = 0; entry < 5; entry++) {
      order.append(entry);
    }
    order.countSkippedBefore(3);
    order.countSkippedBefore(1);
    order.countSkippedBefore(0);
    assertCounts(2, 1, 1, 0, 0);
  }

  @Test
  void countsSurviveTheRemovalOfAnyNeighbour() {
    order.grow(0, -1, 7, new TransmissionOrder.Links(8));
    for (int entry = 0; entry < 5; entry++) {
      order.append(entry);
    }
    order.countSkippedBefore(4);
    order.remove(4);
    order.remove(2);
    order.remove(0);
    assertCounts(1, 1);
  }

  @Test
  void interruptedWalkSurvivesTheGrowthOfTheRing() {
    order.grow(6, -1, 3, new TransmissionOrder.Links(4));
    for (int sn = 6; sn < 10; sn++) {
      order.append(sn & 3);
    }
    order.cursor(9 & 3);
    order.grow(6, 3, 7, new TransmissionOrder.Links(8));
    assertEquals(9 & 7, order.cursor());

    order.remove(9 & 7);
    assertTrue(order.isCursorAtEnd());
    order.grow(6, 7, 15, new TransmissionOrder.Links(16));
    assertTrue(order.isCursorAtEnd());
  }

  @Test
  void emptyListHasNoEnds() {
    order.grow(0, -1, 3, new TransmissionOrder.Links(4));
    order.append(2);
    order.remove(2);
    assertEquals(TransmissionOrder.NONE, order.head());
    assertEquals(TransmissionOrder.NONE, order.tail());
    assertEquals(0, order.size());
    assertEquals(0, order.headSkipCount());
  }

  @Test
  void agreesWithCountingEveryEntryWhileTheRingGrowsOverTheWrap() {
    for (int seed = 0; seed < 50; seed++) {
      new Model(seed).run();
    }
  }

  /** Sequence numbers in flight, in the order of transmission, each with its own count. */
  private static final class Model {

    private final TransmissionOrder order = new TransmissionOrder();
    private final List<int[]> entries = new ArrayList<>();
    private final Random random;
    private int next;
    private int una;
    private int mask = -1;

    Model(int seed) {
      random = new Random(seed);
      next = -random.nextInt(40);
      una = next;
    }

    void run() {
      for (int step = 0; step < 500; step++) {
        int choice = random.nextInt(10);
        if (entries.isEmpty() || choice < 4) {
          send();
        } else if (choice < 6) {
          retransmit(random.nextInt(entries.size()));
        } else {
          acknowledge(random.nextInt(entries.size()));
        }
        assertSame();
      }
    }

    private void send() {
      if (next - una > mask) {
        int newMask = Math.max(3, 2 * mask + 1);
        order.grow(una, mask, newMask, new TransmissionOrder.Links(newMask + 1));
        mask = newMask;
      }
      int room = Math.min(mask + 1 - (next - una), mask + 1 - (next & mask));
      int segments = 1 + random.nextInt(Math.min(room, 3));
      order.append(next & mask, (next & mask) + segments);
      for (int i = 0; i < segments; i++) {
        entries.add(new int[] {next++, 0});
      }
    }

    private void retransmit(int i) {
      int sn = entries.remove(i)[0];
      order.remove(sn & mask);
      order.append(sn & mask);
      entries.add(new int[] {sn, 0});
    }

    private void acknowledge(int i) {
      int sn = entries.get(i)[0];
      order.countSkippedBefore(sn & mask);
      order.remove(sn & mask);
      entries.subList(0, i).forEach(entry -> entry[1]++);
      entries.remove(i);
      una = entries.stream().mapToInt(entry -> entry[0]).reduce(next, TransmissionOrderTest::older);
    }

    private void assertSame() {
      List<Integer> expected = entries.stream().map(entry -> entry[0] & mask).toList();
      assertEquals(expected.toString(), order.toString());
      assertEquals(entries.size(), order.size());
      assertEquals(entries.isEmpty() ? 0 : entries.get(0)[1], order.headSkipCount());
    }
  }

  private static int older(int a, int b) {
    return a - b < 0 ? a : b;
  }
}
