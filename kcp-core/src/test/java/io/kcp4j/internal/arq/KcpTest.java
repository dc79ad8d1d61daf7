package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

/** Two sessions that talk to each other without a network. */
class KcpTest {

  private final DrivenKcp a = new DrivenKcp(KcpConfig.DEFAULT);
  private final DrivenKcp b = new DrivenKcp(KcpConfig.DEFAULT);

  @Test
  void oneMegabyteCrossesACleanWireAndEverythingIsReleased() {
    int bytes = 1 << 20;
    ByteBuf data = DrivenKcp.bytes(bytes);
    ByteBuf received = Unpooled.buffer(bytes);
    for (int us = 0; received.readableBytes() < bytes || !a.kcp.isDrained(); us += 1_000) {
      assertTrue(us < 60_000_000, "no progress");
      a.kcp.send(data);
      a.kcp.afterSend(a.nowUs, a);
      carry(a, b);
      received.writeBytes(b.receiveAll());
      carry(b, a);
      a.runTo(us);
      b.runTo(us);
    }
    assertEquals(DrivenKcp.bytes(bytes), received);
    assertEquals(0, a.count(KcpCounter.RETRANSMITTED));
    assertEquals(Time.NO_DEADLINE, a.kcp.nextDeadline());
    assertEquals(Time.NO_DEADLINE, b.kcp.nextDeadline());
    a.assertNothingHeld();
    b.assertNothingHeld();
  }

  private static void carry(DrivenKcp from, DrivenKcp to) {
    for (ByteBuf datagram : from.sentDatagrams()) {
      assertEquals(InputResult.ACCEPTED, to.input(datagram));
    }
    to.kcp.afterInput(to.nowUs, to);
  }
}
