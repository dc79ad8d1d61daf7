package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@link SkipCountDetector} on a {@link SendBuffer} whose sequence numbers are about to wrap. */
class SkipCountDetectorTest {

  private static final int FIRST = -3;

  private final KcpConfig.Builder config = KcpConfig.builder().minRtoMs(1).intervalMs(1);
  private final RttEstimator rtt = new RttEstimator();
  private final SkipCountDetector losses = new SkipCountDetector(rtt);
  private final SendBuffer buffer =
      new SendBuffer(KcpContext.of(new UnpooledByteBufAllocator(true, true)), losses, FIRST);

  SkipCountDetectorTest() {
    configure(config.earlyRetransmit(false));
  }

  @AfterEach
  void close() {
    buffer.close();
  }

  private void configure(KcpConfig.Builder config) {
    losses.configure(config.build());
    rtt.configure(config.build());
  }

  private int sendNew(long nowMs) {
    buffer.append(Unpooled.buffer(10).writeZero(10), 10, 0, 10);
    buffer.sent((int) nowMs, nowMs);
    return buffer.next() - 1;
  }

  private int index(int sn) {
    return buffer.index(sn);
  }

  /** What one flush retransmits. */
  private String flush(boolean newAllowed, long nowMs) {
    StringBuilder sent = new StringBuilder();
    if (losses.isSearchDue(newAllowed, nowMs)) {
      for (int i; (i = losses.nextLost(newAllowed, nowMs)) != LossDetector.NONE; ) {
        sent.append(buffer.sn(i) - FIRST).append(losses.cause().name().charAt(0));
        losses.retransmitted(i, (int) nowMs, nowMs);
      }
    }
    return sent.toString();
  }

  @Test
  void timestampsOfAllTransmissionsAreKnown() {
    int sn = sendNew(50);
    assertEquals(1, losses.transmissions(index(sn)));
    assertEquals("0T", flush(true, 250));
    assertFalse(losses.wasSentAt(index(sn), 49));
    assertTrue(losses.wasSentAt(index(sn), 50));
    assertTrue(losses.wasSentAt(index(sn), 250));
    assertFalse(losses.wasSentAt(index(sn), 251));
    assertEquals(2, losses.transmissions(index(sn)));
  }

  @Test
  void segmentIsLostWhenAsManyLaterOnesAreAcknowledgedAsTheThreshold() {
    configure(config.fastRetransmit(3));
    for (int i = 0; i < 5; i++) {
      sendNew(0);
    }
    buffer.acknowledge(FIRST + 1, 0, 10);
    buffer.acknowledge(FIRST + 2, 0, 10);
    assertFalse(losses.isLossDetected());
    assertEquals("", flush(true, 10));
    buffer.acknowledge(FIRST + 4, 0, 10);
    assertTrue(losses.isLossDetected());
    assertEquals("0F", flush(true, 10));
    assertFalse(losses.isLossDetected());
  }

  @Test
  void oneLaterAcknowledgementSufficesIfNothingNewMayBeSent() {
    configure(config.earlyRetransmit(true));
    sendNew(0);
    sendNew(0);
    buffer.acknowledge(FIRST + 1, 0, 10);
    assertFalse(losses.isLossDetected());
    assertTrue(losses.isLossSuspected());
    assertEquals("", flush(true, 10));
    assertEquals("0E", flush(false, 10));
    assertFalse(losses.isLossSuspected());
  }

  @Test
  void thresholdOfZeroLeavesOnlyTimeouts() {
    configure(config.fastRetransmit(0).earlyRetransmit(true));
    for (int i = 0; i < 5; i++) {
      sendNew(0);
    }
    for (int i = 1; i < 5; i++) {
      buffer.acknowledge(FIRST + i, 0, 10);
    }
    assertFalse(losses.isLossSuspected());
    assertEquals("", flush(false, 199));
    assertEquals("0T", flush(false, 200));
  }

  @Test
  void timeoutBacksOffAndFastRetransmitDoesNot() {
    int sn = sendNew(0);
    flush(true, 200);
    assertEquals(200 + 300, losses.deadlineMs(), "half as long again");
    flush(true, 500);
    assertEquals(500 + 450, losses.deadlineMs());
    sendNew(600);
    sendNew(600);
    buffer.acknowledge(FIRST + 1, 600, 610);
    buffer.acknowledge(FIRST + 2, 600, 610);
    assertEquals("0F", flush(true, 610));
    assertEquals(3 + 1, losses.transmissions(index(sn)));
    assertEquals("", flush(true, 809));
    assertEquals("0T", flush(true, 810));
  }

