package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What leaves when, and in which datagrams. The interval is 20 ms. */
class KcpFlushTest {

  private final DrivenKcp driven = new DrivenKcp(counting());

  @Test
  void freshSessionHasNothingToDo() {
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
    driven.kcp.flush(5_000, driven);
    driven.kcp.afterInput(5_000, driven);
    driven.kcp.afterSend(5_000, driven);
    assertEquals(List.of(), driven.sentDatagrams());
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
  }

  @Test
  void acknowledgementWaitsForTheInterval() {
    driven.receiveBatch(driven.push(0, bytes(1)));
    driven.nowUs = 7_000;
    driven.receiveBatch(driven.push(1, bytes(1)));
    driven.runTo(19_999);
    assertEquals(List.of(), driven.sent());
    driven.runTo(20_000);
    assertEquals(List.of(1), driven.sentSns(Segment.ACK));
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
  }

  @Test
  void intervalBeginsWithTheMillisecondInWhichTheFirstAcknowledgementBeganToWait() {
    driven.nowUs = 7_300;
    driven.receiveBatch(driven.push(0, bytes(1)));
    assertEquals(27_000, driven.kcp.nextDeadline());
    driven.nowUs = 9_999;
    driven.receiveBatch(driven.push(1, bytes(1)));
    assertEquals(27_000, driven.kcp.nextDeadline());
    driven.runTo(27_999);
    assertEquals(List.of(1), driven.sentSns(Segment.ACK));
    driven.receiveBatch(driven.push(2, bytes(1)));
    assertEquals(47_000, driven.kcp.nextDeadline());
    driven.runTo(48_000);
    driven.receiveBatch(driven.push(3, bytes(1)));
    assertEquals(68_000, driven.kcp.nextDeadline());
  }

  @Test
  void flushOfASingleMillisecondIsDueAtTheNextOne() {
    DrivenKcp quick = new DrivenKcp(counting().intervalMs(1));
    quick.nowUs = 7_999;
    quick.receiveBatch(quick.push(0, bytes(1)));
    assertEquals(8_000, quick.kcp.nextDeadline());
  }

  @Test
  void acknowledgementsLeaveWhenADatagramOfThemIsFull() {
    int full = 1200 / 24;
    for (int sn = 0; sn < full - 1; sn++) {
      driven.receiveBatch(driven.push(sn + 1, bytes(1)));
    }
    assertEquals(List.of(), driven.sent());
    driven.receiveBatch(driven.push(full, bytes(1)));
    List<ByteBuf> datagrams = driven.sentDatagrams();
    assertEquals(1, datagrams.size());
    assertEquals(full * 24, datagrams.get(0).readableBytes());
  }

  @Test
  void acknowledgementsLeaveWhenHalfTheWindowHasArrived() {
    DrivenKcp narrow = new DrivenKcp(counting().receiveWindow(8));
    narrow.receiveBatch(
        narrow.push(0, bytes(1)), narrow.push(1, bytes(1)), narrow.push(2, bytes(1)));
    assertEquals(List.of(), narrow.sent());
    narrow.receiveBatch(narrow.push(3, bytes(1)));
    assertEquals(List.of(3), narrow.sentSns(Segment.ACK));
  }

  @Test
  void acknowledgementDoesNotWaitWithAckNoDelay() {
    DrivenKcp eager = new DrivenKcp(counting().ackNoDelay(true));
    eager.receiveBatch(eager.push(0, bytes(1)));
    assertEquals(List.of(0), eager.sentSns(Segment.ACK));
    assertEquals(Time.NO_DEADLINE, eager.kcp.nextDeadline());
  }

  @Test
  void acknowledgementTravelsWithAWrite() {
    driven.receiveBatch(driven.push(0, bytes(1)));
    driven.sendSegments(1);
    assertEquals(List.of(Segment.ACK, Segment.PUSH), driven.sentCmds());
    driven.runTo(100_000);
    assertEquals(List.of(), driven.sent());
  }

