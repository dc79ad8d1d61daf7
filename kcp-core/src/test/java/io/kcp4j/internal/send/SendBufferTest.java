package io.kcp4j.internal.send;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.arq.SentSegment;
import io.kcp4j.internal.buffer.Chunk;
import io.kcp4j.internal.buffer.RingPool;
import io.kcp4j.internal.buffer.SendRing;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.recovery.FastRetransmitDetector;
import io.kcp4j.internal.recovery.LossDetector;
import io.kcp4j.internal.recovery.RttEstimator;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.IllegalReferenceCountException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** {@link SendBuffer} alone, its sequence numbers beginning just below the wrap. */
class SendBufferTest {

  private static final int FIRST = -3;

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  private final KcpContext context = KcpContext.of(allocator);
  private final LossDetector losses = new FastRetransmitDetector(new RttEstimator());
  private final SendBuffer buffer =
      new SendBuffer(
          new MemoryAccount(context), losses, new KcpContext.PerThread().sendRings, FIRST);

  @AfterEach
  void nothingIsHeldOnceClosed() {
    buffer.close();
    assertNothingHeld();
  }

  /** What is held beside the ring. */
  private int chunkBytes() {
    return buffer.heldBytes() - RingPool.chargedBytes(buffer.ringCapacity(), SendRing.ENTRY_BYTES);
  }

  private void assertNothingHeld() {
    assertEquals(0, buffer.heldBytes());
    assertEquals(0, context.budget().usedBytes());
    assertEquals(0, allocator.metric().usedDirectMemory());
  }

  private void append(ByteBuf data, int segmentBytes) {
    while (data.isReadable()) {
      int bytes = Math.min(segmentBytes, data.readableBytes());
      buffer.append(data, bytes, 0, data.readableBytes());
    }
  }

  /** Sends everything that is queued and returns its payload. */
  private ByteBuf transmitAll(long nowUs) {
    ByteBuf payload = Unpooled.buffer();
    while (buffer.queued() > 0) {
      payload.writeBytes(transmitNext(nowUs).payload());
    }
    return payload;
  }

  private SentSegment transmitNext(long nowUs) {
    int index = buffer.firstQueued();
    Chunk chunk = buffer.chunk(index);
    int start = buffer.start(index);
    int length = buffer.bytes(index) - Segment.HEADER_BYTES;
    int sn = buffer.sn(index);
    int frg = buffer.frg(index);
    int ts = (int) (nowUs / 1_000);
    chunk.setHeader(start, 1, Segment.PUSH, frg, 0, ts, sn, 0, length);
    buffer.sent(1, ts, nowUs);
    ByteBuf sent = chunk.memory().slice(start, buffer.bytes(index));
    return SentSegment.in(Unpooled.copiedBuffer(sent)).get(0);
  }

  @Test
  void segmentsComeOutAsTheyWentInWhileTheRingGrowsOverTheWrap() {
    ByteBuf sent = Unpooled.buffer();
    for (int round = 0; round < 20; round++) {
      append(bytes(10 * round), 7);
      sent.writeBytes(transmitAll(1_000L * round));
      buffer.acknowledgeBelow(buffer.una() + losses.unacknowledged() / 2, 0);
    }
    ByteBuf expected = Unpooled.buffer();
    for (int round = 0; round < 20; round++) {
      expected.writeBytes(bytes(10 * round));
    }
    assertEquals(expected, sent);
    buffer.acknowledgeBelow(buffer.next(), 0);
    assertTrue(buffer.isEmpty());
    assertNothingHeld();
  }

  @Test
  void segmentsSentTogetherAcrossTheEndOfTheRingAreAllInFlight() {
    append(bytes(40), 10);
    buffer.sent(4, 0, 0);
    buffer.acknowledgeBelow(FIRST + 3, 1_000);
    append(bytes(30), 10);
    assertEquals(4, buffer.ringCapacity());
    buffer.sent(3, 5, 5_000);

    assertEquals(0, buffer.queued());
    assertEquals("[0, 1, 2, 3]", losses.order.toString());
    for (int sn = FIRST + 4; sn != FIRST + 7; sn++) {
      int index = buffer.index(sn);
      assertTrue(buffer.isAwaited(sn));
      assertEquals(1, losses.transmissions(index));
      assertEquals(5, losses.firstTs(index));
      assertEquals(5, losses.lastTs(index));
      assertEquals(5_000, losses.sentAtUs(index));
      assertEquals(5_000 + losses.timeoutUs(index), losses.timesOutAtUs(index));
    }
    buffer.acknowledge(FIRST + 5, 5, 0, 6_000);
    buffer.acknowledgeBelow(FIRST + 6, 6_000);
    assertEquals(1, losses.unacknowledged());
    assertEquals(buffer.index(FIRST + 6), losses.order.head());
  }

