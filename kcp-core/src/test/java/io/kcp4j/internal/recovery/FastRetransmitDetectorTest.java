package io.kcp4j.internal.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.send.SendBuffer;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * {@link FastRetransmitDetector} on a {@link SendBuffer} whose sequence numbers are about to wrap.
 */
class FastRetransmitDetectorTest {

  private static final int FIRST = -3;

  /** Of no effect here. */
  private static final int RTT_US = 10_000;

  private final KcpConfig.Builder config = KcpConfig.builder().intervalMs(1);
  private final RttEstimator rtt = new RttEstimator();
  private final FastRetransmitDetector losses = new FastRetransmitDetector(rtt);
  private final SendBuffer buffer =
      new SendBuffer(
          new MemoryAccount(KcpContext.of(new UnpooledByteBufAllocator(true, true))),
          losses,
          new KcpContext.PerThread().sendRings,
          FIRST);

  FastRetransmitDetectorTest() {
    configure(config);
  }

  @AfterEach
  void close() {
    buffer.close();
  }

  private void configure(KcpConfig.Builder config) {
    losses.configure(config.build());
    rtt.configure(config.build());
  }

  private static int ts(long nowUs) {
    return (int) (nowUs / 1_000);
  }

  private int sendNew(long nowUs) {
    buffer.append(Unpooled.buffer(10).writeZero(10), 10, 0, 10);
    buffer.sent(1, ts(nowUs), nowUs);
    return buffer.next() - 1;
  }

  private int index(int sn) {
    return buffer.index(sn);
  }

  /** What one flush retransmits. */
  private String flush(boolean newAllowed, long nowUs) {
    StringBuilder sent = new StringBuilder();
    if (losses.isSearchDue(newAllowed, nowUs)) {
      for (int i;
          (i = losses.nextLost(newAllowed, index(buffer.una()), nowUs)) != LossDetector.NONE; ) {
        sent.append(buffer.sn(i) - FIRST).append(losses.cause().name().charAt(0));
        losses.retransmitted(i, ts(nowUs), nowUs);
      }
    }
    return sent.toString();
  }

  @Test
  void timestampsOfAllTransmissionsAreKnown() {
    int sn = sendNew(50_000);
    assertEquals(1, losses.transmissions(index(sn)));
    assertEquals("0T", flush(true, 250_000));
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
    buffer.acknowledge(FIRST + 1, 0, RTT_US, 10_000);
    buffer.acknowledge(FIRST + 2, 0, RTT_US, 10_000);
    assertFalse(losses.isLossDetected(10_000));
    assertEquals("", flush(true, 10_000));
    buffer.acknowledge(FIRST + 4, 0, RTT_US, 10_000);
    assertTrue(losses.isLossDetected(10_000));
    assertEquals("0F", flush(true, 10_000));
    assertFalse(losses.isLossDetected(10_000));
  }

  @Test
  void oneLaterAcknowledgementSufficesIfNothingNewMayBeSent() {
    sendNew(0);
    sendNew(0);
    buffer.acknowledge(FIRST + 1, 0, RTT_US, 10_000);
    assertFalse(losses.isLossDetected(10_000));
    assertTrue(losses.isLossSuspected());
    assertEquals("", flush(true, 10_000));
    assertEquals("0E", flush(false, 10_000));
    assertFalse(losses.isLossSuspected());
  }

  @Test
  void thresholdOfZeroLeavesOnlyTimeouts() {
    configure(config.fastRetransmit(0));
    for (int i = 0; i < 5; i++) {
      sendNew(0);
    }
    for (int i = 1; i < 5; i++) {
      buffer.acknowledge(FIRST + i, 0, RTT_US, 10_000);
    }
    assertFalse(losses.isLossSuspected());
    assertEquals("", flush(false, 199_999));
    assertEquals("0T", flush(false, 200_000));
  }

  @Test
  void timeoutBacksOffAndFastRetransmitDoesNot() {
    int sn = sendNew(0);
    flush(true, 200_000);
    assertEquals(200_000 + 300_000, losses.deadlineUs(), "half as long again");
    flush(true, 500_000);
    assertEquals(500_000 + 450_000, losses.deadlineUs());
    sendNew(600_000);
    sendNew(600_000);
    buffer.acknowledge(FIRST + 1, 600, RTT_US, 610_000);
    buffer.acknowledge(FIRST + 2, 600, RTT_US, 610_000);
    assertEquals("0F", flush(true, 610_000));
    assertEquals(3 + 1, losses.transmissions(index(sn)));
    assertEquals("", flush(true, 809_999));
    assertEquals("0T", flush(true, 810_000));
  }