  @Test
  void writeLeavesAtOnce() {
    driven.sendSegments(1);
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
  }

  @Test
  void requestedProbeLeavesAtOnce() {
    driven.kcp.probe();
    driven.kcp.afterSend(driven.nowUs, driven);
    assertEquals(List.of(Segment.WASK), driven.sentCmds());
    assertEquals(1, driven.count(KcpCounter.PROBES_OUT));
  }

  @Test
  void acknowledgementsComeFirstThenProbesThenPayload() {
    driven.receiveBatch(driven.push(0, bytes(1)));
    assertEquals(InputResult.ACCEPTED, driven.input(driven.wask()));
    driven.kcp.probe();
    driven.sendSegments(1);
    assertEquals(List.of(Segment.ACK, Segment.WASK, Segment.WINS, Segment.PUSH), driven.sentCmds());
  }

  @Test
  void datagramsAreFullAndNeverExceedTheMtu() {
    for (int mtu : new int[] {50, 576, 1200, 1500}) {
      DrivenKcp fresh = new DrivenKcp(counting().mtuBytes(mtu));
      fresh.receiveBatch(fresh.push(1, bytes(1)), fresh.push(2, bytes(1)), fresh.push(3, bytes(1)));
      fresh.sendSegments(8);
      List<ByteBuf> datagrams = fresh.sentDatagrams();
      assertTrue(datagrams.stream().allMatch(d -> d.readableBytes() <= mtu), "MTU " + mtu);
      assertEquals(8, datagrams.stream().filter(d -> d.readableBytes() == mtu).count());
    }
  }

  @Test
  void smallSegmentsShareADatagram() {
    DrivenKcp messages = new DrivenKcp(counting().delivery(Delivery.MESSAGE));
    for (int i = 0; i < 9; i++) {
      assertTrue(messages.kcp.send(bytes(100)));
    }
    messages.kcp.afterSend(0, messages);
    assertEquals(1, messages.sentDatagrams().size());
    assertEquals(9 * 124, messages.count(KcpCounter.BYTES_OUT));
    assertEquals(9, messages.count(KcpCounter.SEGMENTS_OUT));
    assertEquals(1, messages.count(KcpCounter.DATAGRAMS_OUT));
  }

  /** Tells apart datagrams that came by send and by begin. */
  private static final class ReadyOutput implements DatagramOutput {

    private final DrivenKcp driven;
    private final List<ByteBuf> ready = new ArrayList<>();
    private final List<List<Integer>> runs = new ArrayList<>();
    private int begun;

    ReadyOutput(DrivenKcp driven) {
      this.driven = driven;
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      begun++;
      return driven.begin(maxBytes);
    }

    @Override
    public void end() {
      driven.end();
    }

    @Override
    public void send(ByteBuf data, int index, int bytes, int datagramBytes) {
      List<Integer> run = new ArrayList<>();
      for (int at = index; at < index + bytes; at += datagramBytes) {
        ready.add(data.slice(at, Math.min(datagramBytes, index + bytes - at)));
        run.add(ready.get(ready.size() - 1).readableBytes());
      }
      runs.add(run);
      driven.send(data, index, bytes, datagramBytes);
    }
  }

  @Test
  void datagramOfOneSegmentIsSentFromWhereItStands() {
    ReadyOutput output = new ReadyOutput(driven);
    assertTrue(driven.kcp.send(bytes(3 * 1176 + 100)));
    driven.kcp.afterSend(0, output);
    assertEquals(List.of(List.of(1200, 1200, 1200, 124)), output.runs);
    assertEquals(4, output.ready.size());
    assertEquals(0, output.begun);
    List<ByteBuf> datagrams = driven.sentDatagrams();
    assertEquals(
        List.of(1200, 1200, 1200, 124), datagrams.stream().map(ByteBuf::readableBytes).toList());
    ByteBuf payload = Unpooled.buffer();
    datagrams.forEach(d -> SentSegment.in(d).forEach(s -> payload.writeBytes(s.payload())));
    assertEquals(bytes(3 * 1176 + 100), payload);
    assertEquals(4, driven.count(KcpCounter.SEGMENTS_OUT));
    assertEquals(4, driven.count(KcpCounter.DATAGRAMS_OUT));
    assertEquals(3 * 1200 + 124, driven.count(KcpCounter.BYTES_OUT));
  }