  /** Buffers of every kind that a user may have, with the same bytes. */
  static Stream<ByteBuf> usersBuffers() {
    ByteBuf shifted = Unpooled.buffer().writeZero(7).writeBytes(bytes(5000)).skipBytes(7);
    return Stream.of(
        bytes(5000),
        shifted,
        shifted.slice(),
        shifted.asReadOnly(),
        Unpooled.directBuffer().writeBytes(bytes(5000)),
        Unpooled.unreleasableBuffer(Unpooled.directBuffer().writeBytes(bytes(5000))),
        Unpooled.wrappedBuffer(bytes(5000).slice(0, 1234), bytes(5000).slice(1234, 3766)));
  }

  @ParameterizedTest
  @MethodSource("usersBuffers")
  void streamIsCutIntoSegmentsThatStandBackToBack(ByteBuf data) {
    buffer.appendStream(data, 4500, 1000);
    assertEquals(500, data.readableBytes());
    assertEquals(5, buffer.queued());
    assertEquals(8192, chunkBytes());
    int first = buffer.firstQueued();
    ByteBuf sent = transmitAll(0);
    buffer.appendStream(data, 500, 1000);
    sent.writeBytes(transmitAll(0));
    assertEquals(bytes(5000), sent);
    assertEquals(buffer.start(first) + 1024, buffer.start(first + 1 & 7));
    assertEquals(buffer.chunk(first), buffer.chunk(first + 1 & 7));
    buffer.acknowledgeBelow(buffer.next(), 0);
    assertNothingHeld();
  }

  @Test
  void streamGoesOnFromChunkToChunk() {
    buffer.appendStream(bytes(200_000), 200_000, 1376);
    assertEquals(146, buffer.queued());
    assertEquals(4 * 65_536, chunkBytes());
    assertEquals(bytes(200_000), transmitAll(0));
  }

  /** No allocator of Netty's does that, but a user's own may. */
  private final class PiecemealAllocator extends AbstractByteBufAllocator {

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
      int half = initialCapacity / 2;
      return new CompositeByteBuf(allocator, true, 2)
          .addComponent(allocator.directBuffer(half, half).writerIndex(half))
          .addComponent(allocator.directBuffer(half, half).writerIndex(half));
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      return allocator.heapBuffer(initialCapacity, maxCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }

  @Test
  void chunksAreOfOnePiece() {
    SendBuffer sending =
        new SendBuffer(
            new MemoryAccount(KcpContext.of(new PiecemealAllocator())),
            losses,
            new KcpContext.PerThread().sendRings,
            FIRST);
    sending.appendStream(bytes(5000), 5000, 1000);
    ByteBuf payload = Unpooled.buffer();
    for (int i = 0; i < 5; i++) {
      int index = FIRST + i & 7;
      int start = sending.start(index) + Segment.HEADER_BYTES;
      payload.writeBytes(sending.chunk(index).memory(), start, 1000);
    }
    assertEquals(1, sending.chunk(FIRST & 7).memory().nioBufferCount());
    assertEquals(bytes(5000), payload);
    sending.close();
  }

  @Test
  void contiguousRunEndsWithItsChunkOrAnotherSize() {
    buffer.appendStream(bytes(100 * 1376 + 1), 100 * 1376 + 1, 1376);
    assertEquals(0, buffer.contiguousRun(1399, 100));
    assertEquals(30, buffer.contiguousRun(1400, 30));
    List<Integer> runs = new ArrayList<>();
    while (buffer.queued() > 1) {
      int run = buffer.contiguousRun(1400, buffer.queued());
      runs.add(run);
      for (int i = 0; i < run; i++) {
        transmitNext(0);
      }
    }
    assertEquals(List.of(46, 46, 8), runs);
    assertEquals(0, buffer.contiguousRun(1400, 1));
    assertEquals(1, buffer.contiguousRun(25, 1));
  }

  @Test
  void largeChunksAreKeptUntilTrimmed() {
    buffer.appendStream(bytes(2_100_000), 2_100_000, 1376);
    transmitAll(0);
    ByteBuf memory = buffer.chunk(FIRST & 2047).memory();
    buffer.acknowledgeBelow(buffer.next(), 0);
    assertTrue(buffer.isTrimmable());
    assertEquals(32 * 65_536, chunkBytes());

    buffer.appendStream(bytes(2_100_000), 2_100_000, 1376);
    assertEquals(34 * 65_536, chunkBytes());
    assertFalse(buffer.isTrimmable());
    buffer.trim();
    assertEquals(34 * 65_536, chunkBytes());
    assertEquals(bytes(2_100_000), transmitAll(0));
    assertEquals(1, memory.refCnt());

    buffer.acknowledgeBelow(buffer.next() - 1, 0);
    assertEquals(33 * 65_536, chunkBytes());
    buffer.trim();
    assertEquals(2 * 65_536, chunkBytes());
    buffer.acknowledgeBelow(buffer.next(), 0);
    buffer.trim();
    assertFalse(buffer.isTrimmable());
    assertNothingHeld();
  }

