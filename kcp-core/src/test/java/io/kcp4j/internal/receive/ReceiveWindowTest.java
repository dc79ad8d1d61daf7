package io.kcp4j.internal.receive;

import static io.kcp4j.internal.arq.DrivenKcp.TS_ORIGIN;
import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.DrivenKcp;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.arq.SentSegment;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Segment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The receive window follows the path, as far as limit, reader and memory allow. */
class ReceiveWindowTest {

  private static final int RTT_US = 100_000;

  private static final long START_US = 10_000_000;

  /** What one segment takes of the memory budget when the window is advertised. */
  private static final int SEGMENT_BYTES = 1200 + 128;

  private int nextSn;

  /** The window in force, which a window probe asks for. */
  private static int advertised(DrivenKcp driven) {
    driven.sent();
    driven.receiveBatch(driven.wask());
    return driven.sent().stream().filter(s -> s.cmd() == Segment.WINS).findFirst().get().wnd();
  }

  private void arrive(DrivenKcp driven, int segments, int payloadBytes) {
    for (int i = 0; i < segments; i++) {
      assertEquals(InputResult.ACCEPTED, driven.input(driven.push(nextSn++, bytes(payloadBytes))));
    }
  }

  /** So many segments arrive as one batch, and are read. */
  private void deliver(DrivenKcp driven, int segments) {
    arrive(driven, segments, 1);
    assertEquals(segments, driven.receiveAll().readableBytes());
    driven.kcp.afterInput(driven.nowUs, driven);
  }

  /** A session that has measured a round trip, and whose current period begins now. */
  private DrivenKcp measured(KcpConfig.Builder config) {
    DrivenKcp driven = new DrivenKcp(config);
    driven.sendSegments(1);
    driven.runTo(RTT_US);
    driven.peerUna = 1;
    driven.receiveBatch(driven.ack(0, TS_ORIGIN));
    assertEquals(RTT_US, driven.kcp.stats().srttUs());
    driven.runTo(START_US);
    deliver(driven, 32);
    assertEquals(KcpConfig.INITIAL_WINDOW, advertised(driven));
    return driven;
  }

  private DrivenKcp measured() {
    return measured(counting());
  }

  @Test
  void limitOfAtMost1024SegmentsIsTheWindowFromTheStart() {
    assertEquals(1, advertised(new DrivenKcp(counting().receiveWindow(1))));
    assertEquals(1024, advertised(new DrivenKcp(counting().receiveWindow(1024))));
    assertEquals(256, advertised(new DrivenKcp(counting().receiveWindow(1025))));
    assertEquals(256, advertised(new DrivenKcp(counting().receiveWindow(65_535))));
  }

  @Test
  void windowDoublesWhenHalfOfItIsReadInLessThanTwoRoundTrips() {
    DrivenKcp driven = measured();
    driven.runTo(START_US + 2 * RTT_US - 1);
    deliver(driven, 128);
    assertEquals(512, advertised(driven));
  }

  @Test
  void windowStaysWhenHalfOfItIsReadInTwoRoundTrips() {
    DrivenKcp driven = measured();
    driven.runTo(START_US + 2 * RTT_US);
    deliver(driven, 128);
    assertEquals(256, advertised(driven));
  }

  @Test
  void windowStaysWhenLessThanHalfOfItIsRead() {
    DrivenKcp driven = measured();
    driven.runTo(START_US + RTT_US);
    deliver(driven, 127);
    assertEquals(256, advertised(driven));
  }

  @Test
  void windowStaysWhenTheReaderDoesNotTakeWhatArrives() {
    DrivenKcp driven = measured();
    for (int i = 0; i < 256; i++) {
      driven.runTo(driven.nowUs + 1_000);
      arrive(driven, 1, 1);
      driven.kcp.afterInput(driven.nowUs, driven);
    }
    assertEquals(0, advertised(driven));
    driven.runTo(driven.nowUs + 2 * RTT_US);
    driven.receiveAll();
    assertEquals(256, advertised(driven));
  }

