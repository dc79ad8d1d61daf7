package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.SegmentSink;
import io.kcp4j.internal.wire.SegmentSource;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Segments whose payload a {@link SegmentSink} takes as soon as they arrive. */
class KcpSinkTest {

  private static final int WINDOW = 1000;

  private final DrivenKcp driven = new DrivenKcp(config());
  private final Sink sink = new Sink();

  KcpSinkTest() {
    driven.kcp.sink(sink);
    driven.peerUna = 0;
  }

  private static KcpConfig.Builder config() {
    return KcpConfig.builder().delivery(Delivery.LANES).receiveWindow(WINDOW);
  }

  private static final class Sink implements SegmentSink {

    final List<Integer> taken = new ArrayList<>();
    final List<Boolean> inOrder = new ArrayList<>();
    boolean isFull;
    boolean isOutOfMemory;
    int heldBytes;

    @Override
    public boolean take(ByteBuf datagram, int index, int bytes, boolean isInOrder) {
      if (isOutOfMemory) {
        throw new OutOfMemoryError("simulated");
      }
      if (!isFull) {
        taken.add((int) datagram.getByte(index));
        inOrder.add(isInOrder);
      }
      return !isFull;
    }

    @Override
    public int heldBytes() {
      return heldBytes;
    }

    @Override
    public boolean hasUnread() {
      return false;
    }
  }

  private ByteBuf push(int sn) {
    return push(sn, 0);
  }

  private ByteBuf push(int sn, int ts) {
    return driven.segment(Segment.PUSH, 0, ts, sn, bytes(10).setByte(0, sn));
  }

  /** The una, and the segments with an ACK of their own, of what has been sent since. */
  private void assertAcknowledged(int una, Integer... sns) {
    driven.runTo(driven.nowUs + 20_000);
    List<SentSegment> acks = driven.sent().stream().filter(s -> s.cmd() == Segment.ACK).toList();
    assertEquals(List.of(sns), acks.stream().map(SentSegment::sn).toList());
    assertEquals(una, acks.get(acks.size() - 1).una());
  }

  @Test
  void segmentsArePassedWhetherOrNotOthersBeforeThemAreMissing() {
    driven.receiveBatch(push(0), push(2), push(5), push(4));
    assertEquals(List.of(0, 2, 5, 4), sink.taken);
    assertEquals(List.of(true, false, false, false), sink.inOrder);
    assertAcknowledged(1, 2, 5, 4);
    driven.receiveBatch(push(1));
    assertEquals(List.of(0, 2, 5, 4, 1), sink.taken);
    assertAcknowledged(3, 1);
    driven.receiveBatch(push(3));
    assertAcknowledged(6, 3);
    assertFalse(driven.kcp.isReceivable());
    assertNull(driven.kcp.receive());
    driven.assertNothingHeld();
  }

  @Test
  void duplicatesAreAcknowledgedAgainAndNotPassed() {
    driven.receiveBatch(push(0), push(2));
    assertAcknowledged(1, 2);
    driven.receiveBatch(push(0), push(2), push(2));
    assertAcknowledged(1, 2);
    driven.receiveBatch(push(2));
    assertAcknowledged(1, 2);
    driven.receiveBatch(push(1), push(2));
    assertAcknowledged(3, 1);
    assertEquals(List.of(0, 2, 1), sink.taken);
    assertEquals(5, driven.count(KcpCounter.DUPLICATES));
  }

  @Test
  void segmentWithoutRoomIsNotAcknowledgedAndPassedAgain() {
    sink.isFull = true;
    driven.receiveBatch(push(0), push(2));
    driven.runTo(100_000);
    assertEquals(List.of(), driven.sentCmds());
    assertEquals(2, driven.count(KcpCounter.OVER_BUDGET));
    sink.isFull = false;
    driven.receiveBatch(push(2), push(0));
    assertAcknowledged(1, 2, 0);
    assertEquals(List.of(2, 0), sink.taken);
  }

  @Test
  void segmentWithoutMemoryIsNotAcknowledgedAndPassedAgain() {
    sink.isOutOfMemory = true;
    driven.receiveBatch(push(0), push(2));
    driven.runTo(100_000);
    assertEquals(List.of(), driven.sentCmds());
    assertEquals(2, driven.count(KcpCounter.ALLOCATION_FAILED));
    sink.isOutOfMemory = false;
    driven.receiveBatch(push(2), push(0), push(1));
    assertEquals(List.of(2, 0, 1), sink.taken);
    assertAcknowledged(3, 1);
  }

