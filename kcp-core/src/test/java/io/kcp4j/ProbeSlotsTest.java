package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ProbeSlotsTest {

  private final ProbeSlots slots = new ProbeSlots();

  @Test
  void firstProbeLeavesAtOnce() {
    assertEquals(5_000_000, slots.reserve(5_000_000));
  }

  @Test
  void thousandProbesLeaveInEachSecond() {
    for (int i = 0; i < 10_000; i++) {
      assertEquals(1_000L * i, slots.reserve(0));
    }
    assertEquals(10_000_000, slots.reserve(9_999_999));
  }

  @Test
  void timeWithoutProbesAllowsNoBurst() {
    slots.reserve(0);
    assertEquals(1_000_000, slots.reserve(1_000_000));
    assertEquals(1_001_000, slots.reserve(1_000_000));
  }
}