  @Test
  void periodBeginsAnewAfterAPause() {
    DrivenKcp driven = measured();
    driven.runTo(START_US + 3 * RTT_US);
    deliver(driven, 50);
    driven.runTo(driven.nowUs + RTT_US);
    deliver(driven, 127);
    assertEquals(256, advertised(driven));
    deliver(driven, 1);
    assertEquals(512, advertised(driven));
  }

  @Test
  void windowGrowsToItsLimitAndNotBeyond() {
    DrivenKcp driven = measured(counting().receiveWindow(3000));
    for (int window : new int[] {512, 1024, 2048, 3000, 3000}) {
      driven.runTo(driven.nowUs + RTT_US);
      deliver(driven, Math.min(window, 2048) / 2);
      assertEquals(window, advertised(driven));
    }
  }

  @Test
  void limitThatShrinksIsTheWindowAtOnce() {
    DrivenKcp driven = measured();
    driven.runTo(START_US + RTT_US);
    deliver(driven, 128);
    driven.kcp.reconfigure(counting().receiveWindow(2000).build());
    assertEquals(512, advertised(driven));
    driven.kcp.reconfigure(counting().receiveWindow(300).build());
    assertEquals(300, advertised(driven));
    driven.kcp.reconfigure(counting().receiveWindow(2000).build());
    assertEquals(300, advertised(driven));
  }

  /** The end of each window arrives a round trip after it was advertised. */
  @Test
  void sessionThatOnlyReceivesMeasuresTheRoundTripByItsWindow() {
    DrivenKcp driven = new DrivenKcp(counting());
    deliver(driven, 32);
    assertEquals(256, advertised(driven));
    deliver(driven, 128);
    assertEquals(512, advertised(driven));
    driven.runTo(RTT_US);
    deliver(driven, 512);
    assertEquals(1024, advertised(driven));
    driven.runTo(3 * RTT_US);
    deliver(driven, 512);
    assertEquals(1024, advertised(driven), "two round trips later");
    driven.runTo(5 * RTT_US - 1);
    deliver(driven, 512);
    assertEquals(2048, advertised(driven), "in less than two round trips");
  }

  /** It has sent one request, and the path has become longer since. */
  @Test
  void roundTripOfLongAgoGivesWayToThatOfTheWindow() {
    DrivenKcp driven = measured();
    driven.runTo(driven.nowUs + 11_000_000);
    deliver(driven, 128);
    driven.runTo(driven.nowUs + 5 * RTT_US);
    deliver(driven, 256);
    assertEquals(512, advertised(driven));
    driven.runTo(driven.nowUs + 8 * RTT_US);
    deliver(driven, 256);
    assertEquals(1024, advertised(driven));
  }

  @Test
  void slowSenderToASessionThatOnlyReceivesDoesNotMakeTheWindowGrow() {
    DrivenKcp driven = new DrivenKcp(counting());
    for (int i = 0; i < 10_000; i++) {
      driven.runTo(driven.nowUs + 16_000);
      deliver(driven, 1);
    }
    assertEquals(256, advertised(driven));
  }

  /**
   * The round trip of 20 ms is measured anew for longer than it counts. The reader takes half of
   * the window at a time, and the peer fills it again a round trip later.
   */
  @ParameterizedTest
  @ValueSource(ints = {500_000, 1_000_000, 1_900_000})
  void slowReaderOfASessionThatOnlyReceivesDoesNotMakeTheWindowGrow(int halfUs) {
    int roundTripUs = 20_000;
    DrivenKcp driven = new DrivenKcp(counting().delivery(Delivery.MESSAGE));
    deliver(driven, 32);
    driven.runTo(START_US);
    deliver(driven, 128); // The peer waits for the window of this flush.
    int segments = 256;
    for (long readAtUs = START_US; readAtUs < START_US + 60_000_000; readAtUs += halfUs) {
      driven.runTo(readAtUs + roundTripUs);
      arrive(driven, segments, 1);
      driven.kcp.afterInput(driven.nowUs, driven);
      driven.runTo(readAtUs + halfUs);
      for (segments = 0; segments < 128; segments++) {
        driven.kcp.receive().release();
      }
      driven.kcp.afterInput(driven.nowUs, driven);
      assertEquals(128, advertised(driven), "at " + driven.nowUs);
    }
  }