  @Test
  void windowStaysOpenWhateverTheSinkHolds() {
    sink.heldBytes = 1_000_000;
    driven.receiveBatch(push(1), driven.wask());
    assertEquals(WINDOW, driven.sent().get(0).wnd());
  }

  @Test
  void segmentsAreTakenUpToTheEndOfTheWindow() {
    driven.receiveBatch(push(WINDOW - 1), push(WINDOW));
    assertEquals(1, sink.taken.size());
    assertEquals(1, driven.count(KcpCounter.OUT_OF_WINDOW));
  }

  @Test
  void fragmentsOfMessagesAreRefused() {
    driven.receiveBatch(driven.fragment(0, 1, bytes(1)));
    assertEquals(List.of(), sink.taken);
    assertEquals(1, driven.count(KcpCounter.FRAGMENT_REFUSED));
  }

  @Test
  void nothingIsTakenWithoutASink() {
    DrivenKcp without = new DrivenKcp(config());
    without.receiveBatch(push(0));
    without.runTo(100_000);
    assertEquals(List.of(), without.sentCmds());
  }

  @Test
  void memoryBudgetWithoutRoomForTheWindowRefusesWhatIsFar() {
    DrivenKcp small =
        new DrivenKcp(
            config().receiveWindow(60_000).build(),
            new MemoryBudget(1_000),
            DrivenKcp.TS_ORIGIN,
            0);
    small.kcp.sink(sink);
    small.receiveBatch(push(1), push(50_000));
    assertEquals(List.of(1), sink.taken);
    assertEquals(1, small.count(KcpCounter.OVER_BUDGET));
    small.receiveBatch(push(0));
    small.assertNothingHeld();
  }

  @Test
  void closingReleasesWhatIsKnownOfSegments() {
    driven.receiveBatch(push(900), push(300));
    assertTrue(driven.budget.usedBytes() > 0);
    driven.kcp.close();
    driven.assertNothingHeld();
  }

  @Test
  void otherDeliveriesHaveNoSink() {
    DrivenKcp stream = new DrivenKcp(KcpConfig.builder());
    Exception refusal = assertThrows(IllegalStateException.class, () -> stream.kcp.sink(sink));
    assertEquals("delivery: STREAM (expected: LANES)", refusal.getMessage());
  }

  @Test
  void lanesHaveNoSendQueue() {
    Exception refusal = assertThrows(IllegalStateException.class, () -> driven.kcp.send(bytes(1)));
    assertEquals("delivery: LANES (expected: STREAM or MESSAGE, to send)", refusal.getMessage());
  }

  // The source of a session with a sink

  private static final class Source implements SegmentSource {

    boolean isReady;
    boolean isEmpty = true;

    @Override
    public boolean isReady() {
      return isReady;
    }

    @Override
    public boolean isEmpty() {
      return isEmpty;
    }

    @Override
    public void pull(ByteBuffer payload, int enoughBytes) {
      payload.put((byte) 1);
      isReady = false;
      isEmpty = true;
    }

    @Override
    public void onSent(int segments) {}
  }

  @Test
  void sourceThatBecomesReadyByInputSendsAtTheEndOfTheBatch() {
    Source source = new Source();
    driven.kcp.source(source);
    driven.input(push(0));
    source.isReady = true;
    driven.kcp.sourceBecameReady();
    driven.kcp.afterInput(driven.nowUs, driven);
    assertEquals(List.of(Segment.ACK, Segment.PUSH), driven.sentCmds());
  }

  @Test
  void sourceThatMustWaitKeepsTheSessionFromBeingDrained() {
    Source source = new Source();
    source.isEmpty = false;
    driven.kcp.source(source);
    assertFalse(driven.kcp.isDrained());
    assertFalse(driven.kcp.isAllSent());
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
    source.isReady = true;
    driven.kcp.afterSend(0, driven);
    assertTrue(driven.kcp.isAllSent());
    assertFalse(driven.kcp.isDrained());
    driven.peerUna = 1;
    driven.receiveBatch(driven.ack(0, DrivenKcp.TS_ORIGIN));
    assertTrue(driven.kcp.isDrained());
  }
}
