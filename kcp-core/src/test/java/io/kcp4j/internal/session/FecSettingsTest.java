package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.Kcp;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A session whose FEC settings change while a peer sends FEC packets to it. */
class FecSettingsTest {

  private static final InetSocketAddress REMOTE = new InetSocketAddress(NetUtil.LOCALHOST, 1111);
  private static final FecConfig PEERS = FecConfig.of(2, 1);

  private final KcpContext context =
      new KcpContext(
          new UnpooledByteBufAllocator(true, true), MemoryBudget.unlimited(), new KcpCounters());
  private final FecContext fecContext = new FecContext(MemoryAccount.of(context.budget()));
  private final FecEncoder peer = new FecEncoder(PEERS, fecContext);
  private final TestDriver driver = TestDriver.builder(context).fecContext(fecContext).build();
  private final Session session =
      driver.newSession(REMOTE, new Kcp(7, KcpConfig.DEFAULT, context, 0));

  FecSettingsTest() {
    driver.table.add(session, 0);
  }

  @AfterEach
  void closingHoldsNothing() {
    session.close();
    peer.close();
    assertEquals(0, context.budget().usedBytes());
  }

  /** Receives a group, whose first datagram may be lost. */
  private void receiveGroup(int sn, boolean loses) {
    for (int i = 0; i < 2; i++) {
      ByteBuf packet = Unpooled.buffer().writeZero(FecPacket.DATA_HEADER_BYTES);
      Segment.write(packet, 7, Segment.PUSH, 0, 128, 0, sn + i, 0, 10);
      packet.writeZero(10);
      int parity = peer.protect(packet, 0, packet.writerIndex(), 0);
      if (i > 0 || !loses) {
        receive(packet);
      }
      if (parity > 0) {
        ByteBuf out = Unpooled.buffer();
        peer.writeParity(0, out);
        receive(out);
      }
    }
  }

  private void receive(ByteBuf packet) {
    driver.table.receive(REMOTE, packet, 0);
    driver.table.endBatch(0);
  }

  private long recovered() {
    return context.total().get(KcpCounter.FEC_RECOVERED);
  }

  @Test
  void changedSettingsDropTheGroupsAndProveTheRatioAgain() {
    session.reconfigure(KcpConfig.DEFAULT, PEERS);
    receiveGroup(0, false);
    receiveGroup(2, false);
    receiveGroup(4, true);
    assertEquals(1, recovered());
    session.reconfigure(KcpConfig.DEFAULT, FecConfig.NONE);
    receiveGroup(6, true);
    assertEquals(1, recovered(), "the ratio is unknown");
    session.reconfigure(KcpConfig.DEFAULT, PEERS);
    receiveGroup(8, false);
    receiveGroup(10, false);
    receiveGroup(12, true);
    receiveGroup(14, false);
    assertEquals(2, recovered());
  }

  @Test
  void parityOfAnotherSessionIsNotUsed() {
    session.reconfigure(KcpConfig.DEFAULT, PEERS);
    receiveGroup(0, false);
    receive(Unpooled.buffer().writeIntLE(5).writeShortLE(FecPacket.PARITY).writeZero(36));
    assertEquals(1, context.total().get(KcpCounter.FEC_PARITY_IN));
    assertEquals(1, context.total().get(KcpCounter.UNKNOWN_SESSION));
  }

  @Test
  void parityTooShortForItsConvIsRefused() {
    session.reconfigure(KcpConfig.DEFAULT, PEERS);
    receiveGroup(0, false);
    ByteBuf parity = Unpooled.buffer().writeIntLE(5).writeShortLE(FecPacket.PARITY);
    parity.writeZero(2).writeIntLE(7);
    receive(parity.copy(0, 11));
    assertEquals(1, context.total().get(KcpCounter.FEC_PARITY_IN));
    assertEquals(1, context.total().get(KcpCounter.FEC_REFUSED));
    receive(parity);
    assertEquals(2, context.total().get(KcpCounter.FEC_PARITY_IN));
    assertEquals(1, context.total().get(KcpCounter.FEC_REFUSED));
  }

  @Test
  void parityThatIsReceivedRightAfterAChangeIsHarmless() {
    session.reconfigure(KcpConfig.DEFAULT, PEERS);
    receiveGroup(0, false);
    session.reconfigure(KcpConfig.DEFAULT, FecConfig.of(3, 1));
    ByteBuf parity = Unpooled.buffer().writeIntLE(5).writeShortLE(FecPacket.PARITY);
    receive(parity.writeZero(2).writeIntLE(7).writeZero(30));
    assertEquals(2, context.total().get(KcpCounter.FEC_PARITY_IN));
  }
}
