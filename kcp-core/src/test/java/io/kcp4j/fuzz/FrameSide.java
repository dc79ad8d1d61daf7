package io.kcp4j.fuzz;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.arq.SinkAccess;
import io.kcp4j.internal.lanes.FrameInspector;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.LaneInspector;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.SegmentSink;
import io.kcp4j.internal.wire.SegmentSource;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The lanes of one side without an ARQ: segments are passed to the sink, and pulled from the
 * source. The session, which has nothing else to do, is made once.
 */
final class FrameSide {

  static final int LANES = 6;

  /** What precedes a segment in its buffer, which ends with the segment. */
  private static final int HEADROOM = 3;

  /** How many full segments are pulled together at most. */
  private static final int FULL_SEGMENTS = 3;

  private static final KcpContext.PerThread RINGS = new KcpContext.PerThread();
  private static final KcpCounters COUNTERS = new KcpCounters();
  private static final KcpConfig CONFIG = KcpConfig.builder().delivery(Delivery.LANES).build();

  final Lanes lanes;
  final SegmentSource source;

  /** Segments that have left and not arrived, the oldest first. */
  final List<byte[]> sent = new ArrayList<>();

  private final int budgetBytes;
  private final MemoryBudget memory;
  private final boolean isMemoryShort;
  private final HeapAllocator allocator;
  private final SegmentSink sink;
  private final LaneInspector inspector;
  private final Reading[] reading = new Reading[LANES];

  /** Whether all that has arrived was sent by a side that keeps the rules. */
  boolean isPeerCorrect;

  int received;
  private int queued;
  private int fates;

  /** What is known of a lane that is read. */
  private static final class Reading {

    /** The number of the next message of an ordered lane. */
    int expected;

    /** Whether numbers between may have been discarded. */
    boolean isDiscarded;

    /** Whether the lane was in the news since it had nothing to read. */
    boolean isKnown;

    /** Of an unordered lane. */
    final Set<Integer> numbers = new HashSet<>();
  }

  FrameSide(LanesConfig config, MemoryBudget memory, int failEvery, boolean isPeerCorrect) {
    this.memory = memory;
    this.isPeerCorrect = isPeerCorrect;
    budgetBytes = config.budgetBytes();
    isMemoryShort = failEvery < Integer.MAX_VALUE || memory.limitBytes() < Long.MAX_VALUE;
    allocator = new HeapAllocator(failEvery);
    Kcp kcp = new Kcp(7, CONFIG, new KcpContext(allocator, memory, COUNTERS, RINGS), 0);
    lanes = new Lanes(kcp, config, false, 0);
    sink = SinkAccess.of(kcp);
    inspector = new LaneInspector(lanes, config.maxLanes());
    source = inspector.source();
    for (int id = 0; id < LANES; id++) {
      reading[id] = new Reading();
    }
  }

  void open() {
    Check.that(lanes.open(LANES, budgetBytes), "not opened");
  }

  private static long refused() {
    return COUNTERS.get(KcpCounter.LANE_FRAMES_REFUSED);
  }

  // Segments that arrive

  /** Takes a segment; returns whether there was memory for it. */
  boolean take(byte[] bytes, boolean isInOrder) {
    byte[] datagram = new byte[HEADROOM + bytes.length];
    System.arraycopy(bytes, 0, datagram, HEADROOM, bytes.length);
    ByteBuf segment = Unpooled.wrappedBuffer(datagram);
    boolean isMalformed = FrameInspector.fill(segment, HEADROOM, bytes.length);
    boolean mayComeAgain = isMemoryShort || !isPeerCorrect || !lanes.isOpen();
    boolean isCompared = isMalformed || mayComeAgain;
    long before = isCompared ? inspector.fingerprint() : 0;
    long refusedBefore = refused();
    boolean isTaken = take(segment, bytes.length, isInOrder);
    Check.that(isTaken || mayComeAgain, "not taken");
    if (isMalformed || !isTaken || !lanes.isOpen()) {
      Check.that(inspector.fingerprint() == before, "an effect of what is not taken");
    }
    long refusedNow = refused() - refusedBefore;
    boolean isCounted = isTaken && isMalformed && lanes.isOpen();
    Check.that(isTaken || refusedNow == 0, "refused and not taken");
    Check.that(!isCounted || refusedNow == 1, "malformed and not counted");
    Check.that(!isPeerCorrect || refusedNow == 0, "refused what is right");
    return isTaken;
  }