  @Test
  void oldPeerSeesNothingButLargerWindows() {
    DrivenKcp driven = new DrivenKcp(counting());
    int largest = 0;
    for (int round = 1; round <= 8; round++) {
      driven.runTo((long) round * RTT_US);
      deliver(driven, Math.max(largest / 2, 128));
      for (SentSegment segment : driven.sent()) {
        assertEquals(Segment.ACK, segment.cmd());
        assertTrue(segment.wnd() >= largest);
        largest = segment.wnd();
      }
    }
    assertEquals(KcpConfig.DEFAULT_WINDOW, largest);
  }

  @Test
  void windowOfAPeerThatMayBeForgedDoesNotGrow() {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.kcp.limitSending(() -> Long.MAX_VALUE);
    for (int round = 0; round < 10; round++) {
      deliver(driven, 128);
    }
    assertEquals(256, advertised(driven));
    driven.kcp.endSendLimit();
    deliver(driven, 128);
    assertEquals(512, advertised(driven));
  }

  @Test
  void segmentsUpToTheLimitAreKeptWhateverTheWindowIs() {
    DrivenKcp driven = new DrivenKcp(counting().receiveWindow(3000));
    driven.input(driven.push(2999, bytes(1)), driven.push(3000, bytes(1)));
    assertEquals(1, driven.count(KcpCounter.OUT_OF_WINDOW));
  }

  @Test
  void sessionWhoseWindowHasGrownHoldsNothingWhenItIsIdle() {
    DrivenKcp driven = new DrivenKcp(counting());
    for (int round = 1; round <= 10; round++) {
      driven.runTo((long) round * RTT_US);
      deliver(driven, 4096);
    }
    assertEquals(KcpConfig.DEFAULT_WINDOW, advertised(driven));
    driven.assertNothingHeld();
  }

  // Memory

  private static DrivenKcp limited(long budgetBytes) {
    return new DrivenKcp(counting().build(), new MemoryBudget(budgetBytes), TS_ORIGIN, 0);
  }

  private DrivenKcp grown(long budgetBytes) {
    DrivenKcp driven = limited(budgetBytes);
    for (int round = 1; round <= 10; round++) {
      driven.runTo((long) round * RTT_US);
      deliver(driven, 4096);
    }
    return driven;
  }

  @Test
  void largeWindowIsAtMostAnEighthOfTheMemoryThatIsLeft() {
    DrivenKcp driven = grown(8L * 4096 * SEGMENT_BYTES);
    assertEquals(4096, advertised(driven));
    driven.budget.charge(4L * 4096 * SEGMENT_BYTES);
    assertEquals(2048, advertised(driven));
    driven.budget.charge(4L * 4000 * SEGMENT_BYTES);
    assertEquals(256, advertised(driven), "the initial window");
    driven.budget.charge(4L * 90 * SEGMENT_BYTES);
    assertEquals(24, advertised(driven), "all that is left");
    driven.budget.release(4L * 4090 * SEGMENT_BYTES);
    assertEquals(2048, advertised(driven));
  }

  /** The peer sends what the window allows, and never more than arrives in a millisecond. */
  @Test
  void sessionWhoseReaderStopsHoldsWhatTheBudgetGivesIt() {
    long budgetBytes = 4 << 20;
    DrivenKcp driven = grown(budgetBytes);
    for (int wnd = advertised(driven); wnd > 0; wnd = advertised(driven)) {
      arrive(driven, Math.min(wnd, 100), 1000);
      driven.kcp.afterInput(driven.nowUs, driven);
      driven.runTo(driven.nowUs + 1_000);
    }
    assertEquals(0, driven.count(KcpCounter.OVER_BUDGET));
    assertTrue(driven.budget.usedBytes() <= budgetBytes);
    assertTrue(
        driven.budget.usedBytes() > budgetBytes - 100 * 1024, driven.budget.usedBytes() + " bytes");
    driven.receiveAll();
    driven.assertNothingHeld();
  }
}
