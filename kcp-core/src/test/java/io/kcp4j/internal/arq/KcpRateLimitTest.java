package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A session keeps to its rate limit, uses it up, and acknowledges in spite of it. */
class KcpRateLimitTest {

  private static final int LIMIT = 100_000;
  private static final int INTERVAL_US = 10_000;

  /** Two intervals, and the datagram that goes beyond them. */
  private static final int AHEAD_BYTES = (int) (LIMIT * 2L * INTERVAL_US / 1_000_000) + 1200;

  private final DrivenKcp driven = new DrivenKcp(limited());

  private static KcpConfig.Builder limited() {
    return counting()
        .intervalMs(INTERVAL_US / 1_000)
        .sendWindow(1000)
        .userTimeoutMs(0)
        .rateLimit(LIMIT);
  }

  private int sentBytes() {
    return driven.sentDatagrams().stream().mapToInt(ByteBuf::readableBytes).sum();
  }

  @Test
  void newSegmentsLeaveAtTheLimit() {
    driven.peerWnd = 1000;
    driven.receiveBatch(driven.wins());
    driven.sendSegments(600);
    long sent = 0;
    while (driven.nowUs < 5_000_000) {
      for (SentSegment segment : driven.sent()) {
        sent += Segment.HEADER_BYTES + segment.payload().readableBytes();
        driven.peerUna = segment.sn() + 1;
        driven.receiveBatch(driven.ack(segment.sn(), segment.ts()));
      }
      driven.runTo(driven.nowUs + 7_000);
    }
    assertTrue(sent <= 5 * LIMIT + AHEAD_BYTES, () -> "too much");
    assertTrue(sent >= 5 * LIMIT * 0.95, "too little: " + sent);
  }

  @Test
  void retransmissionsKeepToTheLimit() {
    driven.acknowledged();
    driven.sendSegments(32);
    driven.runTo(10_000_000);
    assertTrue(driven.count(KcpCounter.RETRANSMITTED) > 100, "too few retransmissions");
    assertTrue(sentBytes() <= 10 * LIMIT + AHEAD_BYTES, "too much");
  }

  @Test
  void fastRetransmitWaitsForTheLimitAndNoLonger() {
    driven.sendSegments(4);
    List<SentSegment> sent = driven.sent();
    driven.kcp.charge(LIMIT / 10, 0, 0); // for 100 ms
    driven.receiveBatch(driven.ack(1, sent.get(1).ts()), driven.ack(2, sent.get(2).ts()));
    assertEquals(List.of(), driven.sentSns(Segment.PUSH));
    long opensAtUs = 10L * (sent.size() * 1200 + LIMIT / 10) - 2 * INTERVAL_US;
    assertEquals(opensAtUs, driven.kcp.nextDeadline(), "a wake-up for nothing");
    driven.runTo(110_000);
    assertEquals(List.of(), driven.sentSns(Segment.PUSH));
    driven.runTo(180_000);
    assertEquals(0, driven.sentSns(Segment.PUSH).get(0));
    assertEquals(1, driven.count(KcpCounter.FAST_RETRANSMITTED));
  }

  @Test
  void timeoutThatWaitsForTheLimitIsDueAtTheMicrosecondAtWhichThePacerOpens() {
    driven.sendSegments(1);
    driven.sent();
    driven.kcp.charge(49_987, 0, 0); // beside the segment; 10 us for each byte
    long opensAtUs = 10 * (1200 + 49_987) - 2 * INTERVAL_US;
    assertEquals(opensAtUs, driven.kcp.nextDeadline());
    driven.runTo(opensAtUs - 1);
    driven.kcp.flush(driven.nowUs, driven);
    assertEquals(List.of(), driven.sentSns(Segment.PUSH));
    driven.runTo(opensAtUs);
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
  }

  @Test
  void nothingWakesTheSessionWhileThePacerIsClosed() {
    driven.kcp.charge(50_000, 0, 0); // 10 us for each byte
    driven.sendSegments(5);
    assertEquals(List.of(), driven.sentSns(Segment.PUSH));
    assertEquals(10 * 50_000 - 2 * INTERVAL_US, driven.kcp.nextDeadline());
  }

  @Test
  void acknowledgementsDoNotWait() {
    driven.sendSegments(20);
    driven.sent();
    driven.receiveBatch(driven.push(0, DrivenKcp.bytes(10)));
    driven.runTo(INTERVAL_US);
    assertEquals(List.of(0), driven.sentSns(Segment.ACK));
  }

  @Test
  void limitCanBeLifted() {
    driven.sendSegments(20);
    int before = driven.sentSns(Segment.PUSH).size();
    assertTrue(before < 20, "all were sent");
    driven.kcp.reconfigure(limited().rateLimit(0).build());
    driven.kcp.afterSend(0, driven);
    assertEquals(20 - before, driven.sentSns(Segment.PUSH).size());
  }
}
