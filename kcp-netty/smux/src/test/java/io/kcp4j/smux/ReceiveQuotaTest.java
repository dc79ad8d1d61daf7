package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** {@link ReceiveQuota} alone: 8000 bytes, and a grace time of 500 ms. */
class ReceiveQuotaTest {

  private static final int LIMIT = 8_000;
  private static final int GRACE_MS = 500;

  private final SmuxMemoryTest.LimitedMemory memory = new SmuxMemoryTest.LimitedMemory();
  private final ReceiveQuota quota = new ReceiveQuota(LIMIT, GRACE_MS, memory);

  @Test
  void quotaIsUsedUpAtItsLimit() {
    quota.charge(LIMIT - 256);
    assertFalse(quota.isBlocked());
    quota.charge(1); // Counts as 256 bytes.
    assertTrue(quota.isBlocked());
    assertEquals(LIMIT, quota.used());
    quota.release(1);
    assertFalse(quota.isBlocked());
  }

  @Test
  void piecesThatAreKeptTogetherCountTogetherAndInTheMemoryOfTheConnection() {
    quota.charge(10);
    quota.charge(300);
    quota.charge(20);
    quota.keep(330, 256 + 300 + 256);
    assertEquals(330, quota.used());
    assertEquals(330, memory.unreadBytes);
    quota.charge(5);
    quota.keep(5, 256);
    assertEquals(330 + 256, memory.unreadBytes);
    quota.releaseKept(330);
    quota.releaseKept(5);
    assertEquals(0, quota.used());
    assertEquals(0, memory.unreadBytes);
  }

  // Without room in the memory of the connection

  private void keep(int bytes) {
    quota.charge(bytes);
    quota.keep(bytes, bytes);
  }

  @Test
  void shortageEndsWhenThereIsRoomForMoreThanADatagram() {
    memory.limitBytes = 3_000;
    keep(2_000);
    assertFalse(quota.isBlocked());
    keep(1_001);
    assertTrue(quota.isBlocked());
    memory.limitBytes = 3_001 + 2_047;
    quota.updateShortage();
    assertTrue(quota.isBlocked());
    memory.limitBytes++;
    quota.updateShortage();
    assertFalse(quota.isBlocked());
    assertEquals(3_001, memory.unreadBytes, "looking for room leaves nothing behind");
  }

  @Test
  void shortageEndsWhenAllThatIsKeptHasBeenRead() {
    memory.limitBytes = 0;
    keep(2_000);
    keep(1_000);
    quota.releaseKept(2_000);
    assertTrue(quota.isBlocked());
    quota.releaseKept(1_000);
    assertFalse(quota.isBlocked());
  }

  // Periods

  @Test
  void stalledStreamsAreCutAfterTheGraceTimeWhileTheQuotaIsUsedUp() {
    assertFalse(quota.isCutDue(0));
    quota.charge(LIMIT);
    assertFalse(quota.isCutDue(1_000));
    assertEquals(1, quota.period());
    assertFalse(quota.isCutDue(1_000 + GRACE_MS - 1));
    assertTrue(quota.isCutDue(1_000 + GRACE_MS));
    quota.beginPeriod(2_000);
    assertFalse(quota.isCutDue(2_000 + GRACE_MS - 1));
    assertTrue(quota.isCutDue(2_000 + GRACE_MS));
    assertEquals(2, quota.period());
  }

  @Test
  void periodEndsWhenAnEighthIsFree() {
    quota.charge(LIMIT - 2_000);
    quota.charge(1_000);
    quota.charge(1_000);
    assertFalse(quota.isCutDue(0));
    quota.release(1_000);
    assertFalse(quota.isCutDue(GRACE_MS), "it is not used up now");
    quota.charge(1_000);
    assertTrue(quota.isCutDue(GRACE_MS), "the same period");
    quota.release(1_000);
    quota.release(1_000);
    assertFalse(quota.isCutDue(GRACE_MS));
    quota.charge(2_000);
    assertFalse(quota.isCutDue(GRACE_MS + 1));
    assertFalse(quota.isCutDue(2 * GRACE_MS));
    assertTrue(quota.isCutDue(2 * GRACE_MS + 1), "of another period");
  }

  @Test
  void shortageBeginsAPeriodToo() {
    memory.limitBytes = 100;
    keep(500);
    assertFalse(quota.isCutDue(0));
    assertTrue(quota.isCutDue(GRACE_MS));
    memory.limitBytes = 1_000_000;
    quota.updateShortage();
    assertFalse(quota.isCutDue(2 * GRACE_MS));
    assertEquals(Long.MAX_VALUE, quota.delayMs(2 * GRACE_MS));
  }

  @Test
  void nextLookIsAtTheEndOfTheGraceTimeAndSoonWhileStreamsAreCut() {
    assertEquals(Long.MAX_VALUE, quota.delayMs(0));
    quota.charge(LIMIT);
    quota.isCutDue(1_000);
    assertEquals(GRACE_MS, quota.delayMs(1_000));
    assertEquals(100, quota.delayMs(1_000 + GRACE_MS - 100));
    assertEquals(20, quota.delayMs(1_000 + GRACE_MS - 19));
    assertEquals(20, quota.delayMs(1_000 + GRACE_MS + 1_000));
  }

  @Test
  void roomIsLookedForTenTimesASecond() {
    memory.limitBytes = 100;
    keep(500);
    assertEquals(100, quota.delayMs(0));
    quota.isCutDue(0);
    assertEquals(100, quota.delayMs(0));
    assertEquals(50, quota.delayMs(GRACE_MS - 50));
  }
}