  @Test
  void advanceOfUnaResetsTheBackOffOfTheOldestSegment() {
    sendNew(0);
    sendNew(0);
    flush(true, 200);
    flush(true, 500);
    buffer.acknowledgeBelow(FIRST + 1, 510);
    losses.unaAdvanced(index(FIRST + 1), 510);
    assertEquals("", flush(true, 709));
    assertEquals("1T", flush(true, 710));
  }

  @Test
  void deadlineIsTheEarliestTimeoutAndEndsWithTheFlight() {
    assertEquals(Kcp.NO_DEADLINE, losses.deadlineMs());
    sendNew(10);
    sendNew(30);
    assertEquals(210, losses.deadlineMs());
    buffer.acknowledge(FIRST, 10, 40);
    assertEquals(210, losses.deadlineMs(), "a lower bound");
    assertEquals("", flush(true, 210));
    assertEquals(230, losses.deadlineMs());
    buffer.acknowledgeBelow(FIRST + 2, 220);
    assertEquals(Kcp.NO_DEADLINE, losses.deadlineMs());
  }

  /** Whatever happens between the calls, and however early each search is interrupted. */
  @Test
  void searchFindsEveryTimeoutAndNothingElse() {
    configure(config.fastRetransmit(0));
    Random random = new Random(1);
    Map<Integer, Long> retransmitAtMs = new HashMap<>();
    Map<Integer, Integer> timeouts = new HashMap<>();
    long nowMs = 0;
    for (int step = 0; step < 5000; step++, nowMs += random.nextInt(3)) {
      rtt.sample(random.nextInt(60));
      for (int i = random.nextInt(4); i > 0; i--) {
        int sn = sendNew(nowMs);
        timeouts.put(sn, rtt.rtoMs());
        retransmitAtMs.put(sn, nowMs + rtt.rtoMs());
      }
      if (random.nextInt(4) == 0 && !retransmitAtMs.isEmpty()) {
        int sn = List.copyOf(retransmitAtMs.keySet()).get(random.nextInt(retransmitAtMs.size()));
        retransmitAtMs.remove(sn);
        buffer.acknowledge(sn, 0, nowMs);
      }
      if (random.nextInt(100) == 0) {
        int flight = buffer.next() - buffer.una();
        buffer.acknowledgeBelow(buffer.una() + random.nextInt(flight + 1), nowMs);
        retransmitAtMs.keySet().removeIf(sn -> sn - buffer.una() < 0);
      }
      if (random.nextInt(10) == 0 && buffer.isAwaited(buffer.una())) {
        losses.unaAdvanced(index(buffer.una()), nowMs);
        if (retransmitAtMs.get(buffer.una()) > nowMs + rtt.rtoMs()) {
          retransmitAtMs.put(buffer.una(), nowMs + rtt.rtoMs());
          timeouts.put(buffer.una(), rtt.rtoMs());
        }
      }
      assertTimeoutsFound(retransmitAtMs, timeouts, nowMs, random.nextInt(3));
    }
  }

  private void assertTimeoutsFound(
      Map<Integer, Long> retransmitAtMs, Map<Integer, Integer> timeouts, long nowMs, int most) {
    for (; most >= 0 && losses.isSearchDue(true, nowMs); most--) {
      int i = losses.nextLost(true, nowMs);
      if (i == LossDetector.NONE) {
        long earliest = retransmitAtMs.values().stream().min(Long::compare).orElse(Kcp.NO_DEADLINE);
        assertTrue(nowMs < earliest, "one was missed");
        assertTrue(losses.deadlineMs() > nowMs && losses.deadlineMs() <= earliest);
        return;
      }
      int sn = buffer.sn(i);
      assertTrue(retransmitAtMs.get(sn) <= nowMs);
      losses.retransmitted(i, (int) nowMs, nowMs);
      int timeoutMs = rtt.backOff(timeouts.get(sn), true);
      timeouts.put(sn, timeoutMs);
      retransmitAtMs.put(sn, nowMs + timeoutMs);
    }
    for (long atMs : retransmitAtMs.values()) {
      assertTrue(losses.deadlineMs() <= Math.max(atMs, nowMs));
    }
  }
}
