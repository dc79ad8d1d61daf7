package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.receive.ReceiveQueue;
import io.kcp4j.internal.receive.ReorderBuffer;
import io.kcp4j.internal.recovery.FastRetransmitDetector;
import io.kcp4j.internal.recovery.LossDetector;
import io.kcp4j.internal.recovery.RttEstimator;
import io.kcp4j.internal.send.SendBuffer;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.junit.jupiter.api.Test;

/** What rings, pages and lists cost, and that a session which has come to rest gives them back. */
class KcpIdleMemoryTest {

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  private final MemoryBudget budget = MemoryBudget.unlimited();
  private final KcpContext context = new KcpContext(allocator, budget, new KcpCounters());
  private final LossDetector losses = new FastRetransmitDetector(new RttEstimator());

  @Test
  void sendBufferGivesItsRingBackWithTheLastSegment() {
    SendBuffer buffer =
        new SendBuffer(
            new MemoryAccount(context), losses, new KcpContext.PerThread().sendRings, -100);
    for (int burst = 0; burst < 3; burst++) {
      buffer.appendStream(bytes(512 * 10), 512 * 10, 10);
      assertEquals(512, buffer.ringCapacity());
      assertTrue(budget.usedBytes() >= 512 * (56 + 10 + 24));
      assertEquals(budget.usedBytes(), buffer.heldBytes());
      while (buffer.queued() > 0) {
        buffer.sent(1, 0, 0);
      }
      buffer.acknowledgeBelow(buffer.next() - 1, 0);
      assertEquals(512, buffer.ringCapacity());
      buffer.acknowledgeBelow(buffer.next(), 0);
      assertEquals(0, buffer.ringCapacity());
      assertEquals(0, budget.usedBytes());
    }
  }

  @Test
  void sendBufferGivesARingOfAFewSegmentsBackToo() {
    SendBuffer buffer =
        new SendBuffer(new MemoryAccount(context), losses, new KcpContext.PerThread().sendRings, 0);
    for (int i = 0; i < 3; i++) {
      buffer.appendStream(bytes(40), 40, 10);
      while (buffer.queued() > 0) {
        buffer.sent(1, 0, 0);
      }
      buffer.acknowledgeBelow(buffer.next() - 1, 0);
      assertEquals(4, buffer.ringCapacity());
      buffer.acknowledgeBelow(buffer.next(), 0);
      assertEquals(0, buffer.ringCapacity());
      assertEquals(0, budget.usedBytes());
    }
  }

  @Test
  void queueReturnsItsRingWhenAllMessagesAreRead() {
    ReceiveQueue queue =
        new ReceiveQueue(
            new MemoryAccount(context), new KcpContext.PerThread().queueRings, Delivery.MESSAGE);
    for (int i = 0; i < 1000; i++) {
      assertTrue(queue.add(bytes(1), 0, 1, 0));
    }
    assertEquals(1000 * (1 + 128) + 1024 * 8, queue.heldBytes());
    for (ByteBuf taken; (taken = queue.take()) != null; ) {
      taken.release();
    }
    assertEquals(0, queue.ringCapacity());
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void segmentFarAheadCostsWhatItTakesAndNotWhatLiesBetween() {
    ReorderBuffer buffer = new ReorderBuffer(new MemoryAccount(context));
    assertTrue(buffer.add(65_534, 65_534, 0, bytes(1), 0, 1, 0));
    assertEquals(640 + 4096 + 2048 * 4, buffer.heldBytes());
    assertTrue(buffer.contains(65_534));
    buffer.close();
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void segmentFarAheadThatFindsNoRoomLeavesNothing() {
    MemoryBudget small = new MemoryBudget(16_000);
    ReorderBuffer buffer =
        new ReorderBuffer(new MemoryAccount(new KcpContext(allocator, small, new KcpCounters())));
    small.charge(2_000);
    assertEquals(false, buffer.add(65_534, 65_534, 0, bytes(1), 0, 1, 0));
    assertEquals(2_000, small.usedBytes());
    assertEquals(0, buffer.directoryCapacity());
  }

  /** Both ways, with a gap in what arrives and many acknowledgements for it. */
  @Test
  void idleSessionAfterABurstHoldsAsLittleAsBefore() {
    DrivenKcp driven =
        new DrivenKcp(
            KcpConfig.builder()
                .sendWindow(1024)
                .receiveWindow(65_535)
                .maxBurst(0)
                .congestionControl(CongestionControl.NONE));
    driven.peerWnd = 1024;
    for (int burst = 0; burst < 3; burst++) {
      int next = burst * 3001;
      for (int i = 1; i <= 3000; i++) {
        driven.input(driven.push(next + i, bytes(5)));
      }
      driven.sendSegments(512);
      assertEquals(driven.budget.usedBytes(), driven.kcp.stats().usedMemoryBytes());
      assertTrue(driven.budget.usedBytes() > 512 * 56 + 3000 * 20);
      driven.peerUna += 512;
      driven.receiveBatch(driven.push(next, bytes(5)));
      assertEquals(3001 * 5, driven.receiveAll().readableBytes());
      driven.kcp.afterSend(driven.nowUs, driven);
      driven.assertNothingHeld();
    }
  }

  @Test
  void closedSessionGivesAllOfItBack() {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().receiveWindow(65_535).sendQueue(256));
    driven.sendSegments(100);
    for (int sn = 1; sn < 20_000; sn += 31) {
      driven.input(driven.push(sn, bytes(5)));
    }
    assertTrue(driven.budget.usedBytes() > 600 * 640);
    driven.kcp.close();
    driven.assertNothingHeld();
  }
}