  @Test
  void contiguousDatagramsAreSentTogether() {
    DrivenKcp messages = new DrivenKcp(counting().delivery(Delivery.MESSAGE));
    messages.receiveBatch(messages.push(0, bytes(1)));
    ReadyOutput output = new ReadyOutput(messages);
    List<Integer> sizes = List.of(100, 1176, 900, 900, 800, 1000);
    sizes.forEach(bytes -> assertTrue(messages.kcp.send(bytes(bytes))));
    messages.kcp.afterSend(0, output);
    // The first shares the acknowledgement's datagram, the second has a chunk of its own.
    assertEquals(1, output.begun);
    assertEquals(List.of(List.of(1200), List.of(924, 924, 824), List.of(1024)), output.runs);
    List<Integer> sent = new ArrayList<>();
    messages
        .sentDatagrams()
        .forEach(d -> SentSegment.in(d).forEach(s -> sent.add(s.payload().readableBytes())));
    assertEquals(List.of(0, 100, 1176, 900, 900, 800, 1000), sent);
  }

  @Test
  void fullDatagramsAreNotSentTogetherWithLargerOnes() {
    KcpConfig.Builder config = counting().delivery(Delivery.MESSAGE);
    DrivenKcp messages = new DrivenKcp(config);
    ReadyOutput output = new ReadyOutput(messages);
    assertTrue(messages.kcp.send(bytes(5 * 1176)));
    messages.kcp.reconfigure(config.mtuBytes(500).build());
    assertTrue(messages.kcp.send(bytes(476)));
    assertTrue(messages.kcp.send(bytes(476)));
    messages.kcp.afterSend(0, output);
    assertEquals(List.of(List.of(1200, 1200, 1200, 1200, 1200), List.of(500, 500)), output.runs);
    assertEquals(0, output.begun);
    assertEquals(
        List.of(4, 3, 2, 1, 0, 0, 0), messages.sent().stream().map(SentSegment::frg).toList());
  }

  @Test
  void retransmissionIsCopiedAndDoesNotChangeTheFirstTransmission() {
    driven.acknowledged();
    ReadyOutput output = new ReadyOutput(driven);
    assertTrue(driven.kcp.send(bytes(2 * 1176)));
    driven.kcp.afterSend(0, output);
    List<ByteBuf> first = driven.sentDatagrams();
    driven.nowUs = driven.kcp.stats().rtoUs();
    driven.kcp.flush(driven.nowUs, output);
    List<ByteBuf> second = driven.sentDatagrams();
    assertEquals(2, output.ready.size());
    assertEquals(2, output.begun);
    for (int i = 0; i < 2; i++) {
      assertEquals(DrivenKcp.TS_ORIGIN, Segment.ts(output.ready.get(i), 0));
      assertEquals(
          DrivenKcp.TS_ORIGIN + (int) (driven.nowUs / 1_000), Segment.ts(second.get(i), 0));
      assertEquals(
          first.get(i).slice(Segment.HEADER_BYTES, 1176),
          second.get(i).slice(Segment.HEADER_BYTES, 1176));
    }
  }

  @Test
  void datagramOfSeveralSegmentsIsCopied() {
    DrivenKcp messages = new DrivenKcp(counting().delivery(Delivery.MESSAGE));
    ReadyOutput output = new ReadyOutput(messages);
    messages.receiveBatch(messages.push(0, bytes(1)));
    for (int bytes : new int[] {1176, 500, 600, 1800, 0}) {
      assertTrue(messages.kcp.send(bytes(bytes)));
    }
    messages.kcp.afterSend(0, output);
    List<List<Integer>> sizes =
        messages.sentDatagrams().stream()
            .map(d -> SentSegment.in(d).stream().map(s -> s.payload().readableBytes()).toList())
            .toList();
    assertEquals(
        List.of(List.of(0), List.of(1176), List.of(500, 600), List.of(1176), List.of(624, 0)),
        sizes);
    assertEquals(3, output.begun);
    assertEquals(2, output.ready.size());
  }

