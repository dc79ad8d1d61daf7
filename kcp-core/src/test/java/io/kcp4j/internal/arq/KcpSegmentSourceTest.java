package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.SegmentSource;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Segments that a {@link SegmentSource} supplies when they can leave. */
class KcpSegmentSourceTest {

  private static final int TS = DrivenKcp.TS_ORIGIN;

  /** Counts up a byte for each segment, whose size the test chooses. */
  private static class Source implements SegmentSource {

    int left;
    int bytes = Integer.MAX_VALUE;
    int pulled;
    int sent;
    final List<Integer> offered = new ArrayList<>();
    RuntimeException failure;
    Runnable onSent = () -> {};

    Source(int segments) {
      left = segments;
    }

    @Override
    public boolean isReady() {
      return left > 0;
    }

    @Override
    public void pull(ByteBuffer payload, int enoughBytes) {
      offered.add(payload.remaining());
      if (failure != null) {
        throw failure;
      }
      for (int n = Math.min(bytes, payload.remaining()); n > 0; n--) {
        payload.put((byte) pulled);
      }
      pulled++;
      left--;
    }

    @Override
    public void onSent(int segments) {
      sent += segments;
      assertTrue(sent <= pulled);
      onSent.run();
    }
  }

  /** Writes full segments together, all but the last. */
  private static final class BulkSource extends Source {

    final List<Integer> asked = new ArrayList<>();
    int excess;

    BulkSource(int segments) {
      super(segments);
    }

    @Override
    public int pullFull(ByteBuffer payloads, int payloadBytes, int gapBytes, int most) {
      asked.add(most);
      payloads.order(ByteOrder.LITTLE_ENDIAN);
      int segments = Math.min(most, left - 1);
      for (int i = 0; i < segments; i++) {
        payloads.position(payloads.position() + (i == 0 ? 0 : gapBytes));
        for (int n = payloadBytes; n > 0; n--) {
          payloads.put((byte) pulled);
        }
        pulled++;
        left--;
      }
      return segments + excess;
    }
  }

  private static KcpConfig.Builder config() {
    return counting().sendWindow(4);
  }

  private static DrivenKcp driven(Source source) {
    return attach(new DrivenKcp(config()), source);
  }

  private static DrivenKcp attach(DrivenKcp driven, Source source) {
    driven.kcp.source(source);
    driven.kcp.afterSend(driven.nowUs, driven);
    return driven;
  }

  /** The first byte of the payload of each segment with payload sent since the last call. */
  private static List<Integer> contents(DrivenKcp driven) {
    return driven.sent().stream()
        .filter(s -> s.cmd() == Segment.PUSH)
        .map(s -> (int) s.payload().getByte(s.payload().readerIndex()))
        .toList();
  }

