package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

/** {@link DatagramCopies}. */
class DatagramCopiesTest {

  private final MemoryBudget budget = new MemoryBudget(10_000);
  private final FecContext context = new FecContext(MemoryAccount.of(budget));

  private static ByteBuf datagram(int value) {
    return Unpooled.buffer().writeZero(2).writeByte(value).writeByte(value + 1).writeZero(3);
  }

  private static void add(DatagramCopies copies, int value, int times, long nowUs) {
    copies.add(datagram(value), 2, 4, times, nowUs);
  }

  private static byte[] next(DatagramCopies copies, long nowUs) {
    ByteBuf out = Unpooled.buffer().writeZero(1);
    assertEquals(2, copies.nextBytes());
    copies.writeNext(out, nowUs);
    return new byte[] {out.getByte(1), out.getByte(2)};
  }

  @Test
  void copyLeavesAfterTheDelay() {
    DatagramCopies copies = new DatagramCopies(context, 4_000);
    assertEquals(DatagramCopies.NONE, copies.nextAtUs());
    add(copies, 7, 1, 1_000);
    assertEquals(5_000, copies.nextAtUs());
    assertArrayEquals(new byte[] {7, 8}, next(copies, 5_200));
    assertEquals(DatagramCopies.NONE, copies.nextAtUs());
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void severalCopiesLeaveAtEqualIntervals() {
    DatagramCopies copies = new DatagramCopies(context, 4_000);
    add(copies, 1, 2, 0);
    add(copies, 3, 1, 3_000);
    assertArrayEquals(new byte[] {1, 2}, next(copies, 4_000));
    assertEquals(7_000, copies.nextAtUs());
    assertArrayEquals(new byte[] {3, 4}, next(copies, 7_000));
    assertEquals(8_000, copies.nextAtUs());
    assertArrayEquals(new byte[] {1, 2}, next(copies, 8_000));
    assertEquals(DatagramCopies.NONE, copies.nextAtUs());
  }

  @Test
  void copiesWithoutDelayAreDueAtOnce() {
    DatagramCopies copies = new DatagramCopies(context, 0);
    add(copies, 1, 3, 50);
    for (int i = 0; i < 3; i++) {
      assertEquals(50, copies.nextAtUs());
      next(copies, 50);
    }
    assertEquals(DatagramCopies.NONE, copies.nextAtUs());
  }

  @Test
  void thereIsNoCopyBeyondTheBudget() {
    DatagramCopies copies = new DatagramCopies(context, 4_000);
    for (int i = 0; i < 100; i++) {
      add(copies, i, 1, i);
    }
    assertEquals(39 * 128, budget.usedBytes());
    copies.close();
    assertEquals(0, budget.usedBytes());
    assertEquals(DatagramCopies.NONE, copies.nextAtUs());
  }

  @Test
  void numberOfCopiesIsLimited() {
    MemoryBudget unlimited = MemoryBudget.unlimited();
    DatagramCopies copies = new DatagramCopies(new FecContext(MemoryAccount.of(unlimited)), 4_000);
    for (int i = 0; i < 1000; i++) {
      add(copies, i, 1, i);
    }
    assertEquals(512 * 128, unlimited.usedBytes());
  }
}
