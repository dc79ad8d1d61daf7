package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * No more leaves at once than a receiver's socket buffer holds, and what is held back soon goes.
 */
class KcpBurstTest {

  private static final int BURST = 8;
  private static final int INTERVAL_US = 10_000;

  private final DrivenKcp driven = driven(BURST);

  private static DrivenKcp driven(int burst) {
    DrivenKcp driven =
        new DrivenKcp(
            KcpConfig.builder()
                .intervalMs(INTERVAL_US / 1_000)
                .sendWindow(100)
                .maxBurst(burst)
                .congestionControl(CongestionControl.NONE));
    driven.peerWnd = 100;
    driven.receiveBatch(driven.wins());
    return driven;
  }

  private int sentSegments() {
    return driven.sentSns(Segment.PUSH).size();
  }

  @Test
  void oneBurstLeavesInEachMillisecond() {
    driven.sendSegments(3 * BURST + 1);
    assertEquals(BURST, sentSegments());
    for (int left : new int[] {BURST, BURST, 1}) {
      assertEquals(driven.nowUs + 1_000, driven.kcp.nextDeadline());
      driven.runTo(driven.nowUs + 1_000);
      assertEquals(left, sentSegments());
    }
    assertTrue(driven.kcp.nextDeadline() > driven.nowUs + INTERVAL_US, "wakes up for nothing");
  }

  @Test
  void burstEndsWithItsMillisecond() {
    driven.nowUs = 900;
    driven.sendSegments(3 * BURST);
    assertEquals(BURST, sentSegments());
    driven.kcp.flush(999, driven);
    assertEquals(0, sentSegments());
    assertEquals(1_000, driven.kcp.nextDeadline());
    driven.runTo(1_000);
    assertEquals(BURST, sentSegments());
    assertEquals(2_000, driven.kcp.nextDeadline());
  }

  @Test
  void whatIsAcknowledgedMakesRoomAtOnce() {
    driven.sendSegments(3 * BURST);
    List<SentSegment> sent = driven.sent();
    driven.receiveBatch(driven.ack(0, sent.get(0).ts()), driven.ack(1, sent.get(1).ts()));
    driven.kcp.flush(driven.nowUs, driven);
    assertEquals(2, sentSegments());
    driven.peerUna = BURST;
    driven.receiveBatch(driven.wins());
    assertEquals(BURST - 2, sentSegments());
  }

  @Test
  void whatIsAcknowledgedMakesRoomThoughHandlersTakeUntilTheNextMillisecond() {
    driven.sendSegments(4 * BURST);
    driven.sent();
    driven.peerUna = BURST;
    driven.input(driven.wins());
    driven.kcp.afterInput(driven.nowUs + 1_000, driven);
    assertEquals(2 * BURST, sentSegments());
  }

  @Test
  void retransmissionsAreLimitedToo() {
    driven.acknowledged();
    driven.sendSegments(4 * BURST);
    driven.runTo(3_000);
    assertEquals(4 * BURST, sentSegments());
    int most = 0;
    while (driven.nowUs < 2_000_000) {
      driven.runTo(driven.nowUs + 1_000);
      most = Math.max(most, sentSegments());
    }
    assertTrue(driven.count(KcpCounter.TIMED_OUT) >= 4 * BURST, "too few retransmissions");
    assertEquals(BURST, most);
  }

  @Test
  void acknowledgementsDoNotWait() {
    driven.sendSegments(2 * BURST);
    driven.sent();
    driven.receiveBatch(driven.push(0, DrivenKcp.bytes(10)));
    driven.kcp.flush(driven.nowUs, driven);
    assertEquals(List.of(0), driven.sentSns(Segment.ACK));
  }

  @Test
  void canBeTurnedOff() {
    DrivenKcp unlimited = driven(0);
    unlimited.sendSegments(100);
    assertEquals(100, unlimited.sentSns(Segment.PUSH).size());
  }
}
