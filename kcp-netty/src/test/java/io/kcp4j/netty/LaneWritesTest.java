package io.kcp4j.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link LaneWrites}: peers choose the lanes on which something waits. */
class LaneWritesTest {

  private static final int FACTOR = 0x2545f491;

  /** In a table of this size, the lowest bits of these lanes would give each two of them a slot. */
  @ParameterizedTest
  @ValueSource(ints = {16, 64, 512, 1_024, 4_096, 8_192})
  void lanesWithTheSameLowestBitsHaveSlotsOfTheirOwn(int tableSize) {
    int lanes = tableSize / 2;
    Set<Integer> keys = new HashSet<>();
    Set<Integer> slots = new HashSet<>();
    for (int i = 0; i < lanes; i++) {
      int lane = i < lanes / 2 ? i : tableSize + i - lanes / 2;
      int key = LaneWrites.key(lane, FACTOR);
      keys.add(key);
      slots.add(key & tableSize - 1);
    }
    assertEquals(lanes, keys.size());
    assertTrue(slots.size() > 0.6 * lanes, slots.size() + " slots");
  }
}