  private boolean take(ByteBuf segment, int bytes, boolean isInOrder) {
    try {
      return sink.take(segment, HEADROOM, bytes, isInOrder);
    } catch (OutOfMemoryError e) {
      Check.that("simulated".equals(e.getMessage()), "out of memory");
      return false;
    }
  }

  /** The lowest number of which not all has arrived on a lane. */
  int base(int id) {
    Lane lane = inspector.find(id);
    return lane == null ? 0 : LaneInspector.base(lane);
  }

  void takeUnreliable(int type, byte[] value) {
    lanes.receiveUnreliable(type, Unpooled.wrappedBuffer(value), 0, value.length);
  }

  // Reading

  /** Takes the news, and reads those lanes. */
  void readNews() {
    for (Lane lane; (lane = lanes.nextNews()) != null; ) {
      reading[lane.id()].isKnown = true;
      read(lane.id(), Integer.MAX_VALUE);
    }
  }

  void readAll() {
    readNews();
    for (int id = 0; id < LANES; id++) {
      if (inspector.find(id) != null) {
        read(id, Integer.MAX_VALUE);
      }
    }
  }

  /** Reads messages of a lane, and the end. */
  void read(int id, int most) {
    Lane lane = lanes.lane(id);
    for (int i = 0; i < most && lane.isReadable(); i++) {
      readOne(lane, reading[id]);
    }
    LaneKind kind = lane.inputKind();
    if (lane.takeInputEnd()) {
      Reading ended = reading[id];
      ended.expected = LaneInspector.base(lane);
      ended.isDiscarded = false;
      if (kind == null || !kind.isReliable()) { // Its numbers may have gone round.
        ended.numbers.clear();
      }
    }
  }

  private void readOne(Lane lane, Reading state) {
    int number = LaneInspector.nextNumber(lane);
    int bytes = LaneInspector.nextBytes(lane);
    LaneKind kind = lane.inputKind();
    ByteBuf message = lane.receive();
    Check.that(message.refCnt() == 1, "of several owners");
    Check.that(message.readableBytes() <= bytes, "larger than it was sent");
    if (kind.isReliable()) {
      Check.that(bytes <= budgetBytes / 8 - LanesConfig.MESSAGE_OVERHEAD_BYTES, "too large");
      checkNumber(state, number, kind);
      checkContent(lane.id(), number, message, bytes);
    }
    message.release();
    received++;
  }

  private static void checkNumber(Reading state, int number, LaneKind kind) {
    if (state.isDiscarded) {
      state.isDiscarded = false;
      state.numbers.clear();
    } else if (kind == LaneKind.RELIABLE_ORDERED) {
      Check.that(number == state.expected, "not in order");
    } else {
      Check.that(number - state.expected >= 0, "of before the end");
    }
    if (kind == LaneKind.RELIABLE_ORDERED) {
      state.expected = number + 1;
    } else {
      Check.that(state.numbers.add(number), "received twice");
    }
  }

  /** Where fragments of a peer that breaks the rules overlap, there are zeros, or the end. */
  private void checkContent(int lane, int number, ByteBuf message, int bytes) {
    Check.that(!isPeerCorrect || message.readableBytes() == bytes, "smaller than it was sent");
    for (int i = 0; i < message.readableBytes(); i++) {
      byte found = message.getByte(i);
      boolean isRight = found == FrameInspector.content(lane, number, i);
      Check.that(isRight || (found == 0 && !isPeerCorrect), "altered");
    }
  }

  void discard(int id) {
    Lane lane = lanes.lane(id);
    reading[id].isDiscarded |= !lane.isUnused();
    lane.discardInput();
  }

  // Sending

  void send(int id, int bytes) {
    Lane lane = lanes.lane(id);
    if (!lane.isOutputOpen()) {
      return;
    }
    int number = LaneInspector.nextSentNumber(lane);
    byte[] content = new byte[Math.min(bytes, lane.maxMessageBytes())];
    for (int i = 0; i < content.length; i++) {
      content[i] = FrameInspector.content(id, number, i);
    }
    queued++;
    lane.send(
        new OutboundMessage(Unpooled.wrappedBuffer(content)) {
          @Override
          protected void sent() {
            fates++;
          }

          @Override
          protected void dropped(Drop reason) {
            fates++;
          }
        });
  }

