package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The queue of unreliable messages alone: what it keeps, and what that counts as. */
class InboundMessageTest {

  private static final int LIMIT = 3;

  private boolean isOutOfMemory;

  private final UnpooledByteBufAllocator memory = new UnpooledByteBufAllocator(true, true);

  private final ByteBufAllocator allocator =
      new AbstractByteBufAllocator(true) {
        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
          return memory.heapBuffer(initialCapacity, maxCapacity);
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
          if (isOutOfMemory) {
            throw new OutOfMemoryError("simulated");
          }
          return memory.directBuffer(initialCapacity, maxCapacity);
        }

        @Override
        public boolean isDirectBufferPooled() {
          return false;
        }
      };

  private final MemoryBudget budget = MemoryBudget.unlimited();
  private final KcpCounters counters = new KcpCounters();
  private final InboundMessage.Queue queue = new InboundMessage.Queue();
  private final InboundMessage.Memory messages =
      new InboundMessage.Memory(
          new MemoryAccount(new KcpContext(allocator, budget, new KcpCounters())), counters);

  /** Adds a message of four bytes with this value, which stands behind other bytes. */
  private boolean add(int value) {
    ByteBuf packet = Unpooled.buffer().writeInt(-1).writeInt(value).writeInt(-1);
    return messages.add(queue, LIMIT, packet, 4, 4);
  }

  private int poll() {
    ByteBuf message = messages.poll(queue);
    assertEquals(4, message.readableBytes());
    int value = message.readInt();
    message.release();
    return value;
  }

  @AfterEach
  void nothingIsHeldWhenAllIsClosed() {
    for (ByteBuf message; (message = messages.poll(queue)) != null; ) {
      message.release();
    }
    assertEquals(0, messages.heldBytes());
    assertEquals(0, budget.usedBytes());
    assertEquals(0, memory.metric().usedDirectMemory());
  }

  @Test
  void oldestIsDroppedBeyondTheLimit() {
    for (int i = 1; i <= LIMIT; i++) {
      assertEquals(i - 1, queue.readable());
      assertTrue(add(i));
    }
    long usedBytes = budget.usedBytes();
    assertEquals(LIMIT * (4 + 128), usedBytes);
    assertEquals(0, counters.get(KcpCounter.UNRELIABLE_DROPPED));
    assertTrue(add(4));
    assertEquals(1, counters.get(KcpCounter.UNRELIABLE_DROPPED));
    assertEquals(usedBytes, budget.usedBytes());
    assertEquals(2, poll());
    assertEquals(3, poll());
    assertEquals(4, poll());
    assertNull(messages.poll(queue));
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void messageForWhichTheAllocatorHasNothingIsNotCharged() {
    add(1);
    long usedBytes = budget.usedBytes();
    isOutOfMemory = true;
    assertFalse(add(2));
    assertEquals(1, counters.get(KcpCounter.ALLOCATION_FAILED));
    assertEquals(1, counters.get(KcpCounter.UNRELIABLE_DROPPED));
    assertEquals(usedBytes, budget.usedBytes());
    assertEquals(1, poll());
    assertEquals(0, queue.readable());
  }
}
