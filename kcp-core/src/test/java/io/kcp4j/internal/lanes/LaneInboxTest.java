package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.wire.HashMixer;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link LaneInbox}: what finding a message by its number costs, whatever the peer sends. */
class LaneInboxTest {

  private static final int MESSAGES = 8_000;

  /** A search in a table that is half full of random numbers looks at about three slots. */
  private static final int MOST_SLOTS_ON_AVERAGE = 4;

  private static final int MOST_SLOTS = 128;

  private static final long SEED = 42;

  private LaneInbox inbox = new LaneInbox(0, SEED);

  private void add(int number) {
    inbox.plan(0, number, true);
    inbox.ensureRoomForPlanned();
    inbox.set(number, InboundMessage.READ);
    inbox.endSegment();
  }

  private void addAll(IntUnaryOperator number) {
    for (int i = 0; i < MESSAGES; i++) {
      add(number.applyAsInt(i));
    }
  }

  /** Checks how many slots are looked at for numbers that are there, and for others. */
  private void assertIsFoundSoon(IntUnaryOperator number) {
    long slots = 0;
    for (int i = 0; i < 2 * MESSAGES; i++) {
      int each = inbox.slotsSearched(number.applyAsInt(i));
      assertTrue(each <= MOST_SLOTS, number.applyAsInt(i) + ": " + each + " slots");
      slots += each;
    }
    long average = slots / (2 * MESSAGES);
    assertTrue(average <= MOST_SLOTS_ON_AVERAGE, average + " slots on average");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 64, 1 << 10, 1 << 14, 1 << 15, 1 << 16})
  void numbersAtEqualDistancesAreFoundInAFewSlots(int distance) {
    addAll(i -> i * distance);
    assertIsFoundSoon(i -> i * distance);
  }

  /** The numbers of the second half have the lowest bits of the first, in tables of all sizes. */
  @ParameterizedTest
  @ValueSource(ints = {1 << 13, 1 << 14, 1 << 15, 1 << 16})
  void numbersWithTheLowestBitsOfOthersAreFoundInAFewSlots(int distance) {
    IntUnaryOperator number = i -> i % (MESSAGES / 2) + i / (MESSAGES / 2) * distance;
    addAll(number);
    assertIsFoundSoon(number);
  }

  @Test
  void numbersThatCollideUnderAnotherSeedAreFoundInAFewSlots() {
    int[] colliding =
        IntStream.iterate(0, number -> number + 1)
            .filter(number -> (HashMixer.mix(SEED + number) & 0xfff) == 0)
            .limit(2 * MESSAGES / 32)
            .toArray();
    for (int i = 0; i < colliding.length / 2; i++) {
      add(colliding[i]);
    }
    assertTrue(inbox.slotsSearched(colliding[colliding.length - 1]) > MOST_SLOTS);
    inbox = new LaneInbox(0, SEED + 1);
    for (int i = 0; i < colliding.length / 2; i++) {
      add(colliding[i]);
    }
    for (int number : colliding) {
      assertTrue(inbox.slotsSearched(number) <= MOST_SLOTS / 4);
    }
  }

  @Test
  void numbersAreFoundAfterOthersAreRemoved() {
    addAll(i -> i * 7);
    for (int i = 0; i < MESSAGES; i += 2) {
      inbox.remove(i * 7);
    }
    for (int i = 0; i < MESSAGES; i++) {
      if (i % 2 == 0) {
        assertNull(inbox.get(i * 7));
      } else {
        assertNotNull(inbox.get(i * 7));
      }
    }
    assertEquals(MESSAGES / 2, inbox.byNumber().size());
  }

  /** A peer kept one message in each of many tables that had been large. */
  @Test
  void tableFollowsWhatIsThere() {
    addAll(i -> i);
    int largest = inbox.capacity();
    for (int i = 1; i < MESSAGES; i++) {
      inbox.remove(i);
      inbox.endSegment();
    }
    assertTrue(largest >= MESSAGES, "" + largest);
    assertTrue(inbox.capacity() <= 4, "" + inbox.capacity());
    assertNotNull(inbox.get(0));
    addAll(i -> i);
    assertEquals(MESSAGES, inbox.byNumber().size());
  }
}
