package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** While the output is blocked no session is flushed, and pending flushes are kept. */
class BlockedOutputTest {

  /** An output with room for a number of datagrams. */
  private static final class Socket implements DatagramOutput {
    int room;
    int sent;

    @Override
    public ByteBuf begin(int maxBytes) {
      return Unpooled.buffer(maxBytes);
    }

    @Override
    public void end() {
      room--;
      sent++;
    }
  }

  private final Socket socket = new Socket();

  private TestDriver driver(KcpContext context) {
    TestDriver driver = TestDriver.of(context);
    driver.output = remote -> socket;
    driver.outputWritable = () -> socket.room > 0;
    return driver;
  }

  @Test
  void sessionsThatTheOutputDoesNotTakeWait() {
    KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
    TestDriver driver = driver(context);
    SessionTable table = driver.table;
    InetSocketAddress remote = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
    for (int conv = 1; conv <= 5; conv++) {
      Kcp kcp = new Kcp(conv, KcpConfig.DEFAULT, context, 0);
      Session session = driver.newSession(remote, kcp);
      table.add(session, 0);
      assertTrue(kcp.send(Unpooled.wrappedBuffer(new byte[100])));
      table.scheduleFlush(session);
    }
    assertEquals(1, driver.flushRequests);

    socket.room = 2;
    table.flushPending(0);
    assertEquals(2, socket.sent);
    assertEquals(2, driver.flushRequests);

    socket.room = 10;
    table.flushPending(0);
    assertEquals(5, socket.sent);
    assertEquals(2, driver.flushRequests);
  }

  @Test
  void blockedSessionProgressesOnlyOnItsOwnInput() {
    KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true));
    TestDriver driver = driver(context);
    SessionTable table = driver.table;
    AtomicInteger progressed = new AtomicInteger();
    driver.onProgress = session -> progressed.incrementAndGet();
    InetSocketAddress remote = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
    ByteBuf probe = Unpooled.buffer();
    Segment.write(probe, 7, Segment.WASK, 0, 128, 0, 0, 0, 0);
    table.add(driver.newSession(remote, new Kcp(7, KcpConfig.DEFAULT, context, 0)), 0);

    table.receive(remote, probe, 0);
    table.endBatch(0);
    assertEquals(1, progressed.get());

    table.receive(remote, Unpooled.wrappedBuffer(new byte[Segment.HEADER_BYTES]), 1_000);
    table.endBatch(1_000);
    assertEquals(1, progressed.get());

    table.receive(remote, probe, 2_000);
    table.endBatch(2_000);
    assertEquals(2, progressed.get());
    assertEquals(0, socket.sent);

    socket.room = 1;
    table.flushPending(2_000);
    assertEquals(1, socket.sent);
  }
}
