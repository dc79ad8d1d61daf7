package io.kcp4j.internal.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SendRingTest {

  private static final long SENT_AT_US = 1L << 40;

  private final SendRing ring = new SendRing(4);

  @Test
  void aTimeoutLiesAtMost35MinutesAfterTheTransmission() {
    ring.sentAtUs[1] = SENT_AT_US;
    ring.timesOutAtUs(1, SENT_AT_US + 60_000_000);
    assertEquals(SENT_AT_US + 60_000_000, ring.timesOutAtUs(1));
    ring.timesOutAtUs(1, SENT_AT_US + 3_600_000_000L);
    assertEquals(SENT_AT_US + Integer.MAX_VALUE, ring.timesOutAtUs(1));
  }

  @Test
  void flagsOfASegmentAreIndependent() {
    ring.lostByAcks(2, true);
    assertFalse(ring.isAcknowledged(2));
    ring.acknowledge(2);
    assertTrue(ring.isAcknowledged(2));
    assertTrue(ring.isLostByAcks(2));
    assertFalse(ring.isAcknowledged(1));

    ring.clearFlags(2);
    assertFalse(ring.isAcknowledged(2));
    assertFalse(ring.isLostByAcks(2));
  }

  @Test
  void aLargerRingHasTheSameSegment() {
    ring.sentAtUs[5 & 3] = SENT_AT_US;
    ring.timesOutAtUs(5 & 3, SENT_AT_US + 30_000);
    ring.acknowledge(5 & 3);
    SendRing larger = new SendRing(8);
    ring.copyTo(larger, 5);
    assertEquals(SENT_AT_US + 30_000, larger.timesOutAtUs(5));
    assertTrue(larger.isAcknowledged(5));
  }
}
