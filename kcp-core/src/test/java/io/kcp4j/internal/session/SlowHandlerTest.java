package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Handlers that take long: segments that are sent after them count from their real send time. */
class SlowHandlerTest {

  private static final InetSocketAddress REMOTE = new InetSocketAddress(NetUtil.LOCALHOST, 1111);

  private final KcpContext context =
      new KcpContext(
          new UnpooledByteBufAllocator(true, true), new MemoryBudget(8000), new KcpCounters());
  private final TimerWheel deadlines = new TimerWheel(0);
  private final TestDriver driver =
      TestDriver.builder(context).deadlines(deadlines).maxSessions(9).build();
  private final SessionTable table = driver.table;
  private long clockUs = 1_000_000;
  private int clockReads;

  SlowHandlerTest() {
    driver.clock =
        nowUs -> {
          clockReads++;
          return clockUs;
        };
  }

  private static ByteBuf push(int conv, int sn, int bytes) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, conv, Segment.PUSH, 0, 128, 0, sn, 0, bytes);
    return out.writeZero(bytes);
  }

  private void write(Session session) {
    session.kcp().send(Unpooled.buffer().writeZero(10));
    table.scheduleFlush(session);
  }

  private static void readAll(Session session) {
    for (ByteBuf part; (part = session.kcp().receive()) != null; ) {
      part.release();
    }
  }

  @Test
  void answersDoNotCountAsLostBecauseHandlersWereSlow() {
    driver.onProgress =
        session -> {
          readAll(session);
          clockUs += 40_000;
          write(session);
        };
    long startUs = clockUs;
    for (int conv = 1; conv <= 6; conv++) {
      table.receive(REMOTE, push(conv, 0, 10), startUs);
    }
    table.endBatch(startUs);
    assertEquals(startUs + 240_000, clockUs);
    deadlines.advance(clockUs);
    table.flushPending(clockUs);
    assertEquals(0, context.total().get(KcpCounter.TIMED_OUT));
    assertEquals(clockUs + 200_000, driver.accepted.get(0).kcp().nextDeadline());
  }

  @Test
  void clockIsReadOnceForABatch() {
    for (int conv = 1; conv <= 6; conv++) {
      table.receive(REMOTE, push(conv, 0, 10), clockUs);
    }
    table.endBatch(clockUs);
    assertEquals(1, clockReads);
  }

  @Test
  void sessionsFlushedAfterASlowHandlerCountFromTheirOwnSendTime() {
    List<Session> slow = new ArrayList<>();
    // The first session's reordered segment waits for memory, which the second one holds.
    table.receive(REMOTE, push(1, 0, 10), clockUs);
    table.receive(REMOTE, push(1, 2, 1400), clockUs);
    for (int sn = 0; sn < 10; sn++) {
      table.receive(REMOTE, push(2, sn, 1400), clockUs);
    }
    table.endBatch(clockUs);
    readAll(driver.accepted.get(0));
    table.receive(REMOTE, push(1, 1, 10), clockUs);
    table.endBatch(clockUs);
    readAll(driver.accepted.get(0));
    readAll(driver.accepted.get(1));
    Session other = driver.newSession(REMOTE, 3);
    table.add(other, clockUs);
    driver.onProgress =
        session -> {
          slow.add(session);
          clockUs += 300_000;
        };
    clockUs += 20_000;
    long startUs = clockUs;
    deadlines.advance(startUs);
    write(other);
    table.flushPending(startUs);
    assertEquals(List.of(driver.accepted.get(0)), slow);
    assertEquals(clockUs + 200_000, other.kcp().nextDeadline());
  }

  @Test
  void sessionsFlushedAfterAHandlerHasThrownCountFromTheirOwnSendTime() {
    driver.onProgress =
        session -> {
          readAll(session);
          if (session.conv() == 1) {
            throw new IllegalStateException("simulated");
          }
          clockUs += 300_000;
          write(session);
        };
    table.receive(REMOTE, push(1, 0, 10), clockUs);
    table.receive(REMOTE, push(2, 0, 10), clockUs);
    assertThrows(IllegalStateException.class, () -> table.endBatch(clockUs));
    table.flushPending(clockUs);
    assertEquals(1_300_000, clockUs);
    assertEquals(clockUs + 200_000, driver.accepted.get(1).kcp().nextDeadline());
  }
}
