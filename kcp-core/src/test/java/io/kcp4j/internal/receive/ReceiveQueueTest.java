package io.kcp4j.internal.receive;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@link ReceiveQueue} alone. A buffer is accounted for with 128 bytes beside its capacity. */
class ReceiveQueueTest {

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  private MemoryBudget budget = MemoryBudget.unlimited();
  private ReceiveQueue queue = queue(Delivery.STREAM);

  private ReceiveQueue queue(Delivery delivery) {
    return new ReceiveQueue(
        new MemoryAccount(new KcpContext(allocator, budget, new KcpCounters())),
        new KcpContext.PerThread().queueRings,
        delivery);
  }

  private boolean add(ByteBuf data) {
    return queue.add(data, data.readerIndex(), data.readableBytes(), 0);
  }

  private boolean addFragment(int frg, int bytes) {
    return queue.add(bytes(bytes), 0, bytes, frg);
  }

  private int takeSize() {
    ByteBuf taken = queue.take();
    int size = taken.readableBytes();
    taken.release();
    return size;
  }

  @AfterEach
  void nothingIsHeldOnceClosed() {
    queue.close();
    assertEquals(0, queue.heldBytes());
    assertEquals(0, budget.usedBytes());
    assertEquals(0, allocator.metric().usedDirectMemory());
  }

  @Test
  void bytesAreCopiedTogether() {
    assertTrue(add(bytes(100)));
    assertTrue(add(bytes(100)));
    assertEquals(2, queue.segments());
    assertEquals(256 + 128, queue.heldBytes());
    assertEquals(200, takeSize());
    assertEquals(0, queue.segments());
    assertEquals(0, queue.heldBytes());
    assertNull(queue.take());
  }

  @Test
  void segmentThatSpansTwoBuffersCountsInTheSecond() {
    add(bytes(200));
    add(bytes(100));
    assertEquals(256, takeSize());
    assertEquals(1, queue.segments());
    assertEquals(44, takeSize());
    assertEquals(0, queue.segments());
  }

  @Test
  void buffersGrowWithTheTrafficUpTo32KiB() {
    ByteBuf all = bytes(300_000);
    ByteBuf received = Unpooled.buffer();
    while (all.isReadable()) {
      add(all.readSlice(Math.min(1000, all.readableBytes())));
    }
    int largest = 0;
    for (ByteBuf part; (part = queue.take()) != null; part.release()) {
      largest = Math.max(largest, part.readableBytes());
      received.writeBytes(part);
    }
    assertEquals(32_768, largest);
    assertEquals(bytes(300_000), received);
  }

  @Test
  void buffersShrinkAgainWhenTheTrafficDoes() {
    add(bytes(40_000));
    takeSize();
    add(bytes(10));
    int before = queue.heldBytes();
    for (int i = 0; i < 20; i++) {
      takeSize();
      add(bytes(10));
    }
    assertEquals(32_768 + 128, before);
    assertEquals(256 + 128, queue.heldBytes());
  }

  @Test
  void emptySegmentInStreamModeLeavesNothing() {
    assertTrue(add(Unpooled.EMPTY_BUFFER));
    assertEquals(0, queue.segments());
    assertFalse(queue.isReceivable());
  }

  @Test
  void refusalLeavesNothingChanged() {
    budget = new MemoryBudget(1000);
    queue = queue(Delivery.STREAM);
    add(bytes(250));
    assertFalse(add(bytes(700)));
    assertEquals(1, queue.segments());
    assertEquals(256 + 128, queue.heldBytes());
    assertEquals(256 + 128, budget.usedBytes());
    assertTrue(add(bytes(6)));
    assertEquals(256, takeSize());
  }

  @Test
  void smallerBufferIsTakenWhereTheUsualOneHasNoRoom() {
    budget = new MemoryBudget(20_000);
    queue = queue(Delivery.STREAM);
    add(bytes(19_000));
    takeSize();
    assertTrue(add(bytes(1000)), "38000 is what the traffic suggests");
    assertEquals(1000 + 128, queue.heldBytes());
  }

  @Test
  void messageBecomesReceivableWithItsLastFragment() {
    queue = queue(Delivery.MESSAGE);
    addFragment(1, 100);
    assertFalse(queue.isReceivable());
    addFragment(0, 50);
    addFragment(0, 10);
    assertEquals(3, queue.segments());
    assertEquals(150, takeSize());
    assertEquals(1, queue.segments());
    assertEquals(10, takeSize());
  }

  @Test
  void messageMayHaveFragmentsLargerThanItsFirst() {
    queue = queue(Delivery.MESSAGE);
    addFragment(2, 1);
    addFragment(1, 5000);
    addFragment(0, 70_000 % 32_768);
    assertEquals(1 + 5000 + 4464, takeSize());
    assertEquals(0, queue.heldBytes());
  }

  @Test
  void refusedFragmentLeavesTheMessageAsItWas() {
    budget = new MemoryBudget(1000);
    queue = queue(Delivery.MESSAGE);
    assertTrue(addFragment(1, 100));
    assertFalse(addFragment(0, 900));
    assertFalse(queue.isViolated());
    assertEquals(200 + 128, budget.usedBytes());
    assertTrue(addFragment(0, 100));
    assertEquals(200, takeSize());
  }

  @Test
  void emptyMessagesCostTheirOverhead() {
    queue = queue(Delivery.MESSAGE);
    for (int i = 0; i < 5; i++) {
      assertTrue(addFragment(0, 0));
    }
    assertEquals(5 * 128 + 8 * 8, queue.heldBytes());
    assertEquals(5, queue.segments());
    assertEquals(0, takeSize());
  }

  @Test
  void fragmentThatDoesNotCountDownIsAViolation() {
    queue = queue(Delivery.MESSAGE);
    addFragment(3, 1);
    assertFalse(queue.isViolated());
    assertFalse(addFragment(1, 1));
    assertTrue(queue.isViolated());
  }
}