  @Test
  void streamIsTakenAsFarAsTheQueueHasRoom() {
    DrivenKcp small = new DrivenKcp(counting().sendQueue(3).sendWindow(1).mtuBytes(124));
    ByteBuf data = bytes(1000);
    assertFalse(small.kcp.send(data));
    assertEquals(700, data.readableBytes());
    small.kcp.afterSend(0, small);
    assertTrue(small.kcp.isSendable());
    assertFalse(small.kcp.send(data));
    assertEquals(600, data.readableBytes());
    assertFalse(small.kcp.isSendable());
    assertEquals(400, small.count(KcpCounter.PAYLOAD_BYTES_OUT));
  }

  @Test
  void outputThatThrowsLosesNoSegment() {
    DatagramOutput broken =
        new DatagramOutput() {
          @Override
          public ByteBuf begin(int maxBytes) {
            throw new IllegalStateException();
          }

          @Override
          public void end() {}
        };
    assertTrue(driven.kcp.send(bytes(10)));
    assertThrows(IllegalStateException.class, () -> driven.kcp.afterSend(0, broken));
    driven.runTo(driven.kcp.stats().rtoUs());
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
  }

  @Test
  void timestampsBeginAtTheirOrigin() {
    driven.runTo(77_000);
    driven.sendSegments(1);
    assertEquals(DrivenKcp.TS_ORIGIN + 77, driven.sent().get(0).ts());
  }

  @Test
  void timestampsCountWholeMilliseconds() {
    assertEquals(DrivenKcp.TS_ORIGIN - 1, timestampAt(-1));
    assertEquals(DrivenKcp.TS_ORIGIN, timestampAt(0));
    assertEquals(DrivenKcp.TS_ORIGIN, timestampAt(999));
    assertEquals(DrivenKcp.TS_ORIGIN + 1, timestampAt(1_000));
    assertEquals(DrivenKcp.TS_ORIGIN + 77, timestampAt(77_999));
    assertEquals(DrivenKcp.TS_ORIGIN + 78, timestampAt(78_000));
  }

  private static int timestampAt(long nowUs) {
    DrivenKcp driven = new DrivenKcp(counting());
    driven.nowUs = nowUs;
    driven.kcp.probe();
    driven.sendSegments(1);
    List<Integer> timestamps = driven.sent().stream().map(SentSegment::ts).distinct().toList();
    assertEquals(1, timestamps.size(), "the probe and the segment differ");
    return timestamps.get(0);
  }

  /** Writes down what a flush calls. */
  private static final class CallOrder implements DatagramOutput {

    private final StringBuilder calls = new StringBuilder();
    private boolean broken;

    @Override
    public ByteBuf begin(int maxBytes) {
      if (broken) {
        throw new IllegalStateException("broken");
      }
      calls.append("begin ");
      return Unpooled.buffer(maxBytes);
    }

    @Override
    public void end() {
      calls.append("end ");
    }

    @Override
    public void send(ByteBuf data, int index, int bytes, int datagramBytes) {
      calls.append("send ");
    }

    @Override
    public void endFlush() {
      calls.append("endFlush ");
    }

    String take() {
      String taken = calls.toString().trim();
      calls.setLength(0);
      return taken;
    }
  }

  @Test
  void eachFlushThatHasWrittenEndsOnce() {
    CallOrder output = new CallOrder();
    driven.kcp.send(bytes(3 * 1176));
    driven.kcp.afterSend(0, output);
    assertEquals("send endFlush", output.take());
    driven.input(driven.push(0, bytes(1)));
    driven.kcp.afterInput(0, output);
    assertEquals("", output.take(), "the acknowledgement waits");
    driven.kcp.flush(20_000, output);
    assertEquals("begin end endFlush", output.take());
    driven.input(driven.wask());
    driven.kcp.afterInput(20_000, output);
    assertEquals("begin end endFlush", output.take(), "control segments alone");
  }

