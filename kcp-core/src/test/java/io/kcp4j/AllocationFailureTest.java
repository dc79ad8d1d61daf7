package io.kcp4j;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.arq.DrivenKcp;
import io.kcp4j.internal.arq.SentSegment;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What happens where the allocator has no memory: as little as possible. */
class AllocationFailureTest {

  private final Allocator allocator = new Allocator();
  private final DrivenKcp driven;

  AllocationFailureTest() {
    driven = driven(KcpConfig.builder().sendQueue(256));
  }

  private DrivenKcp driven(KcpConfig.Builder config) {
    return new DrivenKcp(
        config.congestionControl(CongestionControl.NONE).build(),
        allocator,
        MemoryBudget.unlimited());
  }

  @AfterEach
  void nothingIsHeldOnceClosed() {
    driven.kcp.close();
    assertEquals(0, driven.budget.usedBytes());
    assertEquals(0, allocator.memory.metric().usedDirectMemory());
  }

  /** Gives a number of buffers and then fails, as Netty's does or in a way of its own. */
  private static final class Allocator extends AbstractByteBufAllocator {

    final UnpooledByteBufAllocator memory = new UnpooledByteBufAllocator(true, true);
    int left = Integer.MAX_VALUE;
    private int failures;

    Allocator() {
      super(true);
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      throw new AssertionError();
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
      if (left == 0) {
        if (failures++ % 2 == 0) {
          throw new OutOfMemoryError("simulated");
        }
        throw new IllegalStateException("simulated");
      }
      left--;
      return memory.directBuffer(initialCapacity, maxCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }

  @Test
  void streamIsExactWhereASegmentFittedOnlyInPart() {
    driven.input(driven.push(0, bytes(200)));
    allocator.left = 0;
    ByteBuf second = driven.push(1, bytes(100));
    driven.receiveBatch(second);
    driven.receiveBatch(second);
    assertEquals(2, driven.count(KcpCounter.ALLOCATION_FAILED));
    assertEquals(0, driven.count(KcpCounter.OVER_BUDGET));
    driven.runTo(200_000);
    assertTrue(driven.sent().stream().allMatch(s -> s.una() == 1 && s.sn() == 0));

    allocator.left = 1;
    driven.receiveBatch(second);
    assertEquals(Unpooled.wrappedBuffer(bytes(200), bytes(100)), driven.receiveAll());
    driven.assertNothingHeld();
  }

  @Test
  void flushLeavesWholeWhereThereIsNoMemoryToSplitIt() {
    driven.splitInto = 4;
    assertTrue(driven.kcp.send(bytes(1150)));
    allocator.left = 0;
    driven.kcp.afterSend(0, driven);
    List<SentSegment> sent = driven.sent();
    assertEquals(List.of(bytes(1150)), sent.stream().map(SentSegment::payload).toList());
  }

  @Test
  void segmentBeyondAGapIsNotAcknowledgedWithoutMemoryForIt() {
    allocator.left = 0;
    driven.receiveBatch(driven.push(1, bytes(1000)));
    driven.receiveBatch(driven.push(2, bytes(10)));
    driven.runTo(200_000);
    assertEquals(2, driven.count(KcpCounter.ALLOCATION_FAILED));
    assertEquals(List.of(), driven.sent());
    driven.assertNothingHeld();

    allocator.left = Integer.MAX_VALUE;
    driven.receiveBatch(driven.push(2, bytes(10)), driven.push(1, bytes(1000)));
    driven.receiveBatch(driven.push(0, bytes(1)));
    assertEquals(Unpooled.wrappedBuffer(bytes(1), bytes(1000), bytes(10)), driven.receiveAll());
  }

  @Test
  void whatClosesAGapIsTakenAndTheRestMovedOnceThereIsMemory() {
    driven.input(driven.push(1, bytes(5000)));
    allocator.left = 1;
    driven.receiveBatch(driven.push(0, bytes(256)));
    assertEquals(bytes(256), driven.receiveAll());
    driven.kcp.afterSend(driven.nowUs, driven);
    assertFalse(driven.kcp.isReceivable());
    assertTrue(driven.count(KcpCounter.ALLOCATION_FAILED) > 0);

    allocator.left = 1;
    driven.runTo(driven.kcp.nextDeadline());
    assertEquals(bytes(5000), driven.receiveAll());
  }

  @Test
  void messageGrowsWithoutLossOnceThereIsMemory() {
    DrivenKcp messages = driven(KcpConfig.builder().delivery(Delivery.MESSAGE));
    messages.input(messages.fragment(0, 1, bytes(3000)));
    allocator.left = 0;
    ByteBuf last = messages.fragment(1, 0, bytes(5000));
    messages.receiveBatch(last);
    assertEquals(1, messages.count(KcpCounter.ALLOCATION_FAILED));
    assertEquals(messages.kcp.stats().usedMemoryBytes(), messages.budget.usedBytes());
    allocator.left = 1;
    messages.receiveBatch(last);
    assertEquals(Unpooled.wrappedBuffer(bytes(3000), bytes(5000)), messages.receiveAll());
    messages.assertNothingHeld();
  }

  @Test
  void sendTakesWhatItCanAndTheRestAfterAnInterval() {
    ByteBuf data = bytes(150_000);
    allocator.left = 1;
    assertFalse(driven.kcp.send(data));
    int taken = 150_000 - data.readableBytes();
    assertTrue(taken > 60_000 && taken < 65_536, "one chunk");
    assertEquals(taken, driven.count(KcpCounter.PAYLOAD_BYTES_OUT));
    assertEquals(1, driven.count(KcpCounter.ALLOCATION_FAILED));
    assertFalse(driven.kcp.isSendable());
    assertFalse(driven.kcp.isQuiescent());
    driven.kcp.afterSend(driven.nowUs, driven);
    assertFalse(driven.kcp.isSendable(), "not before the interval is over");

    long intervalUs = 1_000L * driven.kcp.config().intervalMs();
    assertEquals(driven.nowUs + intervalUs, driven.kcp.nextDeadline());
    driven.runTo(driven.nowUs + intervalUs);
    assertTrue(driven.kcp.isSendable());
    allocator.left = Integer.MAX_VALUE;
    assertTrue(driven.kcp.send(data));
    driven.kcp.afterSend(driven.nowUs, driven);
    driven.peerWnd = 1000;
    driven.receiveBatch(driven.wins());
    driven.runTo(driven.nowUs + 50_000);
    ByteBuf sent = Unpooled.buffer();
    List<SentSegment> segments = driven.sent();
    segments.stream().filter(s -> s.ts() >= 0).forEach(s -> sent.writeBytes(s.payload()));
    assertEquals(bytes(150_000), sent);
  }

  @Test
  void sessionWithNothingInFlightRetriesTheSend() {
    allocator.left = 0;
    ByteBuf data = bytes(100);
    assertFalse(driven.kcp.send(data));
    driven.kcp.afterSend(driven.nowUs, driven);
    assertEquals(0, data.readerIndex());
    assertTrue(driven.kcp.nextDeadline() < Time.NO_DEADLINE);
    driven.runTo(driven.kcp.nextDeadline());
    assertTrue(driven.kcp.isSendable());
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
  }

  @Test
  void messageIsTakenAsAWholeOrNotAtAll() {
    DrivenKcp messages = driven(KcpConfig.builder().delivery(Delivery.MESSAGE));
    messages.peerWnd = 0;
    messages.receiveBatch(messages.wins());
    assertTrue(messages.kcp.send(bytes(10)));
    ByteBuf message = bytes(100_000).skipBytes(5);
    for (int chunks = 0; chunks < 2; chunks++) {
      allocator.left = chunks;
      assertFalse(messages.kcp.send(message));
      assertEquals(5, message.readerIndex());
      assertEquals(1, messages.kcp.stats().queued());
      assertEquals(messages.kcp.stats().usedMemoryBytes(), messages.budget.usedBytes());
      messages.kcp.afterSend(messages.nowUs, messages);
      messages.runTo(messages.kcp.nextDeadline());
    }
    allocator.left = Integer.MAX_VALUE;
    assertTrue(messages.kcp.send(message));
    messages.kcp.close();
    messages.assertNothingHeld();
  }

  @Test
  void mtuIsKeptIfTheQueueCannotBeReSegmented() {
    driven.peerWnd = 0;
    driven.receiveBatch(driven.wins());
    assertTrue(driven.kcp.send(bytes(63_000)));
    KcpConfig before = driven.kcp.config();
    int queued = driven.kcp.stats().queued();
    KcpConfig smaller = before.toBuilder().mtuBytes(100).build();
    for (int chunks = 0; chunks < 2; chunks++) {
      allocator.left = chunks;
      assertThrows(OutOfMemoryError.class, () -> driven.kcp.reconfigure(smaller));
      assertEquals(before, driven.kcp.config());
      assertEquals(driven.kcp.stats().usedMemoryBytes(), driven.budget.usedBytes());
      assertEquals(queued, driven.kcp.stats().queued());
    }
    allocator.left = Integer.MAX_VALUE;
    driven.kcp.reconfigure(smaller);
    assertEquals((63_000 + 75) / 76, driven.kcp.stats().queued());
  }
}
