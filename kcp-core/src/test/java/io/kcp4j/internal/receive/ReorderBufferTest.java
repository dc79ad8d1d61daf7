package io.kcp4j.internal.receive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.DrivenKcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@link ReorderBuffer} alone. */
class ReorderBufferTest {

  /** The last of a page, so that all distances but 0 lie in the pages behind it. */
  private static final int NEXT = -1;

  /** What 32 sequence numbers take beside their payload. */
  private static final int PAGE = 640;

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  private MemoryBudget budget = MemoryBudget.unlimited();
  private ReorderBuffer buffer = buffer();

  private ReorderBuffer buffer() {
    return new ReorderBuffer(
        new MemoryAccount(new KcpContext(allocator, budget, new KcpCounters())));
  }

  private boolean add(int distance, int bytes) {
    ByteBuf data = DrivenKcp.bytes(bytes);
    return buffer.add(NEXT + distance, distance, 0, data, 0, bytes, 0);
  }

  private boolean contains(int distance) {
    return buffer.contains(NEXT + distance);
  }

  @AfterEach
  void nothingIsHeldOnceClosed() {
    buffer.close();
    assertEquals(0, buffer.heldBytes());
    assertEquals(0, budget.usedBytes());
    assertEquals(0, allocator.metric().usedDirectMemory());
  }

  @Test
  void segmentFarAheadIsNotTakenForOneThatSharesItsSlot() {
    assertTrue(add(1, 10));
    assertFalse(contains(9));
    assertFalse(contains(17));
    assertTrue(add(9, 10));
    assertTrue(contains(1));
    assertTrue(contains(9));
  }

  @Test
  void everySegmentIsMovedAfterGrowingOverTheWrap() {
    ReceiveQueue queue = queue(Delivery.STREAM);
    int[] distances = {1, 3, 7, 8, 20, 64, 200};
    for (int distance : distances) {
      assertTrue(add(distance, distance + 1));
    }
    for (int distance : distances) {
      assertTrue(contains(distance));
      assertTrue(buffer.moveTo(queue, NEXT + distance));
      assertFalse(contains(distance));
      ByteBuf taken = queue.take();
      assertEquals(DrivenKcp.bytes(distance + 1), taken);
      taken.release();
    }
    assertTrue(buffer.isEmpty());
    assertEquals(0, buffer.heldBytes());
  }

  @Test
  void smallPayloadsShareABlockAndLargeOnesDoNot() {
    assertTrue(add(1, 512));
    assertEquals(PAGE + 4096, buffer.heldBytes());
    for (int distance = 2; distance <= 8; distance++) {
      assertTrue(add(distance, 512));
    }
    assertEquals(PAGE + 4096, buffer.heldBytes());
    assertTrue(add(9, 1));
    assertEquals(PAGE + 2 * 4096, buffer.heldBytes());
    assertTrue(add(10, 513));
    assertEquals(PAGE + 2 * 4096 + 513, buffer.heldBytes());
  }

  @Test
  void emptyPayloadIsKeptAndCostsNoMoreThanItsPage() {
    assertTrue(add(2, 0));
    assertTrue(contains(2));
    assertEquals(PAGE, buffer.heldBytes());
  }

  @Test
  void refusalLeavesNothingChanged() {
    budget = new MemoryBudget(8000);
    buffer = buffer();
    assertTrue(add(1, 100));
    assertFalse(add(2, 4000));
    assertFalse(contains(2));
    assertEquals(PAGE + 4096, buffer.heldBytes());
    assertEquals(PAGE + 4096, budget.usedBytes());
    assertTrue(add(2, 100));
    assertEquals(PAGE + 4096, buffer.heldBytes());
  }

  @Test
  void segmentStaysWhereTheQueueRefusesIt() {
    ReceiveQueue full =
        new ReceiveQueue(
            new MemoryAccount(new KcpContext(allocator, new MemoryBudget(1), new KcpCounters())),
            new KcpContext.PerThread().queueRings,
            Delivery.STREAM);
    assertTrue(add(0, 600));
    assertFalse(buffer.moveTo(full, NEXT));
    assertTrue(contains(0));
    assertEquals(PAGE + 600, buffer.heldBytes());
  }

  @Test
  void duplicateIsAcknowledgedOncePerFlush() {
    add(3, 10);
    assertFalse(buffer.acknowledgeAgain(NEXT + 3, 0));
    assertTrue(buffer.acknowledgeAgain(NEXT + 3, 1));
    assertFalse(buffer.acknowledgeAgain(NEXT + 3, 1));
    assertTrue(buffer.acknowledgeAgain(NEXT + 3, 2));
  }

  private ReceiveQueue queue(Delivery delivery) {
    return new ReceiveQueue(
        new MemoryAccount(KcpContext.of(allocator)),
        new KcpContext.PerThread().queueRings,
        delivery);
  }
}