  @Test
  void flushThatHasWrittenNothingDoesNotEnd() {
    CallOrder output = new CallOrder();
    driven.kcp.flush(0, output);
    driven.kcp.afterInput(0, output);
    driven.kcp.afterSend(0, output);
    assertEquals("", output.take());
  }

  @Test
  void flushThatHasFailedEndsWithTheNextOne() {
    CallOrder output = new CallOrder();
    driven.kcp.send(bytes(2 * 1176));
    driven.kcp.send(bytes(10));
    driven.kcp.afterSend(0, output);
    output.take();
    driven.kcp.reconfigure(counting().mtuBytes(700).build());
    output.broken = true;
    assertThrows(IllegalStateException.class, () -> driven.kcp.flush(200_000, output));
    output.broken = false;
    driven.kcp.flush(200_000, output);
    assertTrue(output.take().endsWith("end endFlush"));
  }

  // Sessions of one thread

  private final KcpContext shared = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final Kcp first = new Kcp(1, counting().build(), shared, 0);
  private final Kcp second = new Kcp(2, counting().build(), shared, 0);

  /** Runs something within a flush, and keeps the datagrams that have ended. */
  private static final class Interrupted implements DatagramOutput {

    private final List<ByteBuf> datagrams = new ArrayList<>();
    private Runnable atEnd = () -> {};
    private Runnable atEndOfFlush = () -> {};
    private ByteBuf datagram;

    @Override
    public ByteBuf begin(int maxBytes) {
      datagram = Unpooled.buffer(maxBytes);
      return datagram;
    }

    @Override
    public void end() {
      atEnd.run();
      datagrams.add(datagram);
    }

    @Override
    public void endFlush() {
      atEndOfFlush.run();
    }

    List<Integer> convs() {
      return datagrams.stream().map(d -> Segment.conv(d, 0)).toList();
    }
  }

  private void assertSent(Kcp kcp, int segments, int bytes) {
    assertEquals(segments, kcp.counters().get(KcpCounter.SEGMENTS_OUT));
    assertEquals(bytes, kcp.counters().get(KcpCounter.BYTES_OUT));
  }

  @Test
  void flushThatHasFailedLeavesNothingToTheNextSession() {
    Interrupted output = new Interrupted();
    output.atEnd =
        () -> {
          throw new IllegalStateException("broken");
        };
    first.probe();
    first.send(bytes(10));
    assertThrows(IllegalStateException.class, () -> first.afterSend(0, output));
    output.atEnd = () -> {};
    second.send(bytes(20));
    second.afterSend(0, output);
    assertEquals(List.of(2), output.convs());
    assertSent(first, 2, 24 + 24 + 10);
    assertSent(second, 1, 24 + 20);
  }

  @Test
  void outputMayFlushAnotherSessionAtTheEndOfAFlush() {
    Interrupted output = new Interrupted();
    output.atEndOfFlush =
        () -> {
          output.atEndOfFlush = () -> {};
          second.flush(0, output);
        };
    first.send(bytes(10));
    second.send(bytes(20));
    first.afterSend(0, output);
    assertEquals(List.of(1, 2), output.convs());
    assertSent(first, 1, 24 + 10);
    assertSent(second, 1, 24 + 20);
  }

  @Test
  void flushOfAnotherSessionWithinAFlushIsAnError() {
    Interrupted output = new Interrupted();
    output.atEnd = () -> second.flush(0, output);
    first.send(bytes(10));
    second.send(bytes(20));
    assertThrows(AssertionError.class, () -> first.afterSend(0, output));
    output.atEnd = () -> {};
    second.afterSend(0, output);
    assertEquals(List.of(2), output.convs());
  }
}
