package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** An outage of the path of all sessions of an event loop. Each has a segment in flight. */
class ManySessionsOutageTest {

  private static final int PROBES_PER_SECOND = 1_000;
  private static final int SECOND_US = 1_000_000;
  private static final int RTT_US = 40_000;

  private static final KcpConfig CONFIG = KcpConfig.builder().userTimeoutMs(90_000).build();

  private final VirtualTime time = new VirtualTime();
  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final List<Client> clients = new ArrayList<>();
  private final List<Long> probesAtUs = new ArrayList<>();
  private final ByteBuf datagram = Unpooled.buffer();
  private boolean isDead;

  /** A session, and a peer that acknowledges what it receives. */
  private final class Client implements DatagramOutput {

    private final Kcp kcp;
    private final ByteBuf ack = Unpooled.buffer();
    private final Runnable wake = this::wake;
    private long wakesAtUs = Long.MAX_VALUE;
    private long probedAtUs;
    private long longestWaitUs;
    private int peerUna;

    Client(int conv) {
      kcp = new Kcp(conv, CONFIG, context, conv);
    }

    void send() {
      kcp.send(Unpooled.wrappedBuffer(new byte[100]));
      kcp.afterSend(time.nowUs(), this);
      arm();
    }

    private void arm() {
      if (kcp.nextDeadline() < wakesAtUs) {
        wakesAtUs = kcp.nextDeadline();
        time.at(wakesAtUs, wake);
      }
    }

    private void wake() {
      if (time.nowUs() >= wakesAtUs) {
        wakesAtUs = Long.MAX_VALUE;
        if (time.nowUs() >= kcp.nextDeadline()) {
          kcp.flush(time.nowUs(), this);
        }
        arm();
      }
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      return datagram.clear();
    }

    @Override
    public void end() {
      for (SentSegment segment : SentSegment.in(datagram)) {
        if (segment.cmd() == Segment.PUSH && !segment.payload().isReadable()) {
          probed();
        }
        if (segment.cmd() == Segment.PUSH && !isDead) {
          time.after(RTT_US, () -> acknowledged(segment.sn(), segment.ts()));
        }
      }
    }

    private void probed() {
      probesAtUs.add(time.nowUs());
      longestWaitUs = Math.max(longestWaitUs, time.nowUs() - probedAtUs);
      probedAtUs = time.nowUs();
    }

    private void acknowledged(int sn, int ts) {
      peerUna = Math.max(peerUna, sn + 1);
      Segment.write(ack.clear(), kcp.conv(), Segment.ACK, 0, 128, ts, sn, peerUna, 0);
      kcp.input(ack, time.nowUs());
      kcp.afterInput(time.nowUs(), this);
      arm();
    }
  }

  private void sendAll() {
    for (Client client : clients) {
      client.send();
    }
  }

  /** Round trips, so that the estimators know the path. */
  private void warmUp(int sessions) {
    for (int conv = 1; conv <= sessions; conv++) {
      clients.add(new Client(conv));
    }
    for (int i = 1; i <= 2; i++) {
      sendAll();
      time.runUntil((long) i * SECOND_US);
    }
    assertEquals(List.of(), probesAtUs);
  }

  private void assertBounded(int sessions, int outageSeconds) {
    // After the distance of a session's own probes, all others come first.
    long longestWaitUs = (sessions / PROBES_PER_SECOND + 1L) * SECOND_US + RTT_US;
    warmUp(sessions);
    long sinceUs = time.nowUs();
    isDead = true;
    clients.forEach(client -> client.probedAtUs = sinceUs);
    sendAll();

    time.runUntil(sinceUs + (long) outageSeconds * SECOND_US);

    for (int i = PROBES_PER_SECOND; i < probesAtUs.size(); i++) {
      long us = probesAtUs.get(i) - probesAtUs.get(i - PROBES_PER_SECOND);
      assertTrue(us >= SECOND_US, PROBES_PER_SECOND + " probes in " + us + " us");
    }
    int expected = outageSeconds * PROBES_PER_SECOND;
    assertEquals(expected, probesAtUs.size(), 0.02 * expected);
    for (Client client : clients) {
      long waitUs = Math.max(client.longestWaitUs, time.nowUs() - client.probedAtUs);
      assertTrue(waitUs <= longestWaitUs, "waits " + waitUs + " us");
      assertEquals(1, client.kcp.sender.losses.unacknowledged());
    }

    isDead = false;
    time.runUntil(time.nowUs() + longestWaitUs + 2 * RTT_US);
    for (Client client : clients) {
      assertTrue(client.kcp.isDrained());
      assertNull(client.kcp.failure());
      client.kcp.close();
    }
  }

  @Test
  void probesOfAllSessionsAreBoundedAndNoneStarves() {
    assertBounded(2_000, 20);
  }

  @Test
  @Tag("slow")
  void probesOfTenThousandSessionsAreBoundedAndNoneStarves() {
    assertBounded(10_000, 60);
  }
}
