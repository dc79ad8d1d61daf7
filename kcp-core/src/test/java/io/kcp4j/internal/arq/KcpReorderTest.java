package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Segments that arrive out of order, as duplicates, or beyond the window. */
class KcpReorderTest {

  private final DrivenKcp driven = new DrivenKcp(counting());

  private void runToNextFlush() {
    driven.runTo(driven.nowUs + 1_000L * driven.kcp.config().intervalMs());
  }

  @Test
  void segmentsBeyondAGapWaitAndComeOutInOrder() {
    ByteBuf data = bytes(60);
    for (int sn = 59; sn >= 0; sn--) {
      assertFalse(driven.kcp.isReceivable());
      driven.receiveBatch(driven.push(sn, data.slice(sn, 1)));
    }
    assertEquals(data, driven.receiveAll());
    driven.assertNothingHeld();
  }

  @Test
  void segmentThatSharesASlotWithAnotherIsAcknowledgedOnlyOnceItIsKept() {
    ByteBuf data = bytes(20);
    driven.receiveBatch(driven.push(1, data.slice(1, 1)));
    runToNextFlush();
    for (int sn : new int[] {9, 17, 0, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 18, 19}) {
      driven.receiveBatch(driven.push(sn, data.slice(sn, 1)));
    }
    assertEquals(0, driven.count(KcpCounter.DUPLICATES));
    assertEquals(data, driven.receiveAll());
  }

  @Test
  void lastSegmentOfTheWindowIsKeptAndTheNextIsNot() {
    driven.receiveBatch(driven.push(8191, bytes(1)), driven.push(8192, bytes(1)));
    assertEquals(1, driven.count(KcpCounter.OUT_OF_WINDOW));
    runToNextFlush();
    assertEquals(List.of(8191), driven.sentSns(Segment.ACK));
  }

  @Test
  void newestSegmentInOrderIsAcknowledgedWithItsTimestamp() {
    driven.receiveBatch(
        driven.segment(Segment.PUSH, 0, 70, 0, bytes(1)),
        driven.segment(Segment.PUSH, 0, 71, 1, bytes(1)));
    runToNextFlush();
    List<SentSegment> sent = driven.sent();
    assertEquals(1, sent.size());
    assertEquals(1, sent.get(0).sn());
    assertEquals(71, sent.get(0).ts());
    assertEquals(2, sent.get(0).una());
  }

  @Test
  void everySegmentBeyondAGapIsAcknowledged() {
    driven.receiveBatch(
        driven.push(5, bytes(1)), driven.push(2, bytes(1)), driven.push(9, bytes(1)));
    runToNextFlush();
    assertEquals(List.of(5, 2, 9), driven.sentSns(Segment.ACK));
  }

  @Test
  void duplicatesAreDeliveredOnceAndAcknowledgedOncePerInterval() {
    driven.receiveBatch(driven.push(0, bytes(3)), driven.push(2, bytes(3)));
    runToNextFlush();
    assertEquals(List.of(2), driven.sentSns(Segment.ACK));
    for (int round = 1; round <= 3; round++) {
      for (int i = 0; i < 100; i++) {
        driven.receiveBatch(driven.push(0, bytes(3)), driven.push(2, bytes(3)));
      }
      assertEquals(List.of(), driven.sent());
      runToNextFlush();
      assertEquals(List.of(2), driven.sentSns(Segment.ACK)); // una acknowledges 0
      assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
    }
    assertEquals(600, driven.count(KcpCounter.DUPLICATES));
    assertEquals(bytes(3), driven.receiveAll());
  }

  @Test
  void duplicateBelowUnaAloneIsAcknowledgedOncePerInterval() {
    driven.receiveBatch(driven.push(0, bytes(3)));
    runToNextFlush();
    driven.sent();
    for (int i = 0; i < 100; i++) {
      driven.receiveBatch(driven.push(0, bytes(3)));
    }
    assertEquals(List.of(), driven.sent());
    runToNextFlush();
    assertEquals(List.of(0), driven.sentSns(Segment.ACK));
  }

  @Test
  void duplicatesAreAcknowledgedAtTheIntervalEvenWithoutAckDelay() {
    DrivenKcp eager = new DrivenKcp(counting().ackNoDelay(true));
    eager.receiveBatch(eager.push(0, bytes(3)));
    assertEquals(List.of(0), eager.sentSns(Segment.ACK));
    eager.receiveBatch(eager.push(0, bytes(3)));
    assertEquals(List.of(), eager.sent());
    eager.runTo(20_000);
    assertEquals(List.of(0), eager.sentSns(Segment.ACK));
  }

  @Test
  void emptySegmentInStreamModeIsConsumed() {
    driven.receiveBatch(driven.push(1, Unpooled.EMPTY_BUFFER), driven.push(2, bytes(4)));
    driven.receiveBatch(driven.push(0, Unpooled.EMPTY_BUFFER));
    assertEquals(bytes(4), driven.receiveAll());
    assertNull(driven.kcp.receive());
    runToNextFlush();
    assertTrue(driven.sent().stream().allMatch(s -> s.una() == 3));
    driven.assertNothingHeld();
  }

  @Test
  void streamModeIgnoresFragmentNumbers() {
    driven.receiveBatch(driven.fragment(0, 255, bytes(2)), driven.fragment(1, 7, bytes(2)));
    assertEquals(4, driven.receiveAll().readableBytes());
    assertNull(driven.kcp.failure());
  }

  @Test
  void closingReleasesWhatWaits() {
    driven.receiveBatch(
        driven.push(0, bytes(700)), driven.push(2, bytes(700)), driven.push(3, bytes(7)));
    driven.sendSegments(3);
    driven.kcp.close();
    driven.assertNothingHeld();
  }

  private static DrivenKcp beforeALargeGapCloses(Delivery delivery) {
    DrivenKcp driven = new DrivenKcp(counting().delivery(delivery).receiveWindow(65_535));
    for (int sn = 1; sn < 5000; sn++) {
      driven.input(driven.push(sn, bytes(1000)));
    }
    return driven;
  }

  @Test
  void largeGapIsClosedInStepsAsTheReaderTakesWhatItHas() {
    for (Delivery delivery : List.of(Delivery.STREAM, Delivery.MESSAGE)) {
      DrivenKcp driven = beforeALargeGapCloses(delivery);
      driven.input(driven.push(0, bytes(1000)));
      ByteBuf received = driven.receiveAll();
      assertEquals(5000 * 1000, received.readableBytes());
      for (int at = 0; at < 5000 * 1000; at += 1000) {
        assertEquals(bytes(1000), received.slice(at, 1000));
      }
      driven.kcp.afterInput(driven.nowUs, driven);
      driven.runTo(100_000);
      driven.assertNothingHeld();
      List<SentSegment> sent = driven.sent();
      assertEquals(5000, sent.get(sent.size() - 1).una());
    }
  }

  @Test
  void largeGapIsClosedByFlushesWhereNobodyReads() {
    DrivenKcp driven = beforeALargeGapCloses(Delivery.STREAM);
    driven.receiveBatch(driven.push(0, bytes(1000)));
    driven.receiveBatch(driven.wask());
    List<SentSegment> sent = driven.sent();
    assertEquals(257, sent.get(sent.size() - 1).una());
    int intervals = 0;
    for (; driven.kcp.nextDeadline() < Time.NO_DEADLINE; intervals++) {
      driven.runTo(driven.kcp.nextDeadline());
    }
    assertEquals(19, intervals, "steps of 256 segments");
    driven.sent();
    driven.receiveBatch(driven.wask());
    assertEquals(5000, driven.sent().get(0).una());
  }
}