  @Test
  void segmentsArePulledOnlyAsTheWindowLetsThemLeave() {
    Source source = new Source(10);
    DrivenKcp driven = driven(source);
    assertEquals(4, source.pulled);
    assertEquals(4, driven.kcp.stats().inFlight());
    assertEquals(0, driven.kcp.stats().queued());
    driven.peerUna = 1;
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(5, source.pulled);
    driven.peerUna = 5;
    driven.receiveBatch(driven.ack(4, TS));
    assertEquals(9, source.pulled);
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8), contents(driven));
  }

  @Test
  void segmentsFillTheirDatagrams() {
    DrivenKcp driven = driven(new Source(3));
    List<ByteBuf> datagrams = driven.sentDatagrams();
    assertEquals(3, datagrams.size());
    datagrams.forEach(datagram -> assertEquals(1200, datagram.readableBytes()));
  }

  @Test
  void fullSegmentsArePulledTogetherAsFarAsTheWindowAndTheChunkReach() {
    BulkSource source = new BulkSource(64);
    source.bytes = 50;
    DrivenKcp driven = attach(new DrivenKcp(counting().sendWindow(32)), source);
    assertEquals(32, source.pulled);
    assertEquals(List.of(), source.offered, "none was pulled alone");
    driven.peerUna = 32;
    driven.receiveBatch(driven.ack(31, TS));
    assertEquals(64, source.pulled);
    assertTrue(source.asked.size() < 20, () -> "in few calls: " + source.asked);
    assertEquals(List.of(1176), source.offered, "the last one");
    List<SentSegment> pushes = driven.sent().stream().filter(s -> s.cmd() == Segment.PUSH).toList();
    assertEquals(64, pushes.size());
    for (int i = 0; i < 64; i++) {
      ByteBuf payload = pushes.get(i).payload();
      assertEquals(i, pushes.get(i).sn());
      assertEquals(i < 63 ? 1176 : 50, payload.readableBytes());
      int content = i;
      assertEquals(-1, payload.forEachByte(b -> b == (byte) content), "all of segment " + i);
    }
    assertEquals(64, source.sent);
  }

  @Test
  void sourceWithoutFullSegmentsTakesNoMoreMemoryThanItNeeds() {
    BulkSource source = new BulkSource(1);
    DrivenKcp driven = attach(new DrivenKcp(counting().sendWindow(100)), source);
    assertEquals(1, source.pulled);
    assertEquals(List.of(1176), source.offered);
    assertEquals(4, driven.kcp.sender.buffer.ringCapacity());
  }

  @Test
  void sourceThatCountsTooManyFullSegmentsLeavesNothingBehind() {
    BulkSource source = new BulkSource(20);
    source.excess = 4;
    DrivenKcp driven = new DrivenKcp(config());
    driven.kcp.source(source);
    assertThrows(IllegalStateException.class, () -> driven.kcp.afterSend(driven.nowUs, driven));
    driven.assertNothingHeld();
    source.excess = 0;
    driven.kcp.afterSend(driven.nowUs, driven);
    assertEquals(4, driven.sentSns(Segment.PUSH).size());
  }

  @Test
  void smallSegmentsShareADatagram() {
    Source source = new Source(3);
    source.bytes = 50;
    DrivenKcp driven = driven(source);
    List<ByteBuf> datagrams = driven.sentDatagrams();
    assertEquals(1, datagrams.size());
    assertEquals(3 * (24 + 50), datagrams.get(0).readableBytes());
    assertEquals(List.of(1176, 1176, 1176), source.offered);
  }

  @Test
  void pacerLimitsWhatIsPulled() {
    Source source = new Source(100);
    DrivenKcp driven = new DrivenKcp(counting().maxBurst(3));
    attach(driven, source);
    assertEquals(3, source.pulled);
    driven.runTo(1_000);
    assertEquals(6, source.pulled, "with the next burst");
  }

  @Test
  void queueGoesBeforeTheSource() {
    DrivenKcp driven = new DrivenKcp(config());
    Source source = new Source(10);
    driven.kcp.source(source);
    driven.kcp.send(Unpooled.buffer().writeZero(2 * 1176).setByte(0, 77).setByte(1176, 78));
    driven.kcp.afterSend(0, driven);
    assertEquals(List.of(77, 78, 0, 1), contents(driven));
  }

  @Test
  void sentSegmentsAreReportedAtTheEndOfTheirFlush() {
    Source source = new Source(10);
    DrivenKcp driven = driven(source);
    assertEquals(4, source.sent);
    driven.peerUna = 3;
    driven.receiveBatch(driven.ack(2, TS));
    assertEquals(7, source.sent);
  }

  @Test
  void sourceMayCallTheSessionWhenItsSegmentsAreSent() {
    Source source = new Source(1);
    DrivenKcp driven = new DrivenKcp(config());
    source.onSent = () -> driven.kcp.send(DrivenKcp.bytes(10));
    attach(driven, source);
    assertEquals(1, driven.kcp.stats().queued());
    driven.kcp.afterSend(0, driven);
    assertEquals(List.of(0, 1), driven.sentSns(Segment.PUSH));
  }

  @Test
  void outputThatFailsDelaysTheReport() {
    Source source = new Source(1);
    source.bytes = 10;
    DrivenKcp driven = new DrivenKcp(config());
    driven.kcp.source(source);
    DatagramOutput broken =
        new DatagramOutput() {
          @Override
          public ByteBuf begin(int maxBytes) {
            throw new IllegalStateException("broken");
          }

          @Override
          public void end() {}
        };
    assertThrows(IllegalStateException.class, () -> driven.kcp.afterSend(0, broken));
    assertEquals(0, source.sent);
    driven.runTo(200_000);
    assertEquals(1, source.sent);
    assertEquals(List.of(0), contents(driven), "retransmitted after its timeout");
  }

  @Test
  void sourceThatEndsLeavesADrainedSession() {
    Source source = new Source(2);
    DrivenKcp driven = driven(source);
    assertFalse(driven.kcp.isDrained());
    driven.peerUna = 2;
    driven.receiveBatch(driven.ack(1, TS));
    assertTrue(driven.kcp.isDrained());
    assertTrue(driven.kcp.isQuiescent());
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
    driven.assertNothingHeld();
    source.left = 1;
    assertFalse(driven.kcp.isDrained(), "ready again");
    driven.kcp.afterSend(driven.nowUs, driven);
    assertEquals(3, source.pulled);
  }

  @Test
  void sourceThatWritesNothingEndsTheFlush() {
    Source source = new Source(10);
    source.bytes = 0;
    DrivenKcp driven = driven(source);
    assertEquals(1, source.pulled);
    assertEquals(0, source.sent);
    assertEquals(List.of(), driven.sent());
    driven.assertNothingHeld();
    assertTrue(driven.kcp.nextDeadline() > driven.nowUs);
  }

  @Test
  void lostSegmentIsRetransmittedWithoutTheSource() {
    Source source = new Source(1);
    DrivenKcp driven = driven(source);
    driven.runTo(200_000);
    assertEquals(List.of(0, 0), contents(driven));
    assertEquals(1, source.pulled);
    assertEquals(1, source.sent);
  }

  @Test
  void closedRemoteWindowIsProbedForTheSource() {
    Source source = new Source(10);
    DrivenKcp driven = new DrivenKcp(config());
    driven.peerWnd = 0;
    driven.receiveBatch(driven.wins());
    attach(driven, source);
    assertEquals(0, source.pulled);
    driven.runTo(500_000);
    assertEquals(List.of(Segment.WASK), driven.sentCmds());
    driven.peerWnd = 2;
    driven.receiveBatch(driven.wins());
    assertEquals(2, source.pulled);
  }

  @Test
  void segmentsFollowTheMtu() {
    Source source = new Source(10);
    DrivenKcp driven = driven(source);
    driven.kcp.reconfigure(config().mtuBytes(700).build());
    driven.peerUna = 4;
    driven.receiveBatch(driven.ack(3, TS));
    driven.kcp.reconfigure(config().mtuBytes(1500).build(), 300);
    driven.peerUna = 8;
    driven.receiveBatch(driven.ack(7, TS));
    assertEquals(List.of(1176, 1176, 1176, 1176, 676, 676, 676, 676, 1176, 1176), source.offered);
    assertEquals(0, driven.kcp.stats().queued());
  }

  @Test
  void byteOrderThatTheSourceChangesDoesNotMatter() {
    DrivenKcp driven = new DrivenKcp(config());
    Source[] source = new Source[1];
    source[0] =
        new Source(2) {
          @Override
          public void pull(ByteBuffer payload, int enoughBytes) {
            super.pull(payload.order(ByteOrder.LITTLE_ENDIAN), enoughBytes);
          }
        };
    attach(driven, source[0]);
    assertEquals(List.of(0, 1), driven.sentSns(Segment.PUSH));
  }

  @Test
  void sourceThatThrowsLeavesNothingBehind() {
    Source source = new Source(1);
    source.failure = new IllegalStateException("broken");
    DrivenKcp driven = new DrivenKcp(config());
    driven.kcp.source(source);
    assertThrows(IllegalStateException.class, () -> driven.kcp.afterSend(driven.nowUs, driven));
    driven.assertNothingHeld();
    source.failure = null;
    driven.kcp.afterSend(driven.nowUs, driven);
    assertEquals(List.of(0), contents(driven));
  }

  /** Fails while the test says so. */
  private static final class FailingAllocator extends AbstractByteBufAllocator {

    boolean failing;

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      throw new AssertionError();
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
      if (failing) {
        throw new OutOfMemoryError("simulated");
      }
      return Unpooled.directBuffer(initialCapacity, maxCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }

  @Test
  void failedAllocationIsRetriedAfterOneInterval() {
    Source source = new Source(1);
    FailingAllocator allocator = new FailingAllocator();
    allocator.failing = true;
    DrivenKcp driven = new DrivenKcp(config().build(), allocator, MemoryBudget.unlimited());
    attach(driven, source);
    assertEquals(0, source.pulled);
    assertEquals(1, driven.count(KcpCounter.ALLOCATION_FAILED));
    assertEquals(20_000, driven.kcp.nextDeadline());
    allocator.failing = false;
    driven.runTo(19_999);
    assertEquals(0, source.pulled);
    driven.runTo(20_000);
    assertEquals(1, source.pulled);
  }

  @Test
  void budgetThatIsUsedUpStopsPullingUntilAnAcknowledgement() {
    Source source = new Source(10);
    MemoryBudget budget = new MemoryBudget(9000); // half of it for sending
    DrivenKcp driven = new DrivenKcp(config().sendWindow(100).build(), budget, TS, 0);
    attach(driven, source);
    int first = source.pulled;
    assertTrue(first >= 1 && first < 4, "pulled " + first);
    driven.runTo(150_000);
    assertEquals(first, source.pulled, "not polled");
    driven.peerUna = first;
    driven.receiveBatch(driven.ack(first - 1, TS));
    assertTrue(source.pulled > first);
  }

  @Test
  void budgetThatOthersUseLeavesOneSegmentAtATime() {
    Source source = new Source(3);
    MemoryBudget budget = new MemoryBudget(9000);
    budget.chargeToSend(9000);
    DrivenKcp driven = new DrivenKcp(config().build(), budget, TS, 0);
    attach(driven, source);
    assertEquals(1, source.pulled);
    driven.peerUna = 1;
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(2, source.pulled);
  }

  @Test
  void closedSessionPullsNothing() {
    Source source = new Source(10);
    DrivenKcp driven = driven(source);
    driven.kcp.close();
    driven.kcp.afterSend(0, driven);
    driven.kcp.afterInput(0, driven);
    driven.kcp.flush(1_000_000, driven);
    assertEquals(4, source.pulled);
    driven.assertNothingHeld();
  }

  @Test
  void failedSessionPullsNothing() {
    Source source = new Source(10);
    DrivenKcp driven = attach(new DrivenKcp(config().userTimeoutMs(200)), source);
    driven.runTo(300_000);
    assertEquals(EndReason.USER_TIMEOUT, driven.kcp.failure());
    assertEquals(4, source.pulled);
  }

  @Test
  void sourceCanBeRemoved() {
    Source source = new Source(10);
    DrivenKcp driven = driven(source);
    driven.kcp.source(null);
    driven.peerUna = 4;
    driven.receiveBatch(driven.ack(3, TS));
    assertEquals(4, source.pulled);
    assertTrue(driven.kcp.isDrained());
    assertNull(driven.kcp.failure());
  }

  @Test
  void eachSegmentIsAMessageInMessageMode() {
    Source source = new Source(2);
    source.bytes = 10;
    DrivenKcp driven = attach(new DrivenKcp(config().delivery(Delivery.MESSAGE)), source);
    assertEquals(List.of(0, 0), driven.sent().stream().map(SentSegment::frg).toList());
  }
}
