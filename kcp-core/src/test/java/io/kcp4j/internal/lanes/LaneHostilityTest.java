package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kcp4j.Delivery;
import io.kcp4j.DiscardingOutput;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpTracer;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.lang.management.ManagementFactory;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a peer may send that keeps no rule, and what it costs. */
class LaneHostilityTest {

  private static final int CONV = 7;
  private static final int BUDGET = 1 << 20;
  private static final int LANES = 256;

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  private final MemoryBudget budget = MemoryBudget.unlimited();
  private final KcpContext context = new KcpContext(allocator, budget, new KcpCounters());
  private final Kcp kcp =
      new Kcp(
          CONV,
          KcpConfig.builder().delivery(Delivery.LANES).receiveWindow(60_000).build(),
          context,
          0);
  private final Lanes lanes =
      new Lanes(kcp, LanesConfig.builder().maxLanes(LANES).budgetBytes(BUDGET).build(), false, 0);
  private int sn;
  private Runnable atEnd = () -> {};

  LaneHostilityTest() {
    lanes.open(1024, 4 << 20);
  }

  @AfterEach
  void nothingIsHeldWhenAllIsClosed() {
    atEnd.run();
    lanes.close();
    kcp.close();
    assertEquals(0, budget.usedBytes());
    assertEquals(0, allocator.metric().usedDirectMemory());
    assertNull(kcp.failure());
  }

  private void receive(ByteBuf frames) {
    receive(kcp, frames);
  }

  private void receive(Kcp receiver, ByteBuf frames) {
    ByteBuf datagram = Unpooled.buffer(1_400);
    int bytes = frames.readableBytes();
    Segment.write(datagram, CONV, Segment.PUSH, 0, 128, 0, sn++, 0, bytes);
    receiver.input(datagram.writeBytes(frames), 0);
  }

  private static final class Message extends OutboundMessage {
    Message(ByteBuf content) {
      super(content);
    }

    @Override
    protected void sent() {}

    @Override
    protected void dropped(Drop reason) {}
  }

  private static ByteBuf frames() {
    return Unpooled.buffer(1_400);
  }

  private static ByteBuf varInt(ByteBuf out, int value) {
    int rest = value;
    for (; rest >= 128; rest >>>= 7) {
      out.writeByte(rest | 128);
    }
    return out.writeByte(rest);
  }

  private static ByteBuf message(ByteBuf out, int flags, int lane, int number, int bytes) {
    varInt(out.writeByte(flags | Frame.HAS_LENGTH | Frame.HAS_LONG_NUMBER), lane);
    return varInt(out.writeIntLE(number), bytes).writeZero(bytes);
  }

  private static ByteBuf fragment(
      ByteBuf out, int lane, int number, int total, int offset, int bytes) {
    varInt(out.writeByte(Frame.ORDERED | 0x70), lane).writeIntLE(number);
    return varInt(varInt(varInt(out, total), offset), bytes).writeZero(bytes);
  }

