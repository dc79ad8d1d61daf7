package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.AckSample;
import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.LossSample;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What of the layers below the ARQ counts against the rate of a congestion control. */
class PacedSessionTest {

  /** The datagrams that may leave at once at a low rate. */
  private static final int BURST = 10;

  /** A rate of a datagram in a second. */
  private static final class LowRate implements CongestionControl {

    @Override
    public int window() {
      return 100;
    }

    @Override
    public long pacingBytesPerSecond() {
      return 1_400;
    }

    @Override
    public void onAck(AckSample sample) {}

    @Override
    public void onLoss(LossSample sample) {}

    @Override
    public void onMssChanged(int mssBytes) {}
  }

  private final Host client = new Host(1, KeyRing.NONE);
  private final Host server = new Host(2, KeyRing.NONE);

  private Session open(FecConfig fec) {
    client.config =
        KcpConfig.builder().congestionControl(mssBytes -> new LowRate()).maxBurst(0).build();
    client.fec = fec;
    return client.open(server.address, 7);
  }

  @AfterEach
  void nothingIsLeft() {
    client.close();
    server.close();
  }

  @Test
  void parityOfPayloadCountsAgainstTheRate() {
    Session session = open(FecConfig.of(4, 1));
    client.send(session, (BURST - 2) * session.kcp().mssBytes());
    assertEquals(2, client.count(KcpCounter.FEC_PARITY_OUT));
    assertEquals(BURST, client.packets().size());
    client.send(session, 10);
    assertEquals(0, client.packets().size());
  }

  @Test
  void unreliableDatagramsThatExceedTheRateDelayNothing() {
    client.unreliableLimit = 1;
    Session session = open(FecConfig.of(10, 3));
    for (int i = 0; i < 2 * BURST; i++) {
      session.sendUnreliable(client.allocator.buffer().writeZero(1_000));
      client.table.scheduleFlush(session);
      client.table.flushPending(0);
    }
    assertEquals(2 * BURST, client.packets().size());
    client.send(session, 10);
    assertEquals(1, client.packets().size());
  }

  @Test
  void unreliableDatagramsThatExceedTheRateLimitLeaveTheStreamAShare() {
    client.unreliableLimit = 1;
    client.config =
        KcpConfig.builder().congestionControl(CongestionControl.NONE).rateLimit(14_000).build();
    client.fec = FecConfig.of(10, 3);
    Session session = client.open(server.address, 7);
    for (int i = 0; i < 1_000; i++) {
      session.sendUnreliable(client.allocator.buffer().writeZero(1_000));
      client.table.scheduleFlush(session);
      client.table.flushPending(0);
    }
    client.packets();
    client.send(session, 3 * session.kcp().mssBytes());
    assertEquals(1, session.kcp().stats().queued());
    client.packets();
    for (int nowUs = 1_000_000; nowUs <= 10_000_000; nowUs += 1_000_000) {
      session.expire(nowUs);
      client.table.flushPending(nowUs);
    }
    assertEquals(0, session.kcp().stats().queued());
  }
}
