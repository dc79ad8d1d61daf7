package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.fec.FecEncoder;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@link SessionDirectory}: two tables of one endpoint, and peers that move between them. */
class SessionDirectoryTest {

  private static final InetSocketAddress REMOTE = new InetSocketAddress(NetUtil.LOCALHOST, 1111);

  private final SessionDirectory directory = SessionDirectory.ofSeveral(2);
  private final TestDriver first = driver();
  private final TestDriver second = driver();
  private long nowUs;

  private TestDriver driver() {
    KcpContext context =
        new KcpContext(
            new UnpooledByteBufAllocator(true, true), MemoryBudget.unlimited(), new KcpCounters());
    TestDriver driver = TestDriver.builder(context).directory(directory).build();
    driver.onForward =
        (remote, packet, nonceBytes) -> {
          driver.table.receiveOpened(remote, packet, nonceBytes, nowUs);
          driver.table.endBatch(nowUs);
        };
    return driver.recordEvents();
  }

  private static ByteBuf push(int conv, int sn) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, conv, Segment.PUSH, 0, 128, 0, sn, 0, 10);
    return out.writeZero(10);
  }

  private void receive(TestDriver driver, ByteBuf datagram) {
    driver.table.receive(REMOTE, datagram, nowUs);
    driver.table.endBatch(nowUs);
  }

  private static long count(TestDriver driver, KcpCounter counter) {
    return driver.context.total().get(counter);
  }

  @Test
  void sessionLimitHoldsForAllTablesTogether() {
    receive(first, push(1, 0));
    receive(second, push(2, 0));
    receive(second, push(3, 0));
    assertEquals(1, second.table.size());
    assertEquals(1, count(second, KcpCounter.ACCEPT_REFUSED));

    first.table.remove(first.accepted.get(0), nowUs);
    receive(second, push(3, 0));
    assertEquals(2, second.table.size());
  }

  @Test
  void packetsOfSessionsAreThoseOfThisTableAndOfOthers() {
    receive(first, push(7, 0));
    receive(first, push(7, 1));
    receive(first, Unpooled.wrappedBuffer(new byte[Segment.HEADER_BYTES]));
    assertEquals(2, first.table.packetsOfSessions());

    receive(second, push(7, 2));
    receive(second, push(8, 5));
    assertEquals(1, second.table.packetsOfSessions());
    assertEquals(3, first.table.packetsOfSessions());
  }

  @Test
  void packetsThatAnotherTableReceivesReachTheirSession() {
    receive(first, push(7, 0));
    receive(second, push(7, 1));
    receive(first, push(7, 2));

    assertEquals(1, first.table.size());
    assertEquals(30, first.accepted.get(0).kcp().receive().readableBytes());
    assertEquals(0, second.table.size());
    assertEquals(1, count(second, KcpCounter.FORWARDED));
    assertEquals(0, count(second, KcpCounter.UNKNOWN_SESSION));
    assertEquals(List.of(), second.events());
  }

  @Test
  void packetIsDroppedIfThereIsNoMemoryToForwardIt() {
    receive(first, push(7, 0));
    first.onForward =
        (remote, packet, nonceBytes) -> {
          throw new IllegalStateException("no memory for a copy");
        };
    receive(second, push(7, 1));

    assertEquals(1, count(second, KcpCounter.ALLOCATION_FAILED));
    assertEquals(0, count(first, KcpCounter.ALLOCATION_FAILED));
    assertEquals(10, first.accepted.get(0).kcp().receive().readableBytes());
  }

  @Test
  void fecPacketsAreForwardedWhole() {
    FecContext fec = new FecContext(MemoryAccount.of(MemoryBudget.unlimited()));
    FecEncoder encoder = new FecEncoder(FecConfig.of(2, 1), fec);
    receive(first, protectedBy(encoder, push(7, 0)));
    receive(second, protectedBy(encoder, push(7, 1)));
    assertEquals(20, first.accepted.get(0).kcp().receive().readableBytes());
    assertEquals(1, count(second, KcpCounter.FORWARDED));
  }

  private static ByteBuf protectedBy(FecEncoder encoder, ByteBuf datagram) {
    ByteBuf packet = Unpooled.buffer().writeZero(FecPacket.DATA_HEADER_BYTES).writeBytes(datagram);
    encoder.protect(packet, 0, packet.writerIndex(), 0);
    return packet;
  }

  @Test
  void duplicateFirstSegmentAtAnotherTableBeginsNoSecondSession() {
    receive(first, push(7, 0));
    receive(second, push(7, 0));
    assertEquals(1, first.table.size());
    assertEquals(0, second.table.size());
    assertEquals(1, first.accepted.get(0).kcp().stats().get(KcpCounter.DUPLICATES));
  }

  @Test
  void attemptThatWaitsAtOneTableIsNotAcceptedAtAnother() {
    first.defersAccept = true;
    receive(first, push(7, 0));
    receive(second, push(7, 0));
    receive(second, push(7, 1));
    assertEquals(0, second.table.size());

    Session session = first.newSession(REMOTE, 7);
    first.deferred.get(0).accept(session, nowUs);
    first.table.endBatch(nowUs);
    assertEquals(20, session.kcp().receive().readableBytes());
  }

  @Test
  void peerThatOneTableHasRefusedMayTryAtAnother() {
    first.acceptor = (remote, conv) -> null;
    receive(first, push(7, 0));
    assertEquals(0, directory.size());
    receive(second, push(7, 0));
    assertEquals(1, second.table.size());

    first.acceptor = first::newSession;
    first.defersAccept = true;
    receive(first, push(8, 0));
    first.deferred.get(0).refuse();
    receive(second, push(8, 0));
    assertEquals(2, second.table.size());
  }

  @Test
  void closedSessionIsClosedAtAllTablesForAMinute() {
    receive(first, push(7, 0));
    first.table.remove(first.accepted.get(0), nowUs);

    nowUs = 59_999_999;
    first.table.sweep(nowUs);
    receive(second, push(7, 0));
    assertEquals(0, second.table.size());
    assertEquals(1, count(first, KcpCounter.CLOSED_SESSION));

    nowUs = 60_000_000;
    first.table.sweep(nowUs);
    assertEquals(0, directory.size());
    receive(second, push(7, 0));
    assertEquals(1, second.table.size());
  }

  @Test
  void sessionThatBeginsAgainBelongsToTheSameTable() {
    receive(first, push(7, 0));
    first.table.remove(first.accepted.get(0), nowUs);
    nowUs = 60_000_000;
    receive(second, push(7, 0)); // The first table has not forgotten the key yet.
    assertEquals(1, first.table.size());

    first.table.sweep(nowUs);
    receive(second, push(7, 1));
    assertEquals(20, first.accepted.get(1).kcp().receive().readableBytes());
  }

  @Test
  void closedTableReleasesItsKeysAndItsSessionsCountUntilTheyEnd() {
    receive(first, push(7, 0));
    receive(first, push(8, 0));
    Session left = first.accepted.get(0);
    first.table.remove(first.accepted.get(1), nowUs);
    first.defersAccept = true;
    receive(first, push(9, 0));
    assertEquals(3, directory.size());

    first.table.close();
    assertEquals(0, directory.size());

    receive(second, push(7, 0));
    assertEquals(1, second.table.size(), "the other place is of the session that is left");
    receive(second, push(9, 0));
    assertEquals(1, second.table.size());
    first.table.remove(left, nowUs);
    first.table.sweep(nowUs + 70_000_000);
    assertEquals(1, directory.size(), "by now it is the second table's");
    receive(second, push(9, 0));
    assertEquals(2, second.table.size());
    receive(second, push(7, 1));
    assertEquals(20, second.accepted.get(0).kcp().receive().readableBytes());
  }

  @Test
  void tablesMakeRoomForTwoSecondsAfterARefusal() {
    SessionDirectory several = SessionDirectory.ofSeveral(33);
    several.enter();
    assertFalse(several.isRoomAwaited(0), "nobody was refused");
    several.awaitRoom(1_000_000);
    assertFalse(several.isRoomAwaited(1_000_000), "there is room for 32");
    several.enter();
    assertTrue(several.isRoomAwaited(3_000_000));
    assertFalse(several.isRoomAwaited(3_000_001));
  }

  @Test
  void nobodyMakesRoomWhereThereIsOneTable() {
    SessionDirectory one = SessionDirectory.ofOne(1);
    one.enter();
    one.awaitRoom(1_000_000);
    assertFalse(one.isRoomAwaited(1_000_000));
  }
}
