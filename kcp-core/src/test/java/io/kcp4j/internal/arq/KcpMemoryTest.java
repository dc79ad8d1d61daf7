package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.TS_ORIGIN;
import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.buffer.SendRing;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The memory that a session holds, and how it behaves when the shared budget is exhausted. */
class KcpMemoryTest {

  private static DrivenKcp limited(int budgetBytes) {
    return new DrivenKcp(KcpConfig.DEFAULT, new MemoryBudget(budgetBytes), TS_ORIGIN, 0);
  }

  @Test
  void tinySegmentsInOrderHoldLittleMoreThanTheirPayload() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().receiveWindow(20_000));
    for (int sn = 0; sn < 20_000; sn++) {
      driven.input(driven.push(sn, bytes(1)));
    }
    assertTrue(driven.kcp.stats().usedMemoryBytes() < 3 * 20_000);
  }

  @Test
  void tinySegmentsBeyondAGapHoldLittleMoreThanTheirPayload() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().receiveWindow(20_001));
    for (int sn = 1; sn <= 20_000; sn++) {
      driven.input(driven.push(sn, bytes(1)));
    }
    // A segment holds its payload, 20 bytes for its fields, and up to 16 for its pending
    // acknowledgement. Payloads share blocks of 4 KiB.
    long heldBytes = driven.kcp.stats().usedMemoryBytes();
    assertTrue(heldBytes <= 20_000 * (1 + 20 + 16) + 2 * 4096, heldBytes + " bytes");
    assertTrue(heldBytes >= 20_000 * (1 + 20 + 8), heldBytes + " bytes");
  }

  @Test
  void tinyWritesHoldLittleMoreThanTheirPayload() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().sendQueue(20_000));
    for (int i = 0; i < 20_000; i++) {
      assertTrue(driven.kcp.send(bytes(1)));
    }
    assertTrue(driven.kcp.stats().usedMemoryBytes() < 3 * 20_000);
  }

  @Test
  void memoryOfAStreamIsReleasedAfterTheBatchThatAcknowledgesAllOfIt() {
    DrivenKcp driven =
        new DrivenKcp(
            KcpConfig.builder()
                .sendWindow(256)
                .maxBurst(0)
                .congestionControl(CongestionControl.NONE));
    driven.peerWnd = 256;
    driven.receiveBatch(driven.wins());
    driven.sendSegments(200);
    long streamBytes = driven.kcp.stats().usedMemoryBytes();

    driven.peerUna = 200;
    driven.input(driven.wins());
    driven.sendSegments(200); // The stream continues, so its memory is reused.
    driven.kcp.afterInput(driven.nowUs, driven);
    assertEquals(streamBytes, driven.kcp.stats().usedMemoryBytes());

    driven.peerUna = 400;
    driven.input(driven.wins());
    assertFalse(driven.kcp.isQuiescent());
    driven.kcp.afterInput(driven.nowUs, driven);
    assertTrue(driven.kcp.isQuiescent());
    assertEquals(0, driven.kcp.stats().usedMemoryBytes());
    assertEquals(0, driven.budget.usedBytes());
  }

  /** Of two sessions, one measures delivery rates from some segment on. */
  @ParameterizedTest
  @ValueSource(ints = {0, 5, 35})
  void whatIsKeptForDeliveryRatesIsCharged(int segmentsBefore) {
    DrivenKcp without = new DrivenKcp(DrivenKcp.counting());
    DrivenKcp measuring = new DrivenKcp(DrivenKcp.counting());
    if (segmentsBefore > 0) {
      without.sendSegments(segmentsBefore);
      measuring.sendSegments(segmentsBefore);
    }
    KcpConfig config = measuring.kcp.config();
    measuring.kcp.reconfigure(config.toBuilder().congestionControl(CongestionControl.BBR).build());
    without.sendSegments(40 - segmentsBefore);
    measuring.sendSegments(40 - segmentsBefore);
    int ringBytes = 64 * SendRing.DELIVERY_BYTES;
    assertEquals(
        without.kcp.stats().usedMemoryBytes() + ringBytes, measuring.kcp.stats().usedMemoryBytes());
    assertEquals(measuring.kcp.stats().usedMemoryBytes(), measuring.budget.usedBytes());

    measuring.kcp.close();
    measuring.assertNothingHeld();
    without.kcp.close();
  }

  @Test
  void emptyMessagesAreChargedToTheBudget() {
    DrivenKcp driven =
        new DrivenKcp(
            KcpConfig.builder().delivery(Delivery.MESSAGE).build(),
            new MemoryBudget(10 * 128 + 16 * 8),
            TS_ORIGIN,
            0);
    for (int sn = 0; sn < 11; sn++) {
      driven.receiveBatch(driven.push(sn, bytes(0)));
    }
    assertEquals(1, driven.count(KcpCounter.OVER_BUDGET));
    assertEquals(10 * 128 + 16 * 8, driven.budget.usedBytes());
  }

  @Test
  void segmentOverTheBudgetIsNotAcknowledgedAndAcceptedOnRetransmission() {
    DrivenKcp driven = limited(2000);
    driven.receiveBatch(driven.push(0, bytes(1000)));
    driven.receiveBatch(driven.push(1, bytes(1000)), driven.push(2, bytes(1000)));
    assertEquals(2, driven.count(KcpCounter.OVER_BUDGET));
    driven.runTo(20_000);
    assertTrue(driven.sent().stream().allMatch(s -> s.sn() == 0 && s.una() == 1));
    driven.receiveAll();
    driven.receiveBatch(driven.push(1, bytes(1000)));
    assertEquals(bytes(1000), driven.receiveAll());
  }

  @Test
  void segmentsBeyondAGapLeaveRoomForTheSegmentThatFillsIt() {
    DrivenKcp driven = limited(40_000);
    for (int sn = 1; sn < 60; sn++) {
      driven.input(driven.push(sn, bytes(1000)));
    }
    assertEquals(29, driven.kcp.stats().usedMemoryBytes() / 1000);
    driven.receiveBatch(driven.push(0, bytes(1000)));
    int received = 0;
    for (int i = 0; i < 30; i++) {
      received += driven.receiveAll().readableBytes();
    }
    assertEquals(30 * 1000, received);
    driven.assertNothingHeld();
  }

  @Test
  void segmentsBlockedByTheBudgetAreDeliveredOnceItHasRoom() {
    DrivenKcp driven = limited(20_000);
    driven.receiveBatch(driven.push(1, bytes(5000)));
    driven.budget.charge(10_000);
    driven.receiveBatch(driven.push(0, bytes(1)));
    assertEquals(1, driven.receiveAll().readableBytes());
    assertFalse(driven.kcp.isReceivable());
    driven.runTo(100_000);
    driven.budget.release(10_000);
    driven.runTo(driven.kcp.nextDeadline());
    assertTrue(driven.kcp.isReceivable());
    assertEquals(bytes(5000), driven.receiveAll());
    driven.kcp.afterSend(driven.nowUs, driven);
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
  }

  @Test
  void drainedSessionHoldsNothing() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().congestionControl(CongestionControl.NONE));
    driven.sendSegments(20);
    for (int sn = 19; sn >= 0; sn--) {
      driven.input(driven.push(sn, bytes(100)));
    }
    driven.peerUna = 20;
    driven.receiveBatch(driven.wins());
    driven.receiveAll();
    driven.assertNothingHeld();
  }

  private static DrivenKcp messages(int budgetBytes) {
    KcpConfig config = KcpConfig.builder().delivery(Delivery.MESSAGE).build();
    return new DrivenKcp(config, new MemoryBudget(budgetBytes), TS_ORIGIN, 0);
  }

  @Test
  void sendBufferOfAStreamHoldsAtMostHalfOfTheBudget() {
    DrivenKcp driven = limited(100_000);
    ByteBuf data = bytes(200_000);
    assertFalse(driven.kcp.send(data));
    assertTrue(driven.kcp.isSendShortOfMemory());
    assertFalse(driven.kcp.isSendable());
    int accepted = data.readerIndex();
    assertTrue(accepted > 40_000, "accepted: " + accepted);
    assertTrue(driven.budget.sendBytes() <= 50_000);
    assertFalse(driven.kcp.send(data));
    assertEquals(accepted, data.readerIndex());
    driven.kcp.close();
    driven.assertNothingHeld();
  }

  @Test
  void messageOverTheBudgetIsRefusedWhole() {
    DrivenKcp driven = messages(100_000);
    assertTrue(driven.kcp.send(bytes(30_000)));
    ByteBuf data = bytes(30_000);
    assertFalse(driven.kcp.send(data));
    assertEquals(30_000, data.readableBytes());
    assertTrue(driven.kcp.isSendShortOfMemory());
    assertTrue(driven.kcp.send(bytes(100)), "a smaller message fits");
    assertFalse(driven.kcp.isSendShortOfMemory());
  }

  @Test
  void sessionThatHoldsNothingMaySendOneSegmentOrMessageOverTheBudget() {
    DrivenKcp stream = limited(100_000);
    stream.budget.charge(100_000);
    ByteBuf data = bytes(10_000);
    assertFalse(stream.kcp.send(data));
    assertEquals(1176, data.readerIndex());
    stream.kcp.afterSend(0, stream);
    assertFalse(stream.kcp.send(data));
    assertEquals(1176, data.readerIndex());
    stream.peerUna = 1;
    stream.input(stream.wins());
    assertFalse(stream.kcp.send(data));
    assertEquals(2 * 1176, data.readerIndex());

    DrivenKcp message = messages(100_000);
    message.budget.charge(100_000);
    assertTrue(message.kcp.send(bytes(20_000)));
    assertFalse(message.kcp.send(bytes(1)));
  }

  @Test
  void sendWithoutMemoryIsRetriedOnTheNextAcknowledgementAndNotPolled() {
    DrivenKcp driven = limited(100_000);
    driven.sendSegments(1);
    driven.budget.charge(97_000);
    assertFalse(driven.kcp.send(bytes(10_000)));
    driven.kcp.afterSend(0, driven);
    assertEquals(200_000, driven.kcp.nextDeadline(), "the retransmission timeout");
    assertFalse(driven.kcp.takeSendRetry());
    driven.budget.release(97_000);
    driven.peerUna = 1;
    driven.receiveBatch(driven.wins());
    assertTrue(driven.kcp.takeSendRetry());
  }

  @Test
  void sendWithoutMemoryIsNotPolledWhileTheWindowIsClosed() {
    DrivenKcp driven = limited(100_000);
    driven.peerWnd = 0;
    driven.receiveBatch(driven.wins());
    assertFalse(driven.kcp.send(bytes(200_000)));
    driven.kcp.afterSend(0, driven);
    assertTrue(driven.kcp.isSendShortOfMemory());
    assertEquals(500_000, driven.kcp.nextDeadline());
  }

  @Test
  void queueIsResegmentedThoughTheBudgetForSendingIsFull() {
    DrivenKcp driven = limited(100_000);
    driven.peerWnd = 0;
    driven.receiveBatch(driven.wins());
    ByteBuf data = bytes(200_000);
    driven.kcp.send(data);
    driven.kcp.reconfigure(driven.kcp.config().toBuilder().mtuBytes(500).build());
    driven.peerWnd = 256;
    driven.receiveBatch(driven.wins());
    int sent = 0;
    while (sent < data.readerIndex()) {
      driven.nowUs += 1_000;
      driven.kcp.flush(driven.nowUs, driven);
      for (SentSegment segment : driven.sent()) {
        assertEquals(data.slice(sent, segment.payload().readableBytes()), segment.payload());
        sent += segment.payload().readableBytes();
        driven.peerUna = segment.sn() + 1;
      }
      driven.receiveBatch(driven.wins());
    }
    driven.assertNothingHeld();
  }

  // The advertised window

  private static int advertisedWnd(DrivenKcp driven) {
    return driven.sent().get(0).wnd();
  }

  @Test
  void advertisedWindowIsLimitedByTheBudget() {
    DrivenKcp driven = limited(100_000);
    driven.receiveBatch(driven.wask());
    assertEquals(100_000 / (1200 + 128), advertisedWnd(driven));
    driven.budget.charge(90_000);
    driven.receiveBatch(driven.wask());
    assertEquals(7, advertisedWnd(driven));
    driven.budget.charge(9_000);
    driven.receiveBatch(driven.wask());
    assertEquals(0, advertisedWnd(driven));
  }

  @Test
  void windowThatOpensWhenMemoryIsFreeIsAdvertisedWithinAnInterval() {
    DrivenKcp driven = limited(100_000);
    driven.budget.charge(99_000);
    driven.receiveBatch(driven.wask());
    assertEquals(0, advertisedWnd(driven));
    driven.runTo(500_000);
    assertEquals(0, driven.sent().size());
    driven.budget.release(99_000);
    driven.runTo(520_000);
    assertEquals(75, advertisedWnd(driven));
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
  }

  @Test
  void inactivePeerGetsAWindowUpdateOnlyAfterAProbeOrARead() {
    DrivenKcp driven = limited(2600);
    driven.receiveBatch(driven.push(0, bytes(1100)), driven.push(1, bytes(1100)));
    driven.runTo(20_000);
    assertEquals(0, advertisedWnd(driven));
    driven.runTo(2_000_000);
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
    driven.receiveAll();
    driven.kcp.afterSend(driven.nowUs, driven);
    SentSegment update = driven.sent().get(0);
    assertEquals(Segment.WINS, update.cmd());
    assertEquals(1, update.wnd());
  }

  /** Each of many sessions was tried a hundred times a second. */
  @Test
  void sessionWithoutMemoryToSendIsTriedLessAndLessOften() {
    MemoryBudget budget = new MemoryBudget(MemoryLimit.shared(1 << 20));
    DrivenKcp driven =
        new DrivenKcp(KcpConfig.builder().delivery(Delivery.MESSAGE).build(), budget, TS_ORIGIN, 0);
    MemoryAccount others = MemoryAccount.of(budget);
    others.network(1);
    others.chargeToSend(1 << 20);
    ByteBuf message = bytes(10_000);
    int tries = 0;
    assertFalse(driven.kcp.send(message));
    driven.kcp.afterInput(driven.nowUs, driven);
    for (long endUs = driven.nowUs + 10_000_000; driven.kcp.nextDeadline() < endUs; tries++) {
      driven.nowUs = driven.kcp.nextDeadline();
      driven.kcp.flush(driven.nowUs, driven);
      assertFalse(driven.kcp.send(message));
      driven.kcp.afterInput(driven.nowUs, driven);
    }
    assertTrue(tries > 9 && tries < 30, "" + tries);
    others.releaseToSend(1 << 20);
    driven.kcp.memoryBecameFree();
    driven.kcp.flush(driven.nowUs, driven);
    assertTrue(driven.kcp.send(message));
  }
}
