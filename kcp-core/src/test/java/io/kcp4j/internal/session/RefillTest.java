package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Owners that write more when what they have written has left. */
class RefillTest {

  private static final long NOW_US = 1_000_000;

  private final TestDriver driver =
      TestDriver.builder(
              new KcpContext(
                  new UnpooledByteBufAllocator(true, true),
                  new MemoryBudget(1 << 20),
                  new KcpCounters()))
          .maxSessions(9)
          .build();
  private final SessionTable table = driver.table;
  private final List<Session> sessions = new ArrayList<>();

  private Session open(int port) {
    Session session = driver.newSession(new InetSocketAddress(NetUtil.LOCALHOST, port), port);
    table.add(session, NOW_US);
    sessions.add(session);
    return session;
  }

  private boolean write(Session session) {
    session.kcp().send(Unpooled.buffer().writeZero(10));
    table.scheduleFlush(session);
    return true;
  }

  private List<Long> segmentsSent() {
    return sessions.stream().map(s -> s.kcp().counters().get(KcpCounter.SEGMENTS_OUT)).toList();
  }

  @Test
  void whatIsWrittenAfterAFlushLeavesInTheSameBatch() {
    Session first = open(1);
    Session second = open(2);
    List<List<Long>> sent = new ArrayList<>();
    driver.onOutputFlush = () -> sent.add(segmentsSent());
    int[] left = {3};
    driver.onFlushed = session -> session == first && left[0]-- > 0 && write(session);
    write(first);
    write(second);

    table.flushPending(NOW_US);

    assertEquals(List.of(List.of(4L, 1L)), sent);
  }

  @Test
  void ownerThatAlwaysWritesDoesNotKeepTheThread() {
    int[] told = {0};
    driver.onFlushed =
        session -> {
          told[0]++;
          return write(session);
        };
    write(open(1));

    table.flushPending(NOW_US);

    assertEquals(65, told[0], "once for the session, and 64 times more");
  }

  @Test
  void sessionThatItsOwnerRemovesIsNotReportedAgain() {
    Session session = open(1);
    List<Session> reported = new ArrayList<>();
    driver.onFlushed =
        flushed -> {
          reported.add(flushed);
          write(flushed);
          table.remove(flushed, NOW_US);
          return true;
        };
    write(session);

    table.flushPending(NOW_US);

    assertEquals(List.of(session), reported);
  }
}