  /** Makes the lane of another kind, if that is possible. */
  void changeKind(int id) {
    Lane lane = lanes.lane(id);
    if (lane.isUnused()) {
      boolean isOrdered = lane.config().kind() == LaneKind.RELIABLE_ORDERED;
      lane.config(
          LaneConfig.of(isOrdered ? LaneKind.RELIABLE_UNORDERED : LaneKind.RELIABLE_ORDERED));
    }
  }

  /** Fills some segments if anything can leave: full ones as far as possible, or else one. */
  void pull(int room, int enough) {
    if (!source.isReady()) {
      return;
    }
    ByteBuffer out = ByteBuffer.allocate(FULL_SEGMENTS * (room + HEADROOM));
    int full = enough < room ? 0 : source.pullFull(out, room, HEADROOM, FULL_SEGMENTS);
    for (int i = 0; i < full; i++) {
      addSent(out, i * (room + HEADROOM), room);
    }
    if (full == 0) {
      source.pull(out.limit(room), enough);
      addSent(out, 0, out.position());
    }
    source.onSent(Math.max(full, 1));
  }

  private void addSent(ByteBuffer out, int index, int length) {
    if (length > 0) {
      byte[] bytes = new byte[length];
      out.get(index, bytes);
      FrameInspector.checkSent(lanes, Unpooled.wrappedBuffer(bytes), 0, bytes.length);
      sent.add(bytes);
    }
  }

  boolean isIdle() {
    return sent.isEmpty() && !source.isReady();
  }

  // Checks

  void check() {
    long heldBytes = sink.heldBytes();
    Check.that(heldBytes == inspector.heldBytes(), "held otherwise than counted");
    long chargedBytes = heldBytes + inspector.laneBytes();
    Check.that(chargedBytes == memory.usedBytes(), "held otherwise than charged");
    Check.that(heldBytes <= memory.limitBytes(), "beyond the memory limit");
    Check.that(allocator.usedBytes() == inspector.contentBytes(), "allocated and not held");
    Check.that(allocator.mostBytes() <= 3L * budgetBytes, "allocated more than the budget");
    Check.that(inspector.unreadBytes() <= budgetBytes, "more unread than the budget");
    long outstanding = inspector.outstanding();
    Check.that(outstanding >= 0 && outstanding <= budgetBytes, "sent beyond the credit");
    Check.that(sink.hasUnread() == inspector.hasUnread(), "unread or not");
    for (int id = 0; id < LANES; id++) {
      Lane lane = inspector.find(id);
      boolean hasInput = lane != null && lane.hasInput();
      reading[id].isKnown &= hasInput;
      boolean isTold = reading[id].isKnown || (hasInput && LaneInspector.hasNews(lane));
      Check.that(isTold == hasInput, "something to read and no news");
    }
  }

  /** Whether the budget of what is not read has as much room as what is unread leaves. */
  void checkRoom() {
    Lane lane = lanes.lane(LANES - 1);
    if (isMemoryShort || !lanes.isOpen() || !LaneInspector.isInputUnused(lane)) {
      return;
    }
    int overhead = LanesConfig.MESSAGE_OVERHEAD_BYTES;
    long room = Math.min(100, (budgetBytes - inspector.unreadBytes()) / overhead);
    ByteBuf segment = Unpooled.buffer(400);
    for (int number = 0; number < 100; number++) {
      segment.writeByte(0x49).writeByte(LANES - 1).writeByte(number).writeByte(0);
    }
    Check.that(sink.take(segment, 0, segment.writerIndex(), true), "not taken");
    int taken = 0;
    for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
      taken++;
    }
    Check.that(taken == room, "other room than what is unread leaves");
  }

  /** What two sides have in the end that have read everything. */
  void checkDone(FrameSide peer) {
    Check.that(inspector.heldBytes() == 0 && lanes.nextNews() == null, "something left");
    for (int id = 0; id < LANES; id++) {
      Lane lane = lanes.lane(id);
      Check.that(lane.queuedBytes() == 0, "stuck");
      int unread = LaneInspector.outstanding(peer.lanes.lane(id)) - LaneInspector.unreported(lane);
      Check.that(unread == 0, "read otherwise than reported");
    }
  }

  void close() {
    lanes.close();
    Check.that(memory.usedBytes() == 0, "still charged when closed");
    Check.that(allocator.usedBytes() == 0, "leaks");
    Check.that(fates == queued, "messages without a fate");
  }
}
