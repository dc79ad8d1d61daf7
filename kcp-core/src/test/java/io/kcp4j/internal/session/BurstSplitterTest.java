package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.session.FlushProtection.BurstSplitter;
import org.junit.jupiter.api.Test;

/** {@link BurstSplitter} with groups of four and datagrams of 1400 bytes. */
class BurstSplitterTest {

  private static final int MOST = 1400;
  private static final long GAP_US = 2_000;
  private static final long TICK_US = 16_667;

  private final BurstSplitter splitter = new BurstSplitter(4);
  private long tickAtUs = TICK_US;

  private int flush(int bytes, int placesLeft, long afterUs) {
    splitter.onFlush(bytes, GAP_US, tickAtUs + afterUs);
    return splitter.datagrams(bytes, MOST, placesLeft);
  }

  private int tick(int bytes) {
    int datagrams = flush(bytes, 4, 0);
    tickAtUs += TICK_US;
    return datagrams;
  }

  private void learn(int bytes) {
    for (int i = 0; i < 40; i++) {
      tick(bytes);
    }
  }

  @Test
  void firstFlushIsSplitIntoWholeGroups() {
    assertEquals(4, tick(1));
    assertEquals(4, new BurstSplitterTest().tick(4 * MOST));
    assertEquals(8, new BurstSplitterTest().tick(4 * MOST + 1));
    assertEquals(16, new BurstSplitterTest().tick(16 * MOST));
  }

  @Test
  void flushOfTheUsualSizeFillsItsGroups() {
    learn(1250);
    assertEquals(4, tick(1250));
    assertEquals(4, tick(1100));
    assertEquals(4, tick(1500));
    learn(8000);
    assertEquals(8, tick(8000));
    assertEquals(8, tick(7000));
  }

  @Test
  void largeFlushIsNotSplitMoreThanNeeded() {
    learn(400);
    assertEquals(4, tick(1250));
  }

  @Test
  void partOfABurstIsNotSplitIntoAWholeGroup() {
    for (int i = 0; i < 40; i++) {
      flush(313, 4, 0);
      flush(313, 3, 300);
      flush(313, 2, 500);
      flush(311, 1, 900);
      tickAtUs += TICK_US;
    }
    assertEquals(1, flush(313, 4, 0));
    assertEquals(2, flush(626, 3, 300));
    assertEquals(1, flush(311, 1, 900));
    tickAtUs += TICK_US;
    assertEquals(3, flush(939, 4, 0));
    assertEquals(1, flush(311, 1, 400));
    tickAtUs += TICK_US;
    assertEquals(4, flush(1250, 4, 0), "all parts at the same time");
  }

  @Test
  void groupIsNotBegunForASingleDatagram() {
    learn(1250);
    assertEquals(1, flush(500, 1, 0));
    tickAtUs += TICK_US;
    assertEquals(3, flush(1250, 3, 0));
  }

  @Test
  void datagramsNeverExceedTheLargest() {
    learn(1250);
    for (int bytes = 1; bytes < 16 * MOST; bytes += 97) {
      for (int places = 1; places <= 4; places++) {
        int datagrams = splitter.datagrams(bytes, MOST, places);
        assertTrue(datagrams * MOST >= bytes && datagrams >= 1, bytes + " in " + datagrams);
      }
    }
  }

  @Test
  void burstOfAnotherSizeIsLearnedWithinSomeTicks() {
    learn(1250);
    learn(400);
    assertEquals(4, tick(400));
    learn(2500);
    assertEquals(4, tick(2500));
  }

  @Test
  void sessionThatFlushesAllTheTimeIsNotSplitAtEachFlush() {
    int datagrams = 0;
    for (int i = 0; i < 400; i++) {
      int split = flush(500, 4 - datagrams % 4, i * 1_000L);
      datagrams += i < 100 ? 0 : split;
    }
    assertEquals(300, datagrams, 5);
  }

  @Test
  void copiesAreCheaperUpToASizeThatFallsWithTheParity() {
    int[] limits = {264, 136, 94};
    for (int parity = 1; parity <= 3; parity++) {
      assertTrue(isCheaperCopied(limits[parity - 1] - 4, parity));
      assertFalse(isCheaperCopied(limits[parity - 1] + 4, parity));
    }
  }

  private static boolean isCheaperCopied(int bytes, int parity) {
    BurstSplitter splitter = new BurstSplitter(4);
    splitter.onFlush(bytes, GAP_US, TICK_US);
    return splitter.isCheaperCopied(parity, MOST);
  }

  @Test
  void smallPartOfALargerBurstIsNotCopied() {
    learn(1000);
    splitter.onFlush(250, GAP_US, tickAtUs);
    assertFalse(splitter.isCheaperCopied(1, MOST));
  }

  @Test
  void copiesAreForSingleDatagramsOnly() {
    splitter.onFlush(200, GAP_US, TICK_US);
    assertTrue(splitter.isCheaperCopied(1, 200));
    assertFalse(splitter.isCheaperCopied(1, 199));
  }
}
