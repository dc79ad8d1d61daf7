package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.lang.management.ManagementFactory;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What lanes cost, and what happens where there is no memory. */
class LaneMemoryTest {

  private static final int LANES = 10_000;

  private static final LanesConfig MANY =
      LanesConfig.builder().maxLanes(LANES).budgetBytes(LANES * 1_024).build();

  @Test
  void idleLaneTakesAtMostAHundredBytes() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    KcpContext context = KcpContext.of(UnpooledByteBufAllocator.DEFAULT);
    Kcp kcp = new Kcp(1, LanePair.config().build(), context, 0);
    Lanes lanes = new Lanes(kcp, MANY, false, 0);
    lanes.lane(LANES - 1); // The list of pages has its size.
    LaneConfig config = lanes.lane(0).config();
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int id = 64; id < LANES - 64; id++) {
      assertEquals(config, lanes.peerLanes().findOrBegin(id).config());
    }
    long each = (threads.getCurrentThreadAllocatedBytes() - before) / (LANES - 128);
    assertTrue(each <= 100, "bytes of a lane: " + each);
  }

  /** Of those that have carried messages in both directions, too. */
  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void tenThousandLanesCarryMessagesAndComeToRest(LaneKind kind) {
    LanesConfig config = MANY.toBuilder().defaultLane(LaneConfig.of(kind)).build();
    LanePair pair = new LanePair(config, config).opened();
    for (int round = 0; round < 3; round++) {
      for (int id = 0; id < LANES; id++) {
        pair.client.queue(pair.client.lanes.lane(id), LanePair.pattern(50), "");
      }
      pair.client.flush();
      pair.run(500);
      for (int id = 0; id < LANES; id++) {
        pair.server.queue(pair.server.lanes.lane(id), LanePair.pattern(50), "");
      }
      pair.server.flush();
      pair.run(500);
    }
    assertEquals(3 * LANES, pair.server.received.size());
    assertEquals(3 * LANES, pair.client.received.size());
    int outboxes = 0;
    for (int id = 0; id < LANES; id++) {
      assertNull(pair.server.lanes.lane(id).inbox);
      outboxes += pair.server.lanes.lane(id).outbox == null ? 0 : 1;
    }
    assertTrue(outboxes <= 32, "outboxes " + outboxes);
    pair.assertNothingHeld();
  }

  @Test
  void laneThatIsReadHoldsNothing() {
    LanePair pair = LanePair.open();
    pair.client.isLost = n -> n % 3 == 0;
    for (int i = 0; i < 50; i++) {
      pair.client.send(1, 5_000).send(2, 10);
      pair.run(10);
    }
    pair.run(3_000);
    assertEquals(100, pair.server.received.size());
    long lanes = 2L * PeerLanes.LANE_BYTES + Lanes.Table.PAGE_BYTES + 4;
    assertEquals(lanes, pair.server.budget.usedBytes());
    assertNull(pair.server.lanes.lane(1).inbox);
  }

  // No memory

  /** Fails every so many allocations. */
  private static final class FailingAllocator extends AbstractByteBufAllocator {

    int every = Integer.MAX_VALUE;
    int allocations;
    int failures;

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      return Unpooled.buffer(initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
      if (++allocations % every == 0) {
        failures++;
        throw new OutOfMemoryError("simulated");
      }
      return Unpooled.directBuffer(initialCapacity, maxCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void segmentForWhichTheAllocatorFailsIsTakenAsAWholeLater(LaneKind kind) {
    FailingAllocator allocator = new FailingAllocator();
    MemoryBudget budget = MemoryBudget.unlimited();
    LanePair pair = receivingWith(new KcpContext(allocator, budget, new KcpCounters()));
    allocator.every = 23; // A segment needs up to 20.
    for (int i = 0; i < 20; i++) {
      for (int lane = 0; lane < 20; lane++) {
        pair.client.lane(lane, kind);
        pair.client.queue(pair.client.lanes.lane(lane), LanePair.pattern(20 + i * 60), "");
      }
      pair.client.flush();
      pair.run(20);
    }
    pair.run(60_000);
    assertEquals(400, pair.server.received.size());
    assertTrue(allocator.failures > 10, "failures " + allocator.failures);
    assertEquals(allocator.failures, pair.server.kcp.counters().get(KcpCounter.ALLOCATION_FAILED));
    pair.server.lanes.close();
    pair.server.kcp.close();
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void memoryLimitOfTheEndpointHoldsForLanes() {
    MemoryBudget budget = new MemoryBudget(40_000);
    LanePair pair =
        receivingWith(new KcpContext(UnpooledByteBufAllocator.DEFAULT, budget, new KcpCounters()));
    pair.server.isRead = lane -> lane.id() > 10;
    for (int lane = 1; lane <= 10; lane++) {
      for (int i = 0; i < 20; i++) {
        pair.client.send(lane, 1_000);
      }
    }
    pair.run(3_000);
    assertTrue(budget.usedBytes() <= 40_000, "used " + budget.usedBytes());
    assertTrue(budget.usedBytes() > 30_000, "used " + budget.usedBytes());
    pair.server.resumeReading();
    pair.run(200_000);
    for (int lane = 1; lane <= 10; lane++) {}
    assertEquals(200, pair.server.received.size());
    assertEquals(List.of(), pair.server.fates);
  }

  /** Otherwise the peer would find out by a window probe, after 7 s. */
  @Test
  void peerIsToldWhenMemoryBecomesFree() {
    MemoryBudget budget = new MemoryBudget(40_000);
    LanePair pair =
        receivingWith(new KcpContext(UnpooledByteBufAllocator.DEFAULT, budget, new KcpCounters()));
    pair.server.isRead = lane -> false;
    for (int i = 0; i < 60; i++) {
      pair.client.send(1, 1_000);
      pair.run(30);
    }
    assertEquals(0, pair.client.kcp.stats().remoteWindow());
    pair.server.resumeReading();
    pair.run(10);
    assertTrue(pair.client.kcp.stats().remoteWindow() > 0, "told at once");
  }

  /** As long as its peer has acknowledged nothing, a session keeps 64 KiB at most. */
  @Test
  void readingMakesRoomForAPeerThatHasNotBeenValidated() {
    LanePair pair = LanePair.open();
    pair.server.kcp.limitSending(() -> Long.MAX_VALUE);
    pair.server.isRead = lane -> false;
    for (int i = 0; i < 100; i++) {
      pair.client.send(1, 1_000);
      pair.run(30);
      pair.server.kcp.endDelivery();
    }
    assertTrue(pair.server.kcp.counters().get(KcpCounter.OVER_UNREAD_LIMIT) > 0);
    pair.server.resumeReading();
    pair.run(2_000);
    assertEquals(100, pair.server.received.size());
  }

  private static LanePair receivingWith(KcpContext context) {
    return new LanePair(LanesConfig.DEFAULT, LanesConfig.DEFAULT, context).opened();
  }

  @Test
  void budgetHasToBeLargeEnoughForAllLanes() {
    Exception refusal =
        assertThrows(
            IllegalArgumentException.class, () -> LanesConfig.builder().maxLanes(10_000).build());
    assertEquals(
        "budgetBytes: 4194304 (expected: >= 5120000 with maxLanes 10000)", refusal.getMessage());
  }
}
