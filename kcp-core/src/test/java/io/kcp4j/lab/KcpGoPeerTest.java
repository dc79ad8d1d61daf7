package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.internal.wire.Segment;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** What a kcp-go v5.6.72 session with an interval of 40 ms puts on the wire. */
class KcpGoPeerTest {

  private static final String[] COMMANDS = {"PUSH", "ACK", "WASK", "WINS"};

  private static final int CONV = 7;

  private static final int INTERVAL_MS = 40;

  private static final int PAYLOAD_BYTES = 10;

  private static final int MS = 1_000;

  private final VirtualTime time = new VirtualTime();
  private final List<String> sent = new ArrayList<>();
  private final KcpGoPeer peer = KcpGoPeer.unconfigured(time, new SplittableRandom(1), INTERVAL_MS);
  private LabSession session;

  KcpGoPeerTest() {
    peer.connect(new LabLink(time, new SplittableRandom(1), LinkSettings.delay(0), this::record));
    session = peer.open(CONV, (session, data) -> {});
    time.runUntil(5 * MS);
  }

  @Test
  void segmentsInOrderAreAcknowledgedByTheLastAtTheNextInterval() {
    push(0, 100);
    push(1, 101);
    push(2, 102);
    time.runUntil(INTERVAL_MS * MS - 1);
    assertEquals(List.of(), sent);
    time.runUntil(INTERVAL_MS * MS);
    assertEquals(List.of("40: ACK 2 ts 102 una 3"), sent);
  }

  @Test
  void segmentsBeyondAGapAreAcknowledgedInTheOrderOfTheirArrival() {
    push(0, 100);
    push(3, 103);
    push(2, 102);
    time.runUntil(INTERVAL_MS * MS);
    assertEquals(List.of("40: ACK 3 ts 103 una 1, ACK 2 ts 102 una 1"), sent);
  }

  @Test
  void segmentsThatHaveComeInOrderSinceAreAcknowledgedByUnaOnly() {
    push(2, 102);
    push(1, 101);
    push(0, 100);
    time.runUntil(INTERVAL_MS * MS);
    assertEquals(List.of("40: ACK 0 ts 100 una 3"), sent);
  }

  @Test
  void lastWaitingAcknowledgementIsWrittenEvenForADuplicate() {
    push(0, 100);
    push(1, 101);
    push(0, 140);
    time.runUntil(INTERVAL_MS * MS);
    assertEquals(List.of("40: ACK 0 ts 140 una 2"), sent);
  }

  @Test
  void asManyAcknowledgementsAsFitInADatagramLeaveAtOnce() {
    for (int sn = 0; sn < 57; sn++) {
      push(sn, 100 + sn);
    }
    assertEquals(List.of(), sent);
    push(57, 157);
    time.runUntil(5 * MS);
    assertEquals(List.of("5: ACK 57 ts 157 una 58"), sent);
  }

  @Test
  void datagramThatAdvancesUnaCausesAFlushOfAcknowledgements() {
    session.write(Unpooled.buffer().writeZero(PAYLOAD_BYTES));
    session.flush();
    push(0, 100, 0);
    push(1, 101, 1);
    time.runUntil(5 * MS);
    assertEquals(List.of("5: PUSH 0 una 0", "5: ACK 1 ts 101 una 2"), sent);
  }

  @Test
  void unacknowledgedSegmentIsRetransmittedAfterTheInitialTimeoutAndAHalfMore() {
    session.write(Unpooled.buffer().writeZero(PAYLOAD_BYTES));
    session.flush();
    time.runUntil(600 * MS);
    List<String> times = sent.stream().map(line -> line.split(":", 2)[0]).toList();
    assertEquals(List.of("5", "205", "505"), times);
  }

  private void push(int sn, int ts) {
    push(sn, ts, 0);
  }

  private void push(int sn, int ts, int una) {
    ByteBuf datagram = Unpooled.buffer();
    Segment.write(datagram, CONV, Segment.PUSH, 0, 1024, ts, sn, una, PAYLOAD_BYTES);
    datagram.writeZero(PAYLOAD_BYTES);
    peer.received(datagram);
  }

  private void record(ByteBuf datagram) {
    List<String> segments = new ArrayList<>();
    for (int at = datagram.readerIndex();
        at < datagram.writerIndex();
        at += Segment.HEADER_BYTES + Segment.length(datagram, at)) {
      segments.add(describe(datagram, at));
    }
    sent.add(time.nowMs() + ": " + String.join(", ", segments));
  }

  private static String describe(ByteBuf datagram, int at) {
    String command = COMMANDS[Segment.cmd(datagram, at) - Segment.PUSH];
    boolean isAck = Segment.cmd(datagram, at) == Segment.ACK;
    String echoedTs = isAck ? " ts " + Segment.ts(datagram, at) : "";
    return command
        + " "
        + Segment.sn(datagram, at)
        + echoedTs
        + " una "
        + Segment.una(datagram, at);
  }
}