  private long refused() {
    return kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED);
  }

  private int lanesWithNews() {
    int news = 0;
    while (lanes.nextNews() != null) {
      news++;
    }
    return news;
  }

  /** Each session kept arrays for the largest segment that its peer had ever sent. */
  @Test
  void segmentOfManyFramesLeavesNothingBehind() {
    ControlFrames control = new ControlFrames(LANES, BUDGET);
    LaneReceiver receiver =
        new LaneReceiver(lanes, lanes.peerLanes(), kcp, control, LanesConfig.DEFAULT);
    SegmentDemux.Preparation preparation =
        new SegmentDemux.Preparation(lanes.peerLanes(), receiver, control);
    Frame reader = new Frame();
    ByteBuf frame = message(frames(), Frame.ORDERED, LANES, 0, 0); // No such lane.
    for (int frames : new int[] {64, 65, 600}) {
      for (int i = 0; i < frames; i++) {
        reader.reset(frame, 0, frame.readableBytes());
        assertTrue(reader.next());
        assertTrue(preparation.plan(reader));
      }
      preparation.end();
      assertTrue(preparation.capacity() <= 64, "capacity " + preparation.capacity());
    }
  }

  @Test
  void malformedSegmentIsAcknowledgedAndHasNoEffect() {
    receive(message(frames(), Frame.ORDERED, 1, 0, 5).writeByte(0xff));
    assertEquals(1, refused());
    assertEquals(0, lanesWithNews());
    assertTrue(kcp.isReceivedBelow(1));
  }

  @Test
  void framesOfLanesBeyondTheLimitAreRefused() {
    ByteBuf out = message(frames(), Frame.ORDERED, LANES, 0, 5);
    out.writeBytes(new byte[] {Frame.FIN_ACK, 5, Frame.CONSUMED, 6, 1, 0, 0, 0});
    receive(message(out, Frame.ORDERED, LANES - 1, 0, 5));
    assertEquals(3, refused());
    assertEquals(1, lanesWithNews());
  }

  @Test
  void messagesOfALaneOnWhichOnlyThisSideMaySendAreRefused() {
    lanes.lane(LANES).send(new Message(Unpooled.buffer().writeZero(10)));
    receive(message(frames(), Frame.ORDERED, LANES, 0, 5));
    receive(frames().writeByte(Frame.FIN).writeByte(0x80).writeByte(2).writeIntLE(0).writeByte(0));
    receiveUnreliable(LANES, 0, 5);
    assertEquals(3, refused());
    assertEquals(0, lanesWithNews());
  }

  @Test
  void numbersThatHaveArrivedAreRefused() {
    receive(message(message(frames(), Frame.ORDERED, 1, 0, 5), Frame.ORDERED, 1, 0, 5));
    receive(message(message(frames(), Frame.ORDERED, 1, 2, 5), Frame.ORDERED, 1, 2, 5));
    receive(message(message(frames(), Frame.UNORDERED, 2, 2, 5), Frame.UNORDERED, 2, 2, 5));
    lanes.lane(2).receive().release();
    receive(message(frames(), Frame.UNORDERED, 2, 2, 5));
    receive(message(frames(), Frame.UNORDERED, 2, -1, 5));
    assertEquals(5, refused());
  }

  /**
   * The first frame moves the base, so that the same byte means another number when the second one
   * is taken in than when its memory was to be allocated.
   */
  @Test
  void frameWhoseNumberChangesWithinItsSegmentIsRefused() {
    receive(fragment(frames(), 1, 0, 100, 0, 50));
    ByteBuf out = fragment(frames(), 1, 0, 100, 50, 50);
    for (int i = 1; i < 10; i++) {
      message(out, Frame.ORDERED, 1, i, 0);
    }
    out.writeByte(Frame.ORDERED | Frame.IS_FRAGMENT | Frame.HAS_BYTE_NUMBER).writeByte(1);
    out.writeByte(-128).writeByte(100).writeByte(0).writeZero(50);
    receive(out);
    for (int number = 0; number < 10; number++) {
      lanes.lane(1).receive().release();
    }
    assertTrue(refused() <= 1);
  }

  /** The lanes together may take 512 KiB. */
  @Test
  void unreadUnreliableLanesLeaveRoomForOthers() {
    for (int lane = 1; lane < LANES; lane++) {
      for (int number = 0; number < 64; number++) {
        receiveUnreliable(lane, number, 1_000);
      }
    }
    long held = kcp.stats().usedMemoryBytes();
    assertTrue(held <= BUDGET / 2, "held " + held);
    assertTrue(held > BUDGET / 2 - 1_128, "held " + held);
    for (int number = 0; number < 100; number++) {
      receiveUnreliable(0, number, 1_000);
      ByteBuf message = lanes.lane(0).receive();
      assertEquals(1_000, message.readableBytes());
      message.release();
    }
  }

  private void receiveUnreliable(int lane, int number, int bytes) {
    ByteBuf value = Unpooled.buffer().writeShortLE(lane).writeShortLE(number).writeZero(bytes);
    lanes.receiveUnreliable(UnreliableLanes.UNRELIABLE, value, 0, value.readableBytes());
  }

  @Test
  void unreliableLaneThatWasReadHoldsNothingAndMayBecomeReliable() {
    Lane lane = lanes.lane(5);
    for (int number = 0; number < 3; number++) {
      receiveUnreliable(5, number, 10);
    }
    for (ByteBuf message; (message = lane.receive()) != null; ) {
      message.release();
    }
    assertNull(lane.inbox);
    receiveUnreliable(5, 3, 10);
    receive(frames().writeByte(Frame.UNRELIABLE_FIN).writeByte(5).writeIntLE(4));
    lane.receive().release();
    assertTrue(lane.takeInputEnd());
    assertNull(lane.inbox);
    kcp.flush(0, new DiscardingOutput());
    receive(message(message(frames(), Frame.ORDERED, 5, 6, 1), Frame.ORDERED, 5, 5, 1));
    lane.receive().release();
    lane.receive().release();
    assertNull(lane.inbox);
    assertEquals(0, refused());
  }

  @Test
  void stopsOfWhatWasNotSentHaveNoEffect() {
    Lane lane = lanes.lane(1);
    receive(frames().writeByte(Frame.STOP).writeByte(1).writeIntLE(0));
    assertFalse(lane.takeOutputStop());
    assertTrue(lane.isOutputOpen());
    assertEquals(0, lanesWithNews());
  }

  @Test
  void laneHasOneKind() {
    receive(message(message(frames(), Frame.ORDERED, 1, 0, 5), Frame.UNORDERED, 1, 1, 5));
    assertEquals(1, refused());
  }

  @Test
  void floodOfLanesCostsBoundedMemory() {
    for (int i = 0; i < 2_000; i++) {
      ByteBuf out = frames();
      while (out.writableBytes() > 60) {
        message(out, Frame.ORDERED, (i * 37 + out.writerIndex()) % 70_000, 0, 40);
      }
      receive(out);
    }
    assertTrue(refused() > 0);
    assertTrue(
        kcp.stats().usedMemoryBytes() <= LANES * (40 + 128L),
        "held " + kcp.stats().usedMemoryBytes());
  }

  /** A page of the table has room for 64 lanes, and is made for the first of them. */
  @Test
  void pagesOfLanesThatThePeerSpreadsAreCharged() {
    long before = budget.usedBytes();
    for (int lane = 0; lane < LANES; lane += 64) {
      receive(message(frames(), Frame.ORDERED, lane, 0, 0));
    }
    int received = 128 * LANES / 64;
    long table = budget.usedBytes() - before - received - PeerLanes.LANE_BYTES * (LANES / 64);
    assertTrue(table >= (64 + 1) * 4 * (LANES / 64), table + " bytes");
    receive(message(frames(), Frame.ORDERED, 1, 0, 0));
    assertEquals(
        table,
        budget.usedBytes() - before - received - 128 - PeerLanes.LANE_BYTES * (LANES / 64 + 1));
  }

  @Test
  void laneWhosePageFindsNoMemoryIsNotAcknowledged() {
    int perLane = PeerLanes.LANE_BYTES + 128;
    // Lanes leave a quarter free.
    Kcp other = withMemory((perLane + (64 + 1) * 4 + 100 + perLane) * 4 / 3);
    receive(other, message(frames(), Frame.ORDERED, 0, 0, 0));
    assertEquals(1, other.counters().get(KcpCounter.LANE_MESSAGES_IN));
    receive(other, message(frames(), Frame.ORDERED, 64, 0, 0));
    assertEquals(1, other.counters().get(KcpCounter.LANE_MESSAGES_IN));
    sn--;
    receive(other, message(frames(), Frame.ORDERED, 1, 0, 0));
    assertEquals(2, other.counters().get(KcpCounter.LANE_MESSAGES_IN));
  }

  @Test
  void floodOfMessagesCostsNoMoreThanTheBudget() {
    for (int i = 0; i < 20_000; i++) {
      ByteBuf out = frames();
      for (int k = 0; k < 100; k++) {
        message(out, Frame.ORDERED, i % LANES, 100 * (i / LANES) + k, 0);
      }
      receive(out);
    }
    assertTrue(refused() > 0);
    long most = BUDGET / 64 * 128L;
    assertTrue(kcp.stats().usedMemoryBytes() <= most, "held " + kcp.stats().usedMemoryBytes());
  }

  /** A gap in the numbers counts as messages that were sent, since its ring takes memory. */
  @Test
  void numberFarAheadCountsAgainstTheBudget() {
    receive(message(frames(), Frame.ORDERED, 1, BUDGET / 64 + 10, 5));
    receive(message(frames(), Frame.UNORDERED, 2, Integer.MAX_VALUE, 5));
    assertEquals(2, refused());
    for (int lane = 0; lane < LANES; lane++) {
      receive(message(frames(), Frame.ORDERED, lane, 1_000, 5));
    }
    assertTrue(refused() >= 2 + LANES - BUDGET / 64_000, "refused " + refused());
  }

  @Test
  void memoryFollowsWhatHasArrivedAndNotTheDistanceOfTheNumbers() {
    receive(message(frames(), Frame.ORDERED, 1, 15_000, 5));
    assertEquals(0, refused());
    assertEquals(5 + 128 + lanes.peerLanes().chargedBytes(), budget.usedBytes());
    assertEquals(2, lanes.lane(1).inbox.capacity());
  }

  /** Some 49 MB were allocated for each of these segments, and a segment is no larger. */
  @Test
  void malformedSegmentAllocatesNothing() {
    for (int i = 0; i < 3; i++) { // Classes are loaded, and the first arrays are made.
      receive(numbersFarAhead(i).writeByte(0xff));
    }
    int lanesBefore = lanes.peerLanes().chargedBytes();
    long before = allocatedBytes();
    receive(numbersFarAhead(3).writeByte(0xff));
    assertTrue(allocatedBytes() - before < 10_000, "" + (allocatedBytes() - before));
    assertEquals(lanesBefore, lanes.peerLanes().chargedBytes(), "no lane has begun");
    assertEquals(4, refused());
  }

  @Test
  void segmentOfNumbersFarAheadCountsAsAWhole() {
    receive(numbersFarAhead(0));
    long before = allocatedBytes();
    receive(numbersFarAhead(1));
    assertTrue(allocatedBytes() - before < 100_000, "" + (allocatedBytes() - before));
    assertEquals(2 * 180 - 2, refused(), "the first counts nearly all of the budget");
    assertEquals(2 * 128, kcp.stats().usedMemoryBytes());
  }

  /** Empty messages of 180 lanes. */
  private ByteBuf numbersFarAhead(int round) {
    ByteBuf out = frames();
    for (int lane = 0; lane < 180; lane++) {
      out.writeByte(Frame.ORDERED | Frame.HAS_LENGTH)
          .writeByte((lane & 0x7f) | (lane > 127 ? 0x80 : 0));
      if (lane > 127) {
        out.writeByte(1);
      }
      out.writeShortLE(15_000 + round).writeByte(0);
    }
    return out;
  }

  private static long allocatedBytes() {
    return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
  }

  /** The last quarter is for what can be read, so that memory becomes free. */
  @Test
  void partsOfMessagesLeaveMemoryForWholeOnes() {
    Kcp other = withMemory(400_000);
    int max = LanesConfig.maxMessageBytes(BUDGET);
    for (int i = 0; i < 500 && other.counters().get(KcpCounter.OVER_BUDGET) == 0; i++) {
      receive(other, fragment(frames(), i / 100, 0, max, 1_000 * (i % 100), 1_000));
    }
    assertEquals(1, other.counters().get(KcpCounter.OVER_BUDGET));
    sn--;
    long held = other.stats().usedMemoryBytes();
    assertTrue(held <= 300_000, "held " + held);
    for (int number = 0; number < 170; number++) {
      receive(other, message(frames(), Frame.ORDERED, 9, number, 1_000));
    }
    held = other.stats().usedMemoryBytes();
    assertTrue(held > 370_000, "held " + held);
  }

  /** A session whose endpoint has so many bytes of memory; closed at the end. */
  private Kcp withMemory(int bytes) {
    MemoryBudget small = new MemoryBudget(bytes);
    KcpContext limited = new KcpContext(allocator, small, new KcpCounters());
    Kcp other = new Kcp(CONV, kcp.config(), limited, 0);
    Lanes lanesOfOther = new Lanes(other, lanes.config(), false, 0);
    lanesOfOther.open(1024, 4 << 20);
    atEnd =
        () -> {
          lanesOfOther.close();
          other.close();
          assertEquals(0, small.usedBytes());
        };
    return other;
  }

  @Test
  void smallFragmentsOfLargeMessagesCostAtMostTheBudgetAndNoBufferOfAllOfIt() {
    int max = LanesConfig.maxMessageBytes(BUDGET);
    for (int number = 0; number < 1_000; number++) {
      receive(fragment(frames(), number % LANES, number / LANES, max, 0, 1));
    }
    assertTrue(refused() >= 1_000 - 8);
    assertTrue(
        kcp.stats().usedMemoryBytes() <= 8 * 65_800L, "held " + kcp.stats().usedMemoryBytes());
  }

  /** A buffer up to the last byte of a message would be large for a fragment of a byte. */
  @Test
  void fragmentFarBeyondWhatHasArrivedComesAgainWhenTheRestHas() {
    int total = 100_000;
    receive(fragment(frames(), 1, 0, total, 17_000, 1_000));
    assertEquals(1, kcp.counters().get(KcpCounter.OVER_BUDGET), "not acknowledged");
    assertEquals(0, kcp.stats().usedMemoryBytes());
    sn--;
    receive(fragment(frames(), 1, 0, total, 0, 1_000));
    receive(fragment(frames(), 1, 0, total, 17_000, 1_000));
    assertEquals(1, kcp.counters().get(KcpCounter.OVER_BUDGET));
    assertTrue(
        kcp.stats().usedMemoryBytes() <= 18_000 + 128, "held " + kcp.stats().usedMemoryBytes());
    assertEquals(0, refused());
  }

  /** Each of these fragments needs a buffer of 16 KiB. */
  @Test
  void datagramOfFragmentsAllocatesLittle() {
    AtomicLong allocated = new AtomicLong();
    UsedMemory counting =
        new UsedMemory() {
          @Override
          protected ByteBuf newDirectBuffer(int bytes, int maxBytes) {
            allocated.addAndGet(bytes);
            return super.newDirectBuffer(bytes, maxBytes);
          }
        };
    KcpContext counted = new KcpContext(counting, budget, new KcpCounters());
    Kcp other = new Kcp(CONV, kcp.config(), counted, 0);
    Lanes lanesOfOther = new Lanes(other, lanes.config(), false, 0);
    lanesOfOther.open(1024, 4 << 20);
    int max = LanesConfig.maxMessageBytes(BUDGET);
    for (int i = 0; i < 10; i++) {
      ByteBuf out = frames();
      for (int lane = 0; lane < 80; lane++) {
        fragment(out, lane, i, max, 16 * 1024 - 1, 1);
      }
      allocated.set(0);
      receive(other, out);
      assertTrue(allocated.get() <= 8 * 16 * 1024, "allocated " + allocated);
      assertEquals(i > 0, allocated.get() == 0, "all of the budget is in use after the first");
    }
    lanesOfOther.close();
    other.close();
  }

  /** Otherwise a datagram could begin and drop a large message as often as it has room for. */
  @Test
  void whatFollowsAnEndThatWasNotAnsweredIsRefused() {
    int max = LanesConfig.maxMessageBytes(BUDGET);
    ByteBuf out = frames();
    for (int number = 0; number < 40; number += 2) {
      fragment(out, 1, number, max, 0, 1);
      out.writeByte(Frame.FIN).writeByte(1).writeIntLE(number + 1).writeByte(1);
    }
    receive(out);
    assertEquals(38, refused());
    receive(message(frames(), Frame.UNORDERED, 1, 2, 5));
    assertEquals(39, refused());
    assertTrue(lanes.lane(1).takeInputEnd());
    receive(message(frames(), Frame.UNORDERED, 1, 2, 5));
    assertEquals(40, refused(), "the answer has not left");
    kcp.flush(0, new DiscardingOutput());
    receive(message(frames(), Frame.UNORDERED, 1, 2, 5));
    assertEquals(40, refused());
    receiveUnreliable(2, 0, 5);
    receive(frames().writeByte(Frame.UNRELIABLE_FIN).writeByte(2).writeIntLE(1));
    receiveUnreliable(2, 2, 5);
    receive(frames().writeByte(Frame.UNRELIABLE_FIN).writeByte(2).writeIntLE(3));
    assertEquals(41, refused());
    assertEquals(1, lanes.lane(2).inbox.readable());
  }

  /** What has no memory in the middle of a segment is taken when the segment comes again. */
  @Test
  void segmentThatFailsInTheMiddleHoldsNothingAndIsTakenAgain() {
    boolean[] isOutOfMemory = {true};
    kcp.tracer(
        new KcpTracer() {
          @Override
          public void laneMessageReceived(long nowUs, int lane, int bytes) {
            if (isOutOfMemory[0]) {
              throw new OutOfMemoryError("simulated");
            }
          }
        });
    ByteBuf out = frames();
    for (int lane = 0; lane < 3; lane++) {
      message(out, Frame.ORDERED, lane, 0, 100);
      fragment(out, lane, 1, 1_000, 0, 50);
    }
    receive(out.duplicate());
    assertEquals(1, kcp.counters().get(KcpCounter.ALLOCATION_FAILED));
    assertEquals(228 + lanes.peerLanes().chargedBytes(), budget.usedBytes(), "the first message");
    isOutOfMemory[0] = false;
    sn--;
    receive(out);
    for (int lane = 0; lane < 3; lane++) {
      ByteBuf message = lanes.lane(lane).receive();
      assertEquals(100, message.readableBytes());
      message.release();
    }
  }

  @Test
  void fragmentsThatContradictEachOtherAreRefused() {
    receive(fragment(frames(), 1, 0, 1_000, 0, 500));
    receive(fragment(frames(), 1, 0, 999, 500, 1)); // Another size.
    receive(fragment(frames(), 1, 0, 1_000, 0, 600)); // More than all of it.
    receive(message(frames(), Frame.ORDERED, 1, 0, 5)); // A whole message.
    receive(fragment(frames(), 1, 0, LanesConfig.maxMessageBytes(BUDGET) + 1, 0, 5));
    assertEquals(4, refused());
    receive(fragment(frames(), 1, 0, 1_000, 500, 500));
    ByteBuf message = lanes.lane(1).receive();
    assertEquals(1_000, message.readableBytes());
    message.release();
    receive(fragment(frames(), 1, 0, 1_000, 500, 500));
    assertEquals(5, refused());
  }

  /** Memory in which others have left something. */
  private static class UsedMemory extends AbstractByteBufAllocator {
    @Override
    protected ByteBuf newHeapBuffer(int bytes, int maxBytes) {
      return new UnpooledHeapByteBuf(this, bytes, maxBytes);
    }

    @Override
    protected ByteBuf newDirectBuffer(int bytes, int maxBytes) {
      ByteBuf buffer = new UnpooledDirectByteBuf(this, bytes, maxBytes);
      for (int i = 0; i < bytes; i++) {
        buffer.setByte(i, 77);
      }
      return buffer;
    }

    @Override
    public boolean isDirectBufferPooled() {
      return true;
    }
  }

  /** Fragments that overlap leave holes, which must not show what was in the memory before. */
  @Test
  void holesBetweenFragmentsAreZero() {
    KcpContext used = new KcpContext(new UsedMemory(), budget, new KcpCounters());
    Kcp other = new Kcp(CONV, kcp.config(), used, 0);
    Lanes lanesOfOther = new Lanes(other, LanesConfig.DEFAULT, false, 0);
    lanesOfOther.open(1024, 4 << 20);
    ByteBuf out = frames();
    fragment(out, 1, 0, 100, 90, 10);
    fragment(out, 1, 0, 100, 90, 10);
    receive(other, fragment(out, 1, 0, 100, 10, 80));
    ByteBuf message = lanesOfOther.lane(1).receive();
    assertEquals(100, message.readableBytes());
    for (int i = 0; i < 100; i++) {
      assertEquals(0, message.getByte(i));
    }
    message.release();
    lanesOfOther.close();
    other.close();
  }

  @Test
  void impossibleEndsAreRefused() {
    receive(message(frames(), Frame.ORDERED, 1, 3, 5));
    receive(frames().writeByte(Frame.FIN).writeByte(1).writeIntLE(3).writeByte(0));
    receive(frames().writeByte(Frame.FIN).writeByte(1).writeIntLE(-1).writeByte(0));
    receive(frames().writeByte(Frame.FIN).writeByte(1).writeIntLE(4).writeByte(0));
    receive(frames().writeByte(Frame.FIN).writeByte(1).writeIntLE(5).writeByte(0));
    receive(message(frames(), Frame.ORDERED, 1, 4, 5));
    receive(frames().writeByte(Frame.UNRELIABLE_FIN).writeByte(1).writeIntLE(4));
    receive(frames().writeByte(Frame.FIN_ACK).writeByte(1));
    assertEquals(6, refused());
  }

  /** Otherwise the lane would begin again, and end at once. */
  @Test
  void acknowledgementOfAnEndThatHasNotLeftIsRefused() {
    Lane lane = lanes.lane(1);
    lane.send(new Message(Unpooled.buffer().writeZero(10)));
    lane.abortOutput();
    receive(frames().writeByte(Frame.FIN_ACK).writeByte(1));
    assertEquals(1, refused());
    assertFalse(lane.isOutputOpen());
    assertNull(lanes.nextNews());
  }

  @Test
  void reportsOfMoreThanWasSentAreRefused() {
    lanes.lane(1);
    receive(frames().writeByte(Frame.CONSUMED).writeByte(1).writeIntLE(1));
    assertEquals(1, refused());
    assertEquals(0, lanes.lane(1).outstanding());
  }

  @Test
  void randomFramesHarmNothing() {
    SplittableRandom random = new SplittableRandom(9);
    for (int i = 0; i < 50_000; i++) {
      ByteBuf out = frames();
      for (int k = random.nextInt(8); k >= 0; k--) {
        int lane = random.nextInt(4);
        int number = random.nextInt(12) + i / 3_000;
        switch (random.nextInt(8)) {
          case 0, 1 -> message(out, Frame.ORDERED, lane, number, random.nextInt(60));
          case 2 -> message(out, Frame.UNORDERED, lane, number, random.nextInt(60));
          case 3, 4 -> {
            int total = 2 + random.nextInt(100);
            int offset = random.nextInt(total);
            fragment(out, lane, number, total, offset, 1 + random.nextInt(total - offset));
          }
          case 5 ->
              out.writeByte(Frame.FIN)
                  .writeByte(lane)
                  .writeIntLE(number)
                  .writeByte(random.nextInt(60));
          case 6 -> out.writeByte(3 + 3 * random.nextInt(2)).writeByte(lane).writeIntLE(number);
          default -> out.writeByte(random.nextInt(9)).writeByte(lane);
        }
      }
      receive(out);
      if (random.nextInt(3) == 0) {
        readSome(random);
      }
    }
    assertTrue(kcp.counters().get(KcpCounter.LANE_MESSAGES_IN) > 10);
  }

  private void readSome(SplittableRandom random) {
    for (Lane lane; (lane = lanes.nextNews()) != null; ) {
      if (random.nextInt(10) == 0) {
        lane.discardInput();
      }
      for (ByteBuf message; (message = lane.receive()) != null; message.release()) {}
      lane.takeInputEnd();
    }
  }
}
