package io.kcp4j.internal.admission;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.fec.FecEncoder;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.session.Host;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionDirectory;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.sim.FailingAllocator;
import io.kcp4j.sim.FaultCounts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** {@link Incoming}: each answer, at once and later. */
class IncomingTest {

  private static final InetSocketAddress REMOTE = new InetSocketAddress(NetUtil.LOCALHOST, 1111);

  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final SessionDirectory directory =
      SessionDirectory.ofSeveral(Incoming.Backlog.MAX_PENDING_ACCEPTS + 2);
  private final TestDriver driver =
      TestDriver.builder(context).directory(directory).build().recordEvents();
  private final SessionTable table = driver.table;

  private static ByteBuf push(int conv, int sn) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, conv, Segment.PUSH, 0, 128, 0, sn, 0, 10);
    return out.writeZero(10);
  }

  private void receive(ByteBuf datagram, long nowUs) {
    table.receive(REMOTE, datagram, nowUs);
    table.endBatch(nowUs);
  }

  private Incoming deferred(int conv) {
    driver.defersAccept = true;
    receive(push(conv, 0), 0);
    driver.defersAccept = false;
    return driver.deferred.remove(0);
  }

  private long count(KcpCounter counter) {
    return context.total().get(counter);
  }

  private void assertNothingIsHeld() {
    assertEquals(0, context.budget().usedBytes());
    assertEquals(0, directory.size());
  }

  @Test
  void attemptNamesAddressAndConv() {
    Incoming incoming = deferred(7);
    assertEquals(REMOTE, incoming.remote());
    assertEquals(7, incoming.conv());
  }

  @Test
  void acceptedSessionTakesInWhatHasWaited() {
    Incoming incoming = deferred(7);
    receive(push(7, 1), 0);
    Session session = driver.newSession(REMOTE, 7);
    assertTrue(incoming.accept(session, 0));
    table.endBatch(0);
    assertEquals(20, Host.received(session).readableBytes());
    assertEquals(1, table.size());
  }

  @Test
  void attemptsMayBeAnsweredInAnyOrder() {
    Incoming first = deferred(7);
    Incoming second = deferred(8);
    assertTrue(second.accept(driver.newSession(REMOTE, 8), 0));
    assertTrue(first.accept(driver.newSession(REMOTE, 7), 0));
    table.endBatch(0);
    assertEquals(List.of("progressed 8", "progressed 7"), driver.events());
  }

  @Test
  void refusedAttemptIsCountedAndThePeerMayTryAgain() {
    deferred(7).refuse();
    assertEquals(1, count(KcpCounter.ACCEPT_REFUSED));
    assertNothingIsHeld();
    receive(push(7, 0), 0);
    assertEquals(1, table.size());
  }

  @Test
  void ignoredPeerIsDroppedSilentlyForAMinute() {
    deferred(7).ignore(0);
    assertEquals(0, context.budget().usedBytes());
    receive(push(7, 0), 59_999_999);
    assertEquals(0, table.size());
    assertEquals(0, count(KcpCounter.ACCEPT_REFUSED));
    assertEquals(1, count(KcpCounter.CLOSED_SESSION));
    assertEquals(List.of(), driver.events());

    table.sweep(60_000_000);
    assertNothingIsHeld();
    receive(push(7, 0), 60_000_000);
    assertEquals(1, table.size());
  }

  @Test
  void answersAfterTheFirstHaveNoEffect() {
    Incoming refused = deferred(7);
    refused.refuse();
    refused.refuse();
    refused.ignore(0);
    assertFalse(refused.accept(driver.newSession(REMOTE, 7), 0));
    assertEquals(0, table.size());
    assertEquals(1, count(KcpCounter.ACCEPT_REFUSED));

    Incoming accepted = deferred(7);
    assertTrue(accepted.accept(driver.newSession(REMOTE, 7), 0));
    accepted.refuse();
    assertFalse(accepted.accept(driver.newSession(REMOTE, 7), 0));
    assertEquals(1, table.size());
    assertEquals(1, count(KcpCounter.ACCEPT_REFUSED));
  }

  @Test
  void answerToAnEarlierAttemptDoesNotAffectALaterOne() {
    Incoming earlier = deferred(7);
    earlier.refuse();
    Incoming later = deferred(7);
    earlier.ignore(0);
    assertFalse(earlier.accept(driver.newSession(REMOTE, 7), 0));
    assertTrue(later.accept(driver.newSession(REMOTE, 7), 0));
  }

  @Test
  void answerAfterTheTableHasClosedHasNoEffect() {
    Incoming incoming = deferred(7);
    table.close();
    assertFalse(incoming.accept(driver.newSession(REMOTE, 7), 0));
    incoming.refuse();
    assertEquals(0, count(KcpCounter.ACCEPT_REFUSED));
    assertNothingIsHeld();
  }

  @Test
  void sessionOfAnotherConvOrAddressIsRejected() {
    Incoming incoming = deferred(7);
    InetSocketAddress other = new InetSocketAddress(NetUtil.LOCALHOST, 2222);
    Session otherConv = driver.newSession(REMOTE, 8);
    Session otherAddress = driver.newSession(other, 7);
    assertThrows(IllegalArgumentException.class, () -> incoming.accept(otherConv, 0));
    assertThrows(IllegalArgumentException.class, () -> incoming.accept(otherAddress, 0));
    assertTrue(incoming.accept(driver.newSession(REMOTE, 7), 0));
  }

  @Test
  void attemptIsNotAcceptedBesideAClientsSessionOfTheSameKey() {
    Incoming incoming = deferred(7);
    table.add(driver.newSession(REMOTE, 7), 0);
    Session second = driver.newSession(REMOTE, 7);
    assertThrows(IllegalArgumentException.class, () -> incoming.accept(second, 0));
    incoming.refuse();
    assertEquals(1, table.size());
    assertEquals(0, context.budget().usedBytes());
  }

  @Test
  void attemptsBeyondTheBacklogAreRefused() {
    driver.defersAccept = true;
    for (int conv = 1; conv <= Incoming.Backlog.MAX_PENDING_ACCEPTS + 1; conv++) {
      receive(push(conv, 0), 0);
    }
    assertEquals(Incoming.Backlog.MAX_PENDING_ACCEPTS, driver.deferred.size());
    assertEquals(1, count(KcpCounter.ACCEPT_REFUSED));
    driver.deferred.get(0).refuse();
    receive(push(1000, 0), 0);
    assertEquals(Incoming.Backlog.MAX_PENDING_ACCEPTS + 1, driver.deferred.size());
  }

  @Test
  void driverMayRemoveTheSessionAtOnce() {
    driver.acceptor =
        (remote, conv) -> {
          Session session = driver.newSession(remote, conv);
          table.add(session, 0);
          table.remove(session, 0);
          return null;
        };
    receive(push(7, 0), 0);
    driver.acceptor = driver::newSession;
    receive(push(7, 0), 0);
    assertEquals(0, table.size());
    assertEquals(1, count(KcpCounter.CLOSED_SESSION));
    assertEquals(1, directory.size());
  }

  @Test
  void driverMayReceiveAnotherDatagramWhileItDecides() {
    driver.acceptor =
        (remote, conv) -> {
          driver.acceptor = driver::newSession;
          table.receive(REMOTE, push(8, 0), 0);
          table.receive(REMOTE, push(conv, 1), 0);
          return driver.newSession(remote, conv);
        };
    receive(push(7, 0), 0);
    assertEquals(2, table.size());
    assertEquals(List.of("progressed 8", "progressed 7", "sent 7 ACK"), driver.events());
    assertEquals(20, Host.received(driver.accepted.get(1)).readableBytes());
    driver.accepted.forEach(Session::close);
    assertEquals(0, context.budget().usedBytes());
  }

  @Test
  void driverMayCloseTheTableWhileItDecides() {
    driver.acceptor =
        (remote, conv) -> {
          table.close();
          return driver.newSession(remote, conv);
        };
    receive(push(7, 0), 0);
    assertEquals(0, table.size());
    assertNothingIsHeld();
  }

  @Test
  void protectedDatagramBeginsASessionThatDecodes() {
    FecContext fec = new FecContext(MemoryAccount.of(context.budget()));
    FecEncoder encoder = new FecEncoder(FecConfig.of(2, 1), fec);
    for (int sn = 0; sn < 2; sn++) {
      ByteBuf packet = Unpooled.buffer().writeZero(FecPacket.DATA_HEADER_BYTES);
      packet.writeBytes(push(7, sn));
      encoder.protect(packet, 0, packet.writerIndex(), 0);
      receive(packet, 0);
    }
    Session session = driver.accepted.get(0);
    assertTrue(session.fec().isDecoding());
    assertEquals(20, Host.received(session).readableBytes());
    session.close();
    encoder.close();
    assertEquals(0, context.budget().usedBytes());
  }

  /** Packets are dropped if there is no memory. */
  @Nested
  class BacklogTest {

    private final FailingAllocator allocator =
        new FailingAllocator(new UnpooledByteBufAllocator(false, true), 1, 0, new FaultCounts());

    private final KcpContext context = KcpContext.of(allocator);

    @Test
    void packetWithoutMemoryForACopyIsDropped() {
      Incoming.Backlog backlog = new Incoming.Backlog(context);
      SessionKey key = new SessionKey(InetSocketAddress.createUnresolved("host", 1), 1);
      ByteBuf packet = Unpooled.buffer().writeZero(100);
      backlog.add(new Incoming(null, key, false, new FirstPacket(0, false, 0, 0), null));
      assertFalse(backlog.keep(key, packet, 0, 0));
      assertEquals(0, context.budget().usedBytes());
      assertEquals(1, context.total().get(KcpCounter.ALLOCATION_FAILED));
      allocator.heal();
      assertTrue(backlog.keep(key, packet, 0, 0));
      assertEquals(100, context.budget().usedBytes());
      assertEquals(1, backlog.clear().size());
      assertEquals(0, context.budget().usedBytes());
    }
  }
}
