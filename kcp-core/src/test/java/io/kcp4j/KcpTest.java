package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.Test;

/** The behaviour of one {@link Kcp}, and of two that talk to each other without a network. */
class KcpTest {

  private static final int CONV = 0x11223344;

  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));

  /** Keeps datagrams until they are taken. */
  private static final class Wire implements DatagramOutput {
    final Deque<ByteBuf> datagrams = new ArrayDeque<>();
    private ByteBuf current;

    @Override
    public ByteBuf begin(int maxBytes) {
      current = Unpooled.buffer(maxBytes, maxBytes);
      return current;
    }

    @Override
    public void end() {
      datagrams.add(current);
      current = null;
    }
  }

  private Kcp kcp(KcpConfig config) {
    return new Kcp(CONV, config, context, 1000);
  }

  @Test
  void oneMegabyteCrossesACleanWireAndEverythingIsReleased() {
    Kcp a = kcp(KcpConfig.DEFAULT);
    Kcp b = kcp(KcpConfig.DEFAULT);
    Wire toB = new Wire();
    Wire toA = new Wire();
    ByteBuf data = DrivenKcp.bytes(1 << 20);
    ByteBuf received = Unpooled.buffer(1 << 20);
    long now = 0;
    while (received.writerIndex() < 1 << 20 || !a.isDrained()) {
      a.send(data);
      a.afterSend(now, toB);
      now++;
      while (!toB.datagrams.isEmpty()) {
        assertEquals(InputResult.ACCEPTED, b.input(toB.datagrams.poll(), now));
      }
      for (ByteBuf part; (part = b.receive()) != null; part.release()) {
        received.writeBytes(part);
      }
      b.afterInput(now, toA);
      if (now >= b.nextDeadline()) {
        b.flush(now, toA);
      }
      while (!toA.datagrams.isEmpty()) {
        assertEquals(InputResult.ACCEPTED, a.input(toA.datagrams.poll(), now));
      }
      a.afterInput(now, toB);
      assertTrue(now < 60_000, "no progress");
    }
    data.readerIndex(0);
    assertEquals(data, received);
    assertEquals(0, a.stats().get(KcpCounter.RETRANSMITTED));
    assertEquals(Kcp.NO_DEADLINE, a.nextDeadline());
    assertNull(b.receive());
    assertEquals(0, context.budget().usedBytes());
  }
}
