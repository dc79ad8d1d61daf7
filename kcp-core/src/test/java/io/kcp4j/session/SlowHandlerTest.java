package io.kcp4j.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryBudget;
import io.kcp4j.Segment;
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
  private long clockMs = 1000;
  private int clockReads;

  SlowHandlerTest() {
    driver.clock =
        nowMs -> {
          clockReads++;
          return clockMs;
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
          clockMs += 40;
          write(session);
        };
    long startMs = clockMs;
    for (int conv = 1; conv <= 6; conv++) {
      table.receive(REMOTE, push(conv, 0, 10), startMs);
    }
    table.endBatch(startMs);
    assertEquals(startMs + 240, clockMs);
    deadlines.advance(clockMs);
    table.flushPending(clockMs);
    assertEquals(0, context.total().get(KcpCounter.TIMED_OUT));
    assertEquals(clockMs + 200, driver.accepted.get(0).kcp().nextDeadline());
  }

  @Test
  void clockIsReadOnceForABatch() {
    for (int conv = 1; conv <= 6; conv++) {
      table.receive(REMOTE, push(conv, 0, 10), clockMs);
    }
    table.endBatch(clockMs);
    assertEquals(1, clockReads);
  }

  @Test
  void sessionsFlushedAfterASlowHandlerCountFromTheirOwnSendTime() {
    List<Session> slow = new ArrayList<>();
    // The first session's reordered segment waits for memory, which the second one holds.
    table.receive(REMOTE, push(1, 0, 10), clockMs);
    table.receive(REMOTE, push(1, 2, 1400), clockMs);
    for (int sn = 0; sn < 10; sn++) {
      table.receive(REMOTE, push(2, sn, 1400), clockMs);
    }
    table.endBatch(clockMs);
    readAll(driver.accepted.get(0));
    table.receive(REMOTE, push(1, 1, 10), clockMs);
    table.endBatch(clockMs);
    readAll(driver.accepted.get(0));
    readAll(driver.accepted.get(1));
    Session other = driver.newSession(REMOTE, 3);
    table.add(other, clockMs);
    driver.onProgress =
        session -> {
          slow.add(session);
          clockMs += 300;
        };
    clockMs += 20;
    long startMs = clockMs;
    deadlines.advance(startMs);
    write(other);
    table.flushPending(startMs);
    assertEquals(List.of(driver.accepted.get(0)), slow);
    assertEquals(clockMs + 200, other.kcp().nextDeadline());
  }

  @Test
  void sessionsFlushedAfterAHandlerHasThrownCountFromTheirOwnSendTime() {
    driver.onProgress =
        session -> {
          readAll(session);
          if (session.conv() == 1) {
            throw new IllegalStateException("simulated");
          }
          clockMs += 300;
          write(session);
        };
    table.receive(REMOTE, push(1, 0, 10), clockMs);
    table.receive(REMOTE, push(2, 0, 10), clockMs);
    assertThrows(IllegalStateException.class, () -> table.endBatch(clockMs));
    table.flushPending(clockMs);
    assertEquals(1300, clockMs);
    assertEquals(clockMs + 200, driver.accepted.get(1).kcp().nextDeadline());
  }
}
