package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.admission.Incoming;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.arq.KcpStarts;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@link SessionTable}: admission, the order in which sessions are driven, and how they end. */
class SessionTableTest {

  private static final InetSocketAddress REMOTE = new InetSocketAddress(NetUtil.LOCALHOST, 1111);
  private static final InetSocketAddress OTHER = new InetSocketAddress(NetUtil.LOCALHOST, 2222);

  private final KcpContext context = context(MemoryBudget.unlimited());
  private final TimerWheel deadlines = new TimerWheel(0);
  private final TestDriver driver = driver(context);
  private final SessionTable table = driver.table;
  private long nowUs;

  private static KcpContext context(MemoryBudget budget) {
    return new KcpContext(new UnpooledByteBufAllocator(true, true), budget, new KcpCounters());
  }

  private TestDriver driver(KcpContext context) {
    return TestDriver.builder(context).deadlines(deadlines).build().recordEvents();
  }

  private static ByteBuf segment(int conv, int cmd, int frg, int sn, int una, int bytes) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, conv, cmd, frg, 128, 0, sn, una, bytes);
    return out.writeZero(bytes);
  }

  private static ByteBuf push(int conv, int sn) {
    return segment(conv, Segment.PUSH, 0, sn, 0, 10);
  }

  private static ByteBuf wask(int conv) {
    return segment(conv, Segment.WASK, 0, 0, 0, 0);
  }

  /** A batch of one datagram. */
  private void receive(InetSocketAddress remote, ByteBuf datagram) {
    table.receive(remote, datagram, nowUs);
    table.endBatch(nowUs);
  }

  private Session begin(InetSocketAddress remote, int conv) {
    receive(remote, push(conv, 0));
    driver.events();
    return driver.accepted.get(driver.accepted.size() - 1);
  }

  private long count(KcpCounter counter) {
    return context.total().get(counter);
  }

  private void runTo(long untilUs) {
    for (; nowUs < untilUs; nowUs += 100_000) {
      deadlines.advance(nowUs);
      table.sweep(nowUs);
      table.flushPending(nowUs);
    }
  }

  // Admission

  @Test
  void firstSegmentBeginsASession() {
    receive(REMOTE, push(7, 0));
    assertEquals(1, table.size());
    assertEquals(7, driver.accepted.get(0).conv());
    assertSame(REMOTE, driver.accepted.get(0).remote());
    assertEquals(List.of("progressed 7"), driver.events());
    assertEquals(10, driver.accepted.get(0).kcp().receive().readableBytes());
    assertEquals(1, count(KcpCounter.SESSIONS_OPENED));
  }

  @Test
  void laterSegmentsAndAcknowledgementsBeginNone() {
    receive(REMOTE, push(7, 1));
    receive(REMOTE, push(7, -1));
    receive(REMOTE, segment(7, Segment.ACK, 0, 0, 0, 0));
    receive(REMOTE, segment(7, Segment.WINS, 0, 0, 0, 0));
    assertEquals(0, table.size());
    assertEquals(4, count(KcpCounter.UNKNOWN_SESSION));
    assertEquals(List.of(), driver.events());
  }

  @Test
  void firstSegmentMayStandAnywhereInAWellFormedDatagram() {
    receive(REMOTE, Unpooled.copiedBuffer(wask(7), push(7, 1), push(7, 0)));
    assertEquals(1, table.size());
  }

  @Test
  void datagramThatANewSessionWouldRefuseBeginsNone() {
    receive(REMOTE, segment(7, Segment.PUSH, 0, 0, 1, 10));
    receive(REMOTE, Unpooled.copiedBuffer(push(7, 0), segment(7, Segment.ACK, 0, 0, 0, 0)));
    receive(REMOTE, Unpooled.copiedBuffer(push(7, 0), push(8, 0)));
    receive(REMOTE, Unpooled.copiedBuffer(push(7, 0), push(7, 1).setByte(4, 85)));
    receive(REMOTE, push(7, 0).setIntLE(20, 11));
    receive(REMOTE, push(7, 0).setIntLE(20, -1));
    assertEquals(0, table.size());
    assertEquals(6, count(KcpCounter.UNKNOWN_SESSION));
  }

  @Test
  void datagramThatItsSessionRefusesCausesNothing() {
    begin(REMOTE, 7);
    receive(REMOTE, segment(7, Segment.PUSH, 0, 1, 1, 10));
    assertEquals(1, count(KcpCounter.ACKNOWLEDGES_UNSENT));
    assertEquals(List.of(), driver.events());
  }

  @Test
  void sameConversationFromAnotherAddressIsAnotherSession() {
    begin(REMOTE, 7);
    begin(OTHER, 7);
    begin(REMOTE, 8);
    assertEquals(3, table.size());
    receive(OTHER, push(7, 1));
    assertEquals(List.of("progressed 7"), driver.events());
    assertEquals(20, driver.accepted.get(1).kcp().receive().readableBytes());
    assertEquals(10, driver.accepted.get(0).kcp().receive().readableBytes());
  }

  @Test
  void sessionsBeyondTheLimitAreRefusedAndMayTryAgain() {
    for (int conv = 1; conv <= 4; conv++) {
      receive(REMOTE, push(conv, 0));
    }
    assertEquals(3, table.size());
    assertEquals(1, count(KcpCounter.ACCEPT_REFUSED));
    table.remove(driver.accepted.get(0), nowUs);
    receive(REMOTE, push(4, 0));
    assertEquals(3, table.size());
  }

  @Test
  void driverMayRefuseAPeer() {
    driver.acceptor = (remote, conv) -> null;
    receive(REMOTE, push(7, 0));
    assertEquals(0, table.size());
    assertEquals(1, count(KcpCounter.ACCEPT_REFUSED));
  }

  private Incoming deferred(int conv) {
    return driver.deferred.stream().filter(i -> i.conv() == conv).findFirst().orElseThrow();
  }

  private Session acceptDeferred(int conv) {
    Session session = driver.newSession(REMOTE, conv);
    deferred(conv).accept(session, nowUs);
    table.endBatch(nowUs);
    return session;
  }

  @Test
  void packetsThatWaitForTheAnswerAreTakenIn() {
    driver.defersAccept = true;
    receive(REMOTE, push(7, 0));
    receive(REMOTE, push(7, 0));
    receive(REMOTE, push(7, 1));
    receive(OTHER, push(7, 1));
    assertEquals(0, table.size());
    assertEquals(1, count(KcpCounter.UNKNOWN_SESSION));
    assertTrue(context.budget().usedBytes() > 0);

    Session session = acceptDeferred(7);

    assertEquals(1, table.size());
    assertEquals(List.of("progressed 7"), driver.events());
    assertEquals(20, session.kcp().receive().readableBytes());
    assertEquals(1, count(KcpCounter.SESSIONS_OPENED));
    assertEquals(0, count(KcpCounter.ACCEPT_REFUSED));
  }

  @Test
  void dataWrittenBeforeTheSessionIsAddedIsSent() {
    TestDriver driver = driver(context(new MemoryBudget(1))); // Keeps no packet.
    SessionTable table = driver.table;
    driver.defersAccept = true;
    table.receive(REMOTE, push(7, 0), nowUs);
    Session session = driver.newSession(REMOTE, 7);
    session.kcp().send(Unpooled.buffer().writeZero(5));
    table.scheduleFlush(session);
    table.flushPending(nowUs);
    assertEquals(List.of(), driver.events());

    driver.deferred.get(0).accept(session, nowUs);
    table.endBatch(nowUs);

    assertEquals(List.of("sent 7 PUSH"), driver.events());
  }

  @Test
  void peerThatIsRefusedLaterLeavesNothingAndMayTryAgain() {
    driver.defersAccept = true;
    receive(REMOTE, push(7, 0));
    deferred(7).refuse();
    assertEquals(1, count(KcpCounter.ACCEPT_REFUSED));
    assertEquals(0, context.budget().usedBytes());

    driver.defersAccept = false;
    receive(REMOTE, push(7, 0));
    assertEquals(1, table.size());
  }

  @Test
  void unansweredAttemptsCountAsSessions() {
    driver.defersAccept = true;
    for (int conv = 1; conv <= 4; conv++) {
      receive(REMOTE, push(conv, 0));
    }
    assertEquals(1, count(KcpCounter.ACCEPT_REFUSED));
    deferred(1).refuse();
    receive(REMOTE, push(4, 0));
    assertEquals(2, count(KcpCounter.ACCEPT_REFUSED));
    acceptDeferred(4);
    assertEquals(1, table.size());
  }

  @Test
  void packetsOfAnAttemptAreBounded() {
    driver.defersAccept = true;
    for (int sn = 0; sn <= Incoming.Backlog.MAX_PACKETS; sn++) {
      receive(REMOTE, push(7, sn));
    }
    assertEquals(1, count(KcpCounter.UNKNOWN_SESSION));
    assertEquals(Incoming.Backlog.MAX_PACKETS * 34L, context.budget().usedBytes());
  }

  @Test
  void closedTableDropsUnansweredAttempts() {
    driver.defersAccept = true;
    receive(REMOTE, push(7, 0));
    receive(REMOTE, push(8, 0));

    table.close();
    acceptDeferred(7).close();

    assertEquals(0, table.size());
    assertEquals(0, context.budget().usedBytes());
  }

  @Test
  void probeOfAnUnknownPeerIsAnsweredOnceAndNothingIsKept() {
    receive(REMOTE, Unpooled.copiedBuffer(wask(7), wask(7)));
    assertEquals(List.of("sent 7 WINS"), driver.events());
    assertEquals(1, driver.outputFlushes);
    assertEquals(0, table.size());
    assertEquals(0, count(KcpCounter.UNKNOWN_SESSION));
  }

  @Test
  void probeOfAnUnknownPeerIsDroppedWhileTheOutputIsBlocked() {
    driver.outputWritable = () -> false;
    receive(REMOTE, wask(7));
    driver.outputWritable = () -> true;
    table.flushPending(nowUs);
    assertEquals(List.of(), driver.events());
  }

  @Test
  void probeOfAnUnknownPeerIsNotAnsweredByADriverThatAcceptsNobody() {
    driver.isAccepting = false;
    receive(REMOTE, wask(7));
    assertEquals(List.of(), driver.events());
    assertEquals(1, count(KcpCounter.UNKNOWN_SESSION));
  }

  @Test
  void probeOfAnUnknownPeerIsNotAnsweredWhileThereIsNoRoom() {
    for (int conv = 1; conv <= 3; conv++) {
      begin(REMOTE, conv);
    }
    receive(REMOTE, wask(7));
    assertEquals(List.of(), driver.events());
    assertEquals(1, count(KcpCounter.UNKNOWN_SESSION));
    table.remove(driver.accepted.get(0), nowUs);
    driver.accepted.get(0).close();
    receive(REMOTE, wask(7));
    assertEquals(List.of("sent 7 WINS"), driver.events());
  }

  @Test
  void probeOfAnUnknownPeerCanBeginASession() {
    table.acceptOnProbe(true);
    receive(REMOTE, wask(7));
    assertEquals(1, table.size());
    assertEquals(List.of("progressed 7", "sent 7 WINS"), driver.events());
  }

  @Test
  void datagramAboveTheLimitIsCountedAndNotParsed() {
    begin(REMOTE, 7);
    long taken = count(KcpCounter.DATAGRAMS_IN);
    receive(REMOTE, segment(7, Segment.PUSH, 0, 1, 0, 1501 - 24));
    assertEquals(1, count(KcpCounter.OVERSIZE));
    assertEquals(taken, count(KcpCounter.DATAGRAMS_IN));
    receive(REMOTE, segment(7, Segment.PUSH, 0, 1, 0, 1500 - 24));
    assertEquals(1, count(KcpCounter.OVERSIZE));
    assertEquals(taken + 1, count(KcpCounter.DATAGRAMS_IN));
  }

  @Test
  void datagramShorterThanAHeaderIsMalformed() {
    receive(REMOTE, Unpooled.buffer().writeZero(23));
    receive(REMOTE, Unpooled.EMPTY_BUFFER);
    assertEquals(2, count(KcpCounter.MALFORMED));
  }

  @Test
  void packetsOfAClosedSessionAreDroppedForAMinute() {
    Session session = begin(REMOTE, 7);
    table.remove(session, nowUs);
    nowUs = 59_999_999;
    receive(REMOTE, push(7, 0));
    receive(REMOTE, wask(7));
    assertEquals(2, count(KcpCounter.CLOSED_SESSION));
    assertEquals(List.of(), driver.events());
    receive(OTHER, push(7, 0));
    assertEquals(1, table.size(), "another address");
    nowUs = 60_000_000;
    receive(REMOTE, push(7, 0));
    assertEquals(2, table.size());
  }

  @Test
  void clientsSessionIsAddedOnce() {
    table.add(driver.newSession(REMOTE, 7), nowUs);
    Session second = driver.newSession(REMOTE, 7);
    assertThrows(IllegalArgumentException.class, () -> table.add(second, nowUs));
    assertEquals(1, table.size());
  }

  @Test
  void removingTwiceCountsOnce() {
    Session session = begin(REMOTE, 7);
    table.remove(session, nowUs);
    table.remove(session, nowUs);
    assertEquals(1, count(KcpCounter.SESSIONS_CLOSED));
    assertEquals(0, deadlines.size());
  }

  // Driving

  private void write(Session session, int bytes) {
    session.kcp().send(Unpooled.buffer().writeZero(bytes));
    table.scheduleFlush(session);
  }

  @Test
  void sessionsAreFlushedOnceInTheOrderInWhichFlushesWereScheduled() {
    Session one = begin(REMOTE, 1);
    Session two = begin(REMOTE, 2);
    int outputFlushes = driver.outputFlushes;
    driver.flushRequests = 0;
    write(two, 5);
    write(one, 5);
    write(two, 5);
    assertEquals(1, driver.flushRequests);
    table.flushPending(nowUs);
    assertEquals(List.of("sent 2 ACK", "sent 1 ACK"), driver.events());
    assertEquals(outputFlushes + 1, driver.outputFlushes);
    table.flushPending(nowUs);
    assertEquals(outputFlushes + 1, driver.outputFlushes);
  }

  @Test
  void everySessionOfABatchProgressesBeforeAnyIsFlushed() {
    driver.config = KcpConfig.builder().ackNoDelay(true).build();
    table.receive(REMOTE, push(1, 0), nowUs);
    table.receive(REMOTE, push(2, 0), nowUs);
    table.receive(REMOTE, push(1, 1), nowUs);
    assertEquals(List.of(), driver.events());
    table.endBatch(nowUs);
    assertEquals(
        List.of("progressed 1", "progressed 2", "sent 1 ACK", "sent 2 ACK"), driver.events());
    assertEquals(0, driver.flushRequests);
  }

  @Test
  void answerWrittenWhileProgressingLeavesWithTheBatch() {
    driver.onProgress = session -> write(session, 5);
    receive(REMOTE, push(1, 0));
    assertEquals(List.of("progressed 1", "sent 1 ACK"), driver.events());
    assertEquals(1, driver.accepted.get(0).kcp().stats().inFlight());
  }

  @Test
  void blockedOutputDefersFlushes() {
    Session session = begin(REMOTE, 1);
    driver.outputWritable = () -> false;
    write(session, 5);
    table.flushPending(nowUs);
    assertEquals(List.of(), driver.events());
    assertEquals(2, driver.flushRequests, "asked again");
    driver.outputWritable = () -> true;
    table.flushPending(nowUs);
    assertEquals(List.of("sent 1 ACK"), driver.events());
  }

  @Test
  void outputThatThrowsDoesNotKeepTheTableFromAskingForFlushes() {
    Session session = begin(REMOTE, 1);
    driver.onOutput =
        () -> {
          throw new IllegalStateException();
        };
    write(session, 5);
    assertThrows(IllegalStateException.class, () -> table.flushPending(nowUs));
    driver.onOutput = () -> {};
    driver.flushRequests = 0;
    write(session, 5);
    assertEquals(1, driver.flushRequests);
    table.flushPending(nowUs);
    assertEquals(List.of("sent 1 ACK"), driver.events());
  }

  @Test
  void sessionsAreFlushedThoughTheOutputThrewForOneOfThem() {
    Session one = begin(REMOTE, 1);
    Session two = begin(OTHER, 2);
    table.flushPending(nowUs);
    driver.events();
    driver.onOutput =
        () -> {
          throw new IllegalStateException();
        };
    write(one, 5);
    write(two, 5);
    driver.flushRequests = 0;
    assertThrows(IllegalStateException.class, () -> table.flushPending(nowUs));
    driver.onOutput = () -> {};
    assertEquals(1, driver.flushRequests);
    table.flushPending(nowUs);
    assertEquals(List.of("sent 2 ACK"), driver.events());
    runTo(nowUs + 200_000);
    assertEquals(List.of("sent 1 ACK"), driver.events());
  }

  @Test
  void handlerThatThrowsForOneSessionBlocksNoOther() {
    driver.config = KcpConfig.builder().ackNoDelay(true).build();
    driver.onProgress =
        session -> {
          if (session.conv() == 1) {
            throw new IllegalStateException();
          }
        };
    for (int conv = 1; conv <= 3; conv++) {
      table.receive(REMOTE, push(conv, 0), nowUs);
    }
    assertThrows(IllegalStateException.class, () -> table.endBatch(nowUs));
    assertEquals(1, driver.flushRequests);
    table.flushPending(nowUs);
    assertEquals(
        List.of(
            "progressed 1",
            "progressed 2",
            "progressed 3",
            "sent 1 ACK",
            "sent 2 ACK",
            "sent 3 ACK"),
        driver.events());
    write(driver.accepted.get(1), 5);
    assertEquals(2, driver.flushRequests);
  }

  @Test
  void packetsWrittenBeforeAnExceptionAreSent() {
    Session one = begin(REMOTE, 1);
    Session two = begin(REMOTE, 2);
    write(one, 5);
    write(two, 5);
    int outputFlushes = driver.outputFlushes;
    driver.onOutput =
        () -> {
          if (!driver.events.isEmpty()) {
            throw new IllegalStateException();
          }
        };
    assertThrows(IllegalStateException.class, () -> table.flushPending(nowUs));
    assertEquals(List.of("sent 1 ACK"), driver.events());
    assertEquals(outputFlushes + 1, driver.outputFlushes);
  }

  @Test
  void attemptForWhichTheDriverThrowsDoesNotCountAsASession() {
    driver.acceptor =
        (remote, conv) -> {
          throw new IllegalStateException();
        };
    for (int i = 0; i < 5; i++) {
      assertThrows(IllegalStateException.class, () -> table.receive(REMOTE, push(7, 0), nowUs));
      table.endBatch(nowUs);
    }
    driver.acceptor = driver::newSession;
    begin(REMOTE, 7);
    assertEquals(1, table.size());
  }

  @Test
  void deadlineOfASessionIsOnTheWheelAndGoesWithIt() {
    Session session = begin(REMOTE, 1);
    assertEquals(2_000, deadlines.nextDeadline());
    deadlines.advance(2_000);
    assertEquals(1, driver.flushRequests);
    table.flushPending(2_000);
    assertEquals(List.of("sent 1 ACK"), driver.events());
    assertEquals(Long.MAX_VALUE, deadlines.nextDeadline());
    write(session, 5);
    table.flushPending(20_000);
    assertEquals(220_000, deadlines.nextDeadline());
    table.remove(session, 20_000);
    assertEquals(0, deadlines.size());
  }

  @Test
  void datagramThatLeavesASessionQuiescentIsNotFollowedByAFlush() {
    driver.onProgress = session -> receiveIf(true, session);
    Session session = begin(REMOTE, 1);
    runTo(100_000);
    write(session, 5);
    table.flushPending(nowUs);
    assertEquals(1, deadlines.size());
    driver.events();
    driver.onOutput = () -> driver.events.add("asked for output");
    ByteBuf ack = Unpooled.buffer();
    int ts = KcpStarts.timestamp(session.kcp(), nowUs);
    Segment.write(ack, 1, Segment.ACK, 0, 128, ts, 0, 1, 0);
    receive(REMOTE, ack);
    assertEquals(List.of("progressed 1"), driver.events());
    assertEquals(0, deadlines.size());
    receive(REMOTE, segment(1, Segment.WINS, 0, 0, 1, 0));
    assertEquals(List.of("progressed 1"), driver.events());
    receive(REMOTE, wask(1));
    assertEquals(List.of("progressed 1", "asked for output", "sent 1 WINS"), driver.events());
  }

  @Test
  void roundTripIsProbedAfterTheLastAcknowledgementOfASingleWrite() {
    driver.onProgress = session -> receiveIf(true, session);
    Session session = begin(REMOTE, 1);
    for (int sn = 0; sn < 2; sn++) { // Thin traffic has a pause.
      runTo(nowUs + 2_000_000);
      write(session, 5);
      table.flushPending(nowUs);
      int ts = KcpStarts.timestamp(session.kcp(), nowUs);
      nowUs += 40_000;
      ByteBuf ack = Unpooled.buffer();
      Segment.write(ack, 1, Segment.ACK, 0, 128, ts, sn, sn + 1, 0);
      receive(REMOTE, ack);
    }
    driver.events();
    long probeAtUs = nowUs + 1_250_000;
    runTo(probeAtUs);
    assertEquals(List.of(), driver.events());
    runTo(probeAtUs + 100_000);
    assertEquals(List.of("sent 1 PUSH"), driver.events());
  }

  @Test
  void sessionRemovedWhileProgressingIsNotFlushed() {
    driver.onProgress = session -> table.remove(session, nowUs);
    driver.config = KcpConfig.builder().ackNoDelay(true).build();
    receive(REMOTE, push(1, 0));
    assertEquals(List.of("progressed 1"), driver.events());
    assertEquals(0, deadlines.size());
  }

  @Test
  void segmentsThatWaitedForMemoryAreDeliveredWhenThereIsSome() {
    TestDriver scarce = driver(context(new MemoryBudget(8000)));
    SessionTable small = scarce.table;
    scarce.onProgress = session -> receiveIf(session.conv() == 1, session);
    small.receive(REMOTE, push(1, 0), 0);
    small.receive(REMOTE, segment(1, Segment.PUSH, 0, 2, 0, 1400), 0);
    for (int sn = 0; sn < 10; sn++) {
      small.receive(REMOTE, segment(2, Segment.PUSH, 0, sn, 0, 1400), 0);
    }
    small.endBatch(0);
    small.receive(REMOTE, push(1, 1), 0);
    small.endBatch(0);
    Session heldUp = scarce.accepted.get(0);
    assertEquals(20, heldUp.kcp().counters().get(KcpCounter.PAYLOAD_BYTES_IN));
    receiveIf(true, scarce.accepted.get(1));
    scarce.events();
    deadlines.advance(20_000);
    small.flushPending(20_000);
    assertTrue(scarce.events().contains("progressed 1"));
    assertEquals(1420, heldUp.kcp().counters().get(KcpCounter.PAYLOAD_BYTES_IN));
  }

  @Test
  void windowThatAReaderOpensDuringAFlushIsAdvertised() {
    driver.config = KcpConfig.builder().receiveWindow(1).build();
    Session session = driver.newSession(REMOTE, 1);
    table.add(session, nowUs);
    driver.onProgress = s -> receiveIf(true, s);
    // As if the segment had waited for memory, and this flush had found some.
    driver.onOutput =
        () -> {
          driver.onOutput = () -> {};
          session.kcp().input(push(1, 0), nowUs);
        };
    table.scheduleFlush(session);
    table.flushPending(nowUs);
    assertEquals(List.of("progressed 1", "sent 1 ACK"), driver.events());
    assertEquals(1, session.kcp().counters().get(KcpCounter.DATAGRAMS_OUT));
  }

  @Test
  void windowThatAReaderOpensOnAnUnreliableDatagramIsAdvertised() {
    driver.config = KcpConfig.builder().receiveWindow(1).build();
    Session session = begin(REMOTE, 1);
    TestDriver.configure(session, config -> config.datagramQueue(1));
    runTo(100_000);
    driver.events();
    driver.onProgress = s -> receiveIf(true, s);
    ByteBuf unreliable = Unpooled.buffer().writeZero(FecPacket.DATA_HEADER_BYTES);
    unreliable.writeIntLE(1).writeInt(42);
    FecPacket.write(
        unreliable,
        0,
        unreliable.writerIndex(),
        FecPacket.OUT_OF_BAND_SEQID,
        FecPacket.OUT_OF_BAND);
    receive(REMOTE, unreliable);
    assertEquals(List.of("progressed 1", "sent 1 WINS"), driver.events());
    session.receiveUnreliable().release();
  }

  private static void receiveIf(boolean reads, Session session) {
    for (ByteBuf part; reads && (part = session.kcp().receive()) != null; ) {
      part.release();
    }
  }

  // Ends

  @Test
  void failureEndsTheSessionAfterItWasFlushed() {
    driver.config = KcpConfig.builder().delivery(Delivery.MESSAGE).build();
    Session session = begin(REMOTE, 1);
    receive(REMOTE, segment(1, Segment.PUSH, 3, 1, 0, 5));
    receive(REMOTE, segment(1, Segment.PUSH, 0, 2, 0, 5));
    assertTrue(driver.events().contains("ended 1 PROTOCOL_VIOLATION"));
    assertEquals(0, table.size());
    assertFalse(table.lifecycle().contains(session));
    receive(REMOTE, push(1, 0));
    assertEquals(1, count(KcpCounter.CLOSED_SESSION));
  }

  @Test
  void failureEndsTheSession() {
    driver.config = KcpConfig.builder().userTimeoutMs(500).build();
    Session session = begin(REMOTE, 1);
    session.path().validate();
    receive(REMOTE, wask(1));
    write(session, 5);
    runTo(400_000);
    assertEquals(1, table.size());
    runTo(700_000);
    assertTrue(driver.events().contains("ended 1 USER_TIMEOUT"));
  }

  @Test
  void peerWhosePathWasNeverValidatedHasNeverAnswered() {
    driver.config = KcpConfig.builder().userTimeoutMs(500).build();
    driver.trustsPeers = false;
    Session session = begin(REMOTE, 1);
    receive(REMOTE, push(1, 1));
    assertFalse(session.hasPeerAnswered());
    write(session, 5);
    runTo(700_000);
    assertTrue(driver.events().contains("ended 1 HANDSHAKE_TIMEOUT"));
  }

  @Test
  void endedHandlerMayWriteToAnotherSession() {
    driver.config = KcpConfig.builder().userTimeoutMs(500).build();
    Session failing = begin(REMOTE, 1);
    driver.config = KcpConfig.DEFAULT;
    Session other = begin(REMOTE, 2);
    driver.onEnd = (session, reason) -> write(other, 5);
    write(failing, 5);
    runTo(1_000_000);
    assertEquals(1, other.kcp().stats().inFlight());
  }

  @Test
  void answeredProbeKeepsTheSession() {
    begin(REMOTE, 1);
    for (int round = 1; round < 5; round++) {
      driver.events();
      runTo(round * 62_000_000L);
      answerChallenge();
      assertTrue(driver.events().contains("sent 1 WASK"));
    }
    assertEquals(1, table.size());
  }

  private void answerChallenge() {
    ByteBuf ack = Unpooled.buffer();
    int ts = KcpStarts.timestamp(driver.accepted.get(0).kcp(), nowUs);
    Segment.write(ack, 1, Segment.ACK, 0, 128, ts, -1, 0, 0);
    receive(REMOTE, ack);
  }

  @Test
  void probesOfManyPeersAreBoundedPerSweep() {
    int sessions = 1000;
    for (int conv = 1; conv <= sessions; conv++) {
      table.add(driver.newSession(REMOTE, conv), nowUs);
    }
    nowUs = 62_000_000;
    int probed = 0;
    for (boolean isPartial = true; isPartial; nowUs += 1_000) {
      isPartial = table.sweep(nowUs);
      table.flushPending(nowUs);
      int now = driver.events().size();
      assertTrue(now <= 64, "at once: " + now);
      probed += now;
    }
    assertEquals(sessions, probed);
    assertEquals(sessions, count(KcpCounter.PROBES_OUT));
  }

  @Test
  void probesOfPeersThatAnswerAreSpreadOverTime() {
    addUnresponsive(2000, 2000);
    assertEquals(2000, answerProbes(3_000_000).size());
    // Each may be probed after 2 s, but 2000 take 4 s at 2 ms each.
    int perTenSeconds = answerProbes(23_000_000).stream().mapToInt(List::size).sum() / 2;
    assertTrue(perTenSeconds > 4_400 && perTenSeconds <= 5_000, "in 10 s: " + perTenSeconds);
    assertEquals(2000, table.size());
  }

  @Test
  void peersThatAnswerAreProbedWithinFourIntervals() {
    int sessions = 10_000; // They take 20 s, at 2 ms each.
    addUnresponsive(sessions, 1000);
    List<List<Long>> probes = answerProbes(20_000_000);
    assertEquals(sessions, probes.size());
    for (List<Long> times : probes) {
      for (int i = 1; i < times.size(); i++) {
        long gapUs = times.get(i) - times.get(i - 1);
        assertTrue(gapUs >= 1_000_000 && gapUs <= 5_200_000, "probed at: " + times);
      }
      assertTrue(times.get(times.size() - 1) > 14_800_000, "probed at: " + times);
    }
  }

  @Test
  void peerThatAnsweredAndSentSinceIsProbedAfterTheInterval() {
    begin(REMOTE, 1);
    runTo(62_000_000);
    answerChallenge();
    runTo(90_000_000);
    receive(REMOTE, push(1, 1));
    runTo(91_000_000);
    driver.events();
    runTo(149_000_000);
    assertEquals(List.of(), driver.events());
    runTo(150_900_000);
    assertEquals(List.of("sent 1 WASK"), driver.events());
  }

  @Test
  void longIntervalOfOneSessionDoesNotDelayOthers() {
    addUnresponsive(1, 100_000);
    Session other = driver.newSession(REMOTE, 2);
    TestDriver.configure(other, config -> config.keepAliveIntervalMs(2000));
    table.add(other, nowUs);
    answerProbes(101_100_000);
    List<List<Long>> probes = answerProbes(160_000_000);
    assertEquals(1, probes.size());
    assertTrue(probes.get(0).size() >= 58 / 3, "probed at: " + probes);
  }

  private void addUnresponsive(int sessions, int keepAliveIntervalMs) {
    for (int conv = 1; conv <= sessions; conv++) {
      Session session = driver.newSession(REMOTE, conv);
      TestDriver.configure(session, config -> config.keepAliveIntervalMs(keepAliveIntervalMs));
      table.add(session, nowUs);
    }
  }

  /** Answers every probe that leaves until then; returns each session's times of probes. */
  private List<List<Long>> answerProbes(long untilUs) {
    Map<String, List<Long>> probes = new HashMap<>();
    for (; nowUs < untilUs; nowUs += 1_000) {
      table.sweep(nowUs);
      table.flushPending(nowUs);
      for (String event : driver.events()) {
        String conv = event.replaceFirst("sent (\\d+) WASK", "$1");
        table.receive(REMOTE, segment(Integer.parseInt(conv), Segment.WINS, 0, 0, 0, 0), nowUs);
        probes.computeIfAbsent(conv, c -> new ArrayList<>()).add(nowUs);
      }
      table.endBatch(nowUs);
      driver.events();
    }
    return List.copyOf(probes.values());
  }

  @Test
  void keepAliveIntervalOfZeroSendsNoProbes() {
    TestDriver.configure(begin(REMOTE, 1), config -> config.keepAliveIntervalMs(0));
    runTo(400_000_000);
    assertEquals(1, table.size());
  }

  @Test
  void sessionWithoutPayloadEndsAfterTheIdleTimeout() {
    TestDriver.configure(begin(REMOTE, 1), config -> config.idleTimeoutMs(10_000));
    runTo(8_000_000);
    receive(REMOTE, push(1, 1));
    driver.accepted.get(0).kcp().receive().release();
    table.scheduleFlush(driver.accepted.get(0));
    table.flushPending(nowUs);
    runTo(17_900_000);
    assertEquals(1, table.size());
    runTo(19_500_000);
    assertTrue(driver.events().contains("ended 1 IDLE_TIMEOUT"));
  }

  @Test
  void probesDoNotKeepAnIdleSession() {
    TestDriver.configure(begin(REMOTE, 1), config -> config.idleTimeoutMs(10_000));
    for (int s = 1; s <= 11; s++) {
      receive(REMOTE, wask(1));
      runTo(s * 1_000_000L);
    }
    runTo(12_000_000);
    assertTrue(driver.events().contains("ended 1 IDLE_TIMEOUT"));
  }

  // A queue that is smaller than the window

  /** Has 100 segments written to a session whose queue takes two, as far as it takes them. */
  private Session writer(Delivery delivery) {
    driver.config =
        KcpConfig.builder()
            .delivery(delivery)
            .sendQueue(2)
            .maxBurst(0)
            .congestionControl(CongestionControl.NONE)
            .build();
    Session session = begin(REMOTE, 7);
    int mss = session.kcp().mssBytes();
    ByteBuf data = Unpooled.buffer().writeZero(100 * mss);
    driver.onProgress =
        progressed -> {
          boolean taken = true;
          while (taken && data.isReadable()) {
            ByteBuf segment = data.slice(data.readerIndex(), mss);
            taken = progressed.kcp().send(segment);
            data.skipBytes(segment.readerIndex());
          }
          table.scheduleFlush(progressed);
        };
    driver.onProgress.accept(session);
    return session;
  }

  @ParameterizedTest
  @EnumSource(names = {"STREAM", "MESSAGE"})
  void queueBelowTheWindowIsRefilledWithoutWaitingForThePeer(Delivery delivery) {
    Session session = writer(delivery);
    assertEquals(2, session.kcp().stats().queued());
    table.flushPending(nowUs);
    assertEquals(100, session.kcp().stats().inFlight());
  }

  @Test
  void ownerThatWritesNoMoreIsCalledOnceInAFlush() {
    Session session = writer(Delivery.STREAM);
    driver.onProgress = ignored -> {};
    table.flushPending(nowUs);
    assertEquals(
        List.of("sent 7 ACK", "sent 7 PUSH", "sent 7 PUSH", "progressed 7"), driver.events());
    assertEquals(2, session.kcp().stats().inFlight());
  }

  @Test
  void ownerThatDropsARejectedWriteIsCalledOnce() {
    driver.config = KcpConfig.builder().sendQueue(1).build();
    Session session = begin(REMOTE, 7);
    driver.events();
    driver.onProgress =
        progressed -> {
          assertTrue(driver.events.size() < 10, () -> "asked without end: " + driver.events);
          table.scheduleFlush(progressed);
        };
    assertFalse(session.kcp().send(Unpooled.buffer().writeZero(5000)));
    table.scheduleFlush(session);
    table.flushPending(nowUs);
    assertEquals(1, driver.events().stream().filter("progressed 7"::equals).count());
  }
}