  @Test
  void chunksThatAnOutputHoldsAreNotReused() {
    buffer.appendStream(bytes(200_000), 200_000, 1376);
    transmitAll(0);
    ByteBuf held = buffer.chunk(FIRST & 255).memory().retainedSlice(24, 1376);
    buffer.acknowledgeBelow(buffer.next(), 0);
    buffer.appendStream(Unpooled.buffer().writeZero(200_000), 200_000, 1376);
    assertEquals(bytes(200_000).slice(0, 1376), held);
    held.release();
  }

  @Test
  void segmentsAreNumberedFromTheFirst() {
    append(bytes(50), 10);
    for (int i = 0; i < 5; i++) {
      assertEquals(FIRST + i, transmitNext(0).sn());
    }
    assertEquals(FIRST + 5, buffer.next());
  }

  @Test
  void lastQueuedSegmentGrowsUpToTheLimit() {
    append(bytes(10), 100);
    ByteBuf more = bytes(200);
    buffer.extendLast(more, 100);
    assertEquals(110, more.readableBytes());
    assertEquals(1, buffer.queued());
    assertEquals(100, transmitNext(0).payload().readableBytes());
  }

  @Test
  void segmentInFlightDoesNotGrow() {
    append(bytes(10), 100);
    transmitAll(0);
    ByteBuf more = bytes(20);
    buffer.extendLast(more, 100);
    assertEquals(20, more.readableBytes());
  }

  @Test
  void chunkIsReleasedWithItsLastSegment() {
    append(bytes(200), 100);
    append(bytes(300), 100);
    assertEquals(256 + 512, chunkBytes());
    transmitAll(0);
    buffer.acknowledgeBelow(FIRST + 1, 0);
    assertEquals(256 + 512, chunkBytes());
    buffer.acknowledgeBelow(FIRST + 2, 0);
    assertEquals(512, chunkBytes());
    buffer.acknowledgeBelow(FIRST + 5, 0);
    assertNothingHeld();
  }

  @Test
  void chunksAreNoLargerThan64KiB() {
    append(bytes(300_000), 1000);
    assertTrue(chunkBytes() < 300_000 + 65_536 + 5 * 1000);
    assertEquals(0, chunkBytes() % 65_536);
  }

  @Test
  void emptySegmentHoldsAPlaceAndIsReleased() {
    buffer.append(Unpooled.EMPTY_BUFFER, 0, 0, 0);
    assertEquals(0, transmitNext(0).payload().readableBytes());
    buffer.acknowledgeBelow(buffer.next(), 0);
    assertNothingHeld();
  }

  @Test
  void reSegmentationKeepsTheBytesAndTheSegmentsInFlight() {
    append(bytes(1000), 300);
    ByteBuf sent = Unpooled.buffer().writeBytes(transmitNext(0).payload());
    buffer.resegment(90);
    assertEquals((1000 - 300 + 89) / 90, buffer.queued());
    sent.writeBytes(transmitAll(0));
    assertEquals(bytes(1000), sent);
    buffer.acknowledgeBelow(buffer.next(), 0);
    assertNothingHeld();
  }

  @Test
  void reSegmentationOfAnEmptyQueueHoldsNothing() {
    buffer.resegment(50);
    assertNothingHeld();
  }

  @Test
  void acknowledgedSegmentsAreDroppedOnceTheOldestOfThemIs() {
    append(bytes(40), 10);
    transmitAll(5_000);
    buffer.acknowledge(FIRST + 1, 5, 5_000, 5_000);
    buffer.acknowledgeBelow(FIRST, 0);
    assertEquals(FIRST, buffer.una());
    assertFalse(buffer.isAwaited(FIRST + 1));
    buffer.acknowledge(FIRST, 5, 5_000, 5_000);
    buffer.acknowledgeBelow(FIRST, 0);
    assertEquals(FIRST + 2, buffer.una());
    assertEquals(2, losses.unacknowledged());
  }

  @Test
  void onlySegmentsInFlightAreAwaited() {
    append(bytes(30), 10);
    transmitNext(0);
    assertFalse(buffer.isAwaited(FIRST - 1));
    assertTrue(buffer.isAwaited(FIRST));
    assertFalse(buffer.isAwaited(FIRST + 1));
  }

  /** {@link #nothingIsHeldOnceClosed} looks at what is left of it. */
  @Test
  void unreadableBufferLeavesNothing() {
    buffer.append(bytes(232), 232, 0, 232); // and the header: all of the first chunk
    ByteBuf released = bytes(100);
    released.release();
    int held = buffer.heldBytes();
    assertThrows(IllegalReferenceCountException.class, () -> buffer.append(released, 100, 0, 100));
    assertThrows(
        IllegalReferenceCountException.class, () -> buffer.appendStream(released, 100, 1000));
    assertEquals(held, buffer.heldBytes());
    assertEquals(1, buffer.queued());

    ByteBuf more = bytes(100);
    buffer.extendLast(more, 1000);
    assertEquals(100, more.readableBytes(), "there was no room behind the last segment");
    assertEquals(bytes(232), transmitAll(0));
  }
}