  @Test
  void advanceOfUnaResetsTheBackOffOfTheOldestSegment() {
    acknowledgeOne();
    sendNew(0);
    sendNew(0);
    flush(true, 200_000);
    flush(true, 500_000);
    buffer.acknowledgeBelow(FIRST + 2, 510_000);
    losses.resetBackOff(index(FIRST + 2), 510_000);
    assertEquals("", flush(true, 709_999));
    assertEquals("2T", flush(true, 710_000));
  }

  @Test
  void deadlineIsTheEarliestTimeoutAndEndsWithTheFlight() {
    acknowledgeOne();
    assertEquals(Time.NO_DEADLINE, losses.deadlineUs());
    sendNew(10_000);
    sendNew(30_000);
    assertEquals(210_000, losses.deadlineUs());
    buffer.acknowledge(FIRST + 1, 10, RTT_US, 40_000);
    assertEquals(210_000, losses.deadlineUs(), "a lower bound");
    assertEquals("", flush(true, 210_000));
    assertEquals(230_000, losses.deadlineUs());
    buffer.acknowledgeBelow(FIRST + 3, 220_000);
    losses.endInput(220_000);
    assertEquals(Time.NO_DEADLINE, losses.deadlineUs());
  }

  /** Until something is acknowledged, only the oldest segment times out. */
  private void acknowledgeOne() {
    int sn = sendNew(0);
    buffer.acknowledgeBelow(sn + 1, 0);
    losses.endInput(0);
  }

  /** Whatever happens between the calls, and however early each search is interrupted. */
  @Test
  void searchFindsEveryTimeoutAndNothingElse() {
    configure(config.fastRetransmit(0));
    Random random = new Random(1);
    Map<Integer, Long> retransmitAtUs = new HashMap<>();
    Map<Integer, Integer> timeouts = new HashMap<>();
    long nowUs = 0;
    for (int step = 0; step < 5000; step++, nowUs += random.nextInt(3_000)) {
      rtt.sample(random.nextInt(60_000), 0);
      for (int i = random.nextInt(4); i > 0; i--) {
        int sn = sendNew(nowUs);
        timeouts.put(sn, rtt.rtoUs());
        retransmitAtUs.put(sn, nowUs + rtt.rtoUs());
      }
      if (random.nextInt(4) == 0 && !retransmitAtUs.isEmpty()) {
        int sn = List.copyOf(retransmitAtUs.keySet()).get(random.nextInt(retransmitAtUs.size()));
        retransmitAtUs.remove(sn);
        buffer.acknowledge(sn, 0, RTT_US, nowUs);
      }
      if (random.nextInt(100) == 0) {
        int flight = buffer.next() - buffer.una();
        buffer.acknowledgeBelow(buffer.una() + random.nextInt(flight + 1), nowUs);
        losses.endInput(nowUs);
        retransmitAtUs.keySet().removeIf(sn -> sn - buffer.una() < 0);
      }
      if (random.nextInt(10) == 0 && buffer.isAwaited(buffer.una())) {
        losses.resetBackOff(index(buffer.una()), nowUs);
        timeouts.merge(buffer.una(), rtt.rtoUs(), Math::min);
        if (retransmitAtUs.get(buffer.una()) > nowUs + rtt.rtoUs()) {
          retransmitAtUs.put(buffer.una(), nowUs + rtt.rtoUs());
        }
      }
      assertTimeoutsFound(retransmitAtUs, timeouts, nowUs, random.nextInt(3));
    }
  }

  private void assertTimeoutsFound(
      Map<Integer, Long> retransmitAtUs, Map<Integer, Integer> timeouts, long nowUs, int most) {
    for (; most >= 0 && losses.isSearchDue(true, nowUs); most--) {
      int i = losses.nextLost(true, index(buffer.una()), nowUs);
      if (i == LossDetector.NONE) {
        long earliest =
            retransmitAtUs.values().stream().min(Long::compare).orElse(Time.NO_DEADLINE);
        assertTrue(nowUs < earliest, "one was missed");
        assertTrue(losses.deadlineUs() > nowUs && losses.deadlineUs() <= earliest);
        return;
      }
      int sn = buffer.sn(i);
      assertTrue(retransmitAtUs.get(sn) <= nowUs);
      losses.retransmitted(i, ts(nowUs), nowUs);
      int timeoutUs = rtt.backOff(timeouts.get(sn), true);
      timeouts.put(sn, timeoutUs);
      retransmitAtUs.put(sn, nowUs + timeoutUs);
    }
    for (long atUs : retransmitAtUs.values()) {
      assertTrue(losses.deadlineUs() <= Math.max(atUs, nowUs));
    }
  }
}
