package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class RateScheduleTest {

  private static final long MS = 1_000_000;

  /** A byte a microsecond, from 10 ms on two, from 20 ms on half a byte. */
  private final RateSchedule changing =
      RateSchedule.constant(8_000_000).then(10_000, 16_000_000).then(20_000, 4_000_000);

  @Test
  void constantRateTakesTheSameTimeAlways() {
    RateSchedule constant = RateSchedule.constant(8_000_000);
    assertEquals(3 * MS, constant.endsAtNs(0, 3_000));
    assertEquals(103 * MS, constant.endsAtNs(100 * MS, 3_000));
    assertEquals(8_000_000, constant.bitsPerSecond(5), 1e-6);
  }

  @Test
  void bytesThatLeaveDuringAChangeLeaveAtBothRates() {
    assertEquals(10 * MS, changing.endsAtNs(9 * MS, 1_000));
    assertEquals(10 * MS + MS / 2, changing.endsAtNs(9 * MS, 2_000));
    assertEquals(22 * MS, changing.endsAtNs(9 * MS, 1_000 + 20_000 + 1_000));
  }

  @Test
  void bytesBetweenTimesAreThoseThatLeave() {
    for (long beginNs = 0; beginNs < 30 * MS; beginNs += MS) {
      for (int bytes = 0; bytes < 40_000; bytes += 1_000) {
        long endNs = changing.endsAtNs(beginNs, bytes);
        assertEquals(bytes, changing.bytesBetween(beginNs, endNs), 1e-3);
      }
    }
  }

  @Test
  void rateIsThatOfTheTime() {
    assertEquals(8_000_000, changing.bitsPerSecond(9_999), 1e-6);
    assertEquals(16_000_000, changing.bitsPerSecond(10_000), 1e-6);
    assertEquals(4_000_000, changing.bitsPerSecond(1_000_000), 1e-6);
  }
}
