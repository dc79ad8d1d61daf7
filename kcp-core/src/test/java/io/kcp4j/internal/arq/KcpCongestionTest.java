package io.kcp4j.internal.arq;

import static io.kcp4j.Delivery.MESSAGE;
import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.AckSample;
import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.LossSample;
import io.kcp4j.internal.wire.Segment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a session reports to its congestion control, and that it obeys it. */
class KcpCongestionTest {

  private static final int TS = DrivenKcp.TS_ORIGIN;

  private static final int RTT_US = 20_000;

  private static final int SEGMENT_BYTES = 1400;

  /** What the layers below add to a datagram. */
  private static final int OVERHEAD_BYTES = 20;

  /** Records all calls; the test sets its window and rate. */
  private static final class Recorder implements CongestionControl {

    final List<String> events = new ArrayList<>();
    AckSample lastAck;
    boolean usesDeliveryRate = true;
    int window = 100;
    long pacingBytesPerSecond;

    @Override
    public int window() {
      return window;
    }

    @Override
    public boolean usesDeliveryRate() {
      return usesDeliveryRate;
    }

    @Override
    public long windowBytes() {
      return window * (long) SEGMENT_BYTES;
    }

    @Override
    public long pacingBytesPerSecond() {
      return pacingBytesPerSecond;
    }

    @Override
    public void onAck(AckSample s) {
      events.add("ack rtt=%d una=%b @%d".formatted(s.rttUs(), s.isUnaAdvanced(), s.nowUs()));
      assertTrue(lastAck == null || lastAck == s, "one sample for all");
      lastAck = s;
      AckSample.Rate rate = s.rate();
      assertEquals(usesDeliveryRate, rate != null);
      if (rate != null) {
        events.add(
            "acknowledged=%d delivered=%d lost=%d flight=%d"
                .formatted(
                    rate.acknowledgedBytes(),
                    rate.deliveredBytes(),
                    rate.lostBytes(),
                    rate.inFlightBytes()));
      }
    }

    @Override
    public void onLoss(LossSample s) {
      events.add(
          "loss acks=%d timeout=%d flight=%d window=%d threshold=%d @%d"
              .formatted(
                  s.lostByAcks(),
                  s.lostByTimeout(),
                  s.inFlightSegments(),
                  s.window(),
                  s.fastRetransmit(),
                  s.nowUs()));
    }

    @Override
    public void onMssChanged(int mssBytes) {
      events.add("mss " + mssBytes);
    }

    /** The events since this was last called. */
    List<String> take() {
      List<String> taken = List.copyOf(events);
      events.clear();
      return taken;
    }
  }

  private final Recorder control = new Recorder();
  private final KcpConfig config =
      counting().mtuBytes(SEGMENT_BYTES).congestionControl(mssBytes -> control).build();
  private final DrivenKcp driven = new DrivenKcp(config);
  private final AckSample.Rate rate = driven.kcp.sender.losses.rate;

  @Test
  void everySegmentSentIsInFlight() {
    driven.nowUs = 5_000;
    driven.kcp.send(DrivenKcp.bytes(1376 + 10));
    driven.kcp.afterSend(5_000, driven);
    assertEquals(1400 + 34, rate.inFlightBytes());
  }

  @Test
  void segmentsOfAContiguousRunAreInFlight() {
    driven.sendSegments(5);
    assertEquals(5 * 1400, rate.inFlightBytes());
  }

  @Test
  void ackAndUnaReportEachSegmentOnceAndOneSample() {
    driven.sendSegments(4);
    driven.nowUs = 30_000;
    driven.receiveBatch(driven.ack(2, TS));
    assertEquals(
        List.of(
            "ack rtt=30000 una=false @30000",
            "acknowledged=1400 delivered=1400 lost=0 flight=4200"),
        control.take());
    driven.nowUs = 40_000;
    driven.peerUna = 3;
    driven.receiveBatch(driven.ack(2, TS), driven.wins());
    assertEquals(
        List.of(
            "ack rtt=-1 una=true @40000", "acknowledged=2800 delivered=4200 lost=0 flight=1400"),
        control.take());
  }

  @Test
  void datagramThatAcknowledgesNothingIsNotReported() {
    driven.sendSegments(1);
    control.take();
    driven.receiveBatch(driven.push(0, DrivenKcp.bytes(10)));
    assertEquals(List.of(), control.take());
  }

  @Test
  void recoveredDatagramHasNoRoundTrip() {
    driven.sendSegments(1);
    driven.nowUs = 30_000;
    driven.kcp.input(driven.ack(0, TS), Origin.RECOVERED, 30_000);
    assertEquals(
        List.of("ack rtt=-1 una=true @30000", "acknowledged=1400 delivered=1400 lost=0 flight=0"),
        control.take());
  }

  @Test
  void fastRetransmitIsReportedAsALossOfTheFlush() {
    driven.sendSegments(4);
    driven.nowUs = 30_000;
    driven.receiveBatch(driven.ack(1, TS), driven.ack(2, TS));
    assertEquals(
        List.of(
            "ack rtt=30000 una=false @30000",
            "acknowledged=2800 delivered=2800 lost=0 flight=2800",
            "loss acks=1 timeout=0 flight=4 window=102 threshold=2 @30000"),
        control.take());
    driven.receiveBatch(driven.ack(3, TS));
    assertEquals("acknowledged=1400 delivered=4200 lost=1400 flight=1400", control.take().get(1));
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals("acknowledged=1400 delivered=5600 lost=0 flight=0", control.take().get(1));
  }

  @Test
  void timeoutsOfAFlushAreReportedTogether() {
    driven.acknowledged();
    driven.sendSegments(2);
    driven.runTo(200_000);
    assertEquals(
        List.of("loss acks=0 timeout=2 flight=2 window=32 threshold=2 @200000"), control.take());
    assertEquals(2 * 1400, rate.lostBytes());
    assertEquals(2 * 1400, rate.inFlightBytes());
  }

  @Test
  void windowLimitsTheFlight() {
    control.window = 3;
    driven.sendSegments(5);
    assertEquals(List.of(0, 1, 2), driven.sentSns(Segment.PUSH));
    control.window = 4;
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(List.of(3, 4), driven.sentSns(Segment.PUSH));
  }

  /** The window is one of bytes, and counts full segments. */
  @Test
  void smallMessagesFillTheWindowOfBbr() {
    DrivenKcp driven =
        new DrivenKcp(counting().congestionControl(CongestionControl.BBR).delivery(MESSAGE));
    driven.peerWnd = 100;
    driven.receiveBatch(driven.wins());
    for (int i = 0; i < 60; i++) {
      driven.kcp.send(DrivenKcp.bytes(100));
    }
    driven.kcp.afterSend(0, driven);
    assertEquals(60, driven.sentSns(Segment.PUSH).size());
  }

  @Test
  void windowInBytesDoesNotCountWhatIsAcknowledgedBehindAGap() {
    control.window = 3;
    driven.sendSegments(6);
    assertEquals(List.of(0, 1, 2), driven.sentSns(Segment.PUSH));
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(List.of(3), driven.sentSns(Segment.PUSH));
    assertEquals(3, driven.kcp.stats().congestionWindow());
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(List.of(4), driven.sentSns(Segment.PUSH));
  }

  @Test
  void windowInSegmentsReachesFromTheOldestToTheNewest() {
    control.window = 3;
    control.usesDeliveryRate = false;
    DrivenKcp driven = new DrivenKcp(config);
    driven.sendSegments(6);
    assertEquals(List.of(0, 1, 2), driven.sentSns(Segment.PUSH));
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(List.of(), driven.sentSns(Segment.PUSH));
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(List.of(3, 4), driven.sentSns(Segment.PUSH));
    assertEquals(3, driven.kcp.stats().congestionWindow());
  }

  @Test
  void acknowledgementTellsWhichTransmissionHasArrived() {
    driven.acknowledged();
    driven.sendSegments(3);
    driven.runTo(200_000); // All have timed out.
    assertEquals(2, driven.kcp.sender.losses.transmissions(driven.kcp.sender.buffer.index(0)));
    assertEquals(3 * 1400, rate.lostBytes());
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(2 * 1400, rate.lostBytes(), "the first");
    driven.receiveBatch(driven.ack(1, TS + 200));
    assertEquals(2 * 1400, rate.lostBytes(), "the last");
    driven.peerUna = 3;
    driven.receiveBatch(driven.wins());
    assertEquals(2 * 1400, rate.lostBytes(), "the last, as far as is known");
  }

  @ParameterizedTest
  @ValueSource(ints = {RTT_US - 1, RTT_US})
  void retransmissionThatUnaCoversSoonerThanARoundTripTakesWasSpurious(int sinceUs) {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().congestionControl(mss -> control));
    driven.sendSegments(1);
    driven.nowUs = RTT_US;
    driven.receiveBatch(driven.ack(0, TS));
    driven.sendSegments(1);
    driven.runTo(driven.kcp.nextDeadline());
    assertEquals(2, driven.kcp.sender.losses.transmissions(driven.kcp.sender.buffer.index(1)));
    driven.nowUs += sinceUs;
    driven.peerUna = 2;
    driven.input(driven.wins());
    assertEquals(sinceUs < RTT_US ? 0 : 1200, driven.kcp.sender.losses.rate.lostBytes());
  }

  @Test
  void pacingRateSpreadsNewSegments() {
    control.pacingBytesPerSecond = 140_000; // a datagram in 10 ms
    driven.kcp.reconfigure(config.toBuilder().congestionControl(mss -> control).build());
    driven.peerWnd = 100;
    driven.receiveBatch(driven.wins());
    driven.sendSegments(50);
    assertEquals(10, driven.sentSns(Segment.PUSH).size(), "a burst");
    driven.runTo(95_000);
    assertEquals(10, driven.sentSns(Segment.PUSH).size());
  }

  @Test
  void everythingThatWaitsForAPacingRateIsCounted() {
    control.pacingBytesPerSecond = 1_000_000_000;
    driven.kcp.reconfigure(
        config.toBuilder().congestionControl(mss -> control).build(), OVERHEAD_BYTES);
    driven.sendSegments(2);
    driven.kcp.charge(500, 3_000, 0);
    acknowledgePushes(1);
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(2 * 1400 + 500, driven.kcp.sender.pacer.chargedBytes());
  }

  @Test
  void acknowledgementsThatExceedThePacingRateDelayNothing() {
    control.pacingBytesPerSecond = 1_400;
    driven.kcp.reconfigure(config.toBuilder().congestionControl(mss -> control).build());
    driven.sendSegments(1);
    driven.sentDatagrams();
    acknowledgePushes(1_000); // with 24,000 bytes: for ten seconds more than what may be ahead
    assertEquals(200_000, driven.kcp.nextDeadline());
    driven.runTo(200_000);
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
    driven.sendSegments(1);
    assertEquals(List.of(1), driven.sentSns(Segment.PUSH));
  }

  @Test
  void acknowledgementsBesidePayloadCount() {
    control.pacingBytesPerSecond = 1_000_000_000;
    driven.kcp.reconfigure(config.toBuilder().congestionControl(mss -> control).build());
    driven.input(driven.push(0, DrivenKcp.bytes(10)));
    driven.kcp.send(DrivenKcp.bytes(10));
    driven.kcp.flush(0, driven);
    assertEquals(1, driven.sentDatagrams().size());
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(2 * Segment.HEADER_BYTES + 10, driven.kcp.sender.pacer.chargedBytes());
  }

  /** Receives segments one by one, each acknowledged in a datagram of its own. */
  private void acknowledgePushes(int segments) {
    for (int sn = 0; sn < segments; sn++) {
      driven.receiveBatch(driven.push(sn, DrivenKcp.bytes(10)));
      driven.kcp.flush(driven.nowUs, driven);
      assertEquals(List.of(sn), driven.sentSns(Segment.ACK));
      driven.receiveAll();
    }
  }

  @Test
  void pacingRateIsReadAfterEachAcknowledgement() {
    driven.sendSegments(2);
    control.pacingBytesPerSecond = 140_000;
    driven.receiveBatch(driven.ack(0, TS));
    driven.sendSegments(20);
    driven.sentDatagrams();
    control.pacingBytesPerSecond = 0;
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(20 - 10, driven.sentSns(Segment.PUSH).size());
  }

  private boolean isApplicationLimited() {
    return driven.kcp.stats().congestion().isApplicationLimited();
  }

  @Test
  void sessionIsApplicationLimitedWhileNothingIsQueued() {
    driven.sendSegments(2);
    driven.receiveBatch(driven.ack(0, TS));
    assertTrue(isApplicationLimited());
    control.window = 2;
    driven.sendSegments(20);
    driven.receiveBatch(driven.ack(1, TS));
    assertTrue(isApplicationLimited(), "sent while nothing was queued");
    for (int sn = 2; sn < 10; sn++) {
      driven.receiveBatch(driven.ack(sn, TS));
      assertFalse(isApplicationLimited());
    }
  }

  @Test
  void flushThatSendsAllThatThereIsMakesItApplicationLimited() {
    control.window = 2;
    driven.sendSegments(3);
    driven.receiveBatch(driven.ack(0, TS));
    assertFalse(isApplicationLimited(), "the window is full");
    driven.receiveBatch(driven.ack(1, TS));
    driven.sendSegments(1);
    assertFalse(isApplicationLimited(), "the window is full");
    driven.receiveBatch(driven.ack(2, TS));
    driven.kcp.flush(driven.nowUs, driven);
    assertTrue(isApplicationLimited());
    assertFalse(rate.isApplicationLimited(), "that of the last sample");
    driven.sendSegments(1);
    driven.receiveBatch(driven.ack(3, TS), driven.ack(4, TS));
    assertTrue(rate.isApplicationLimited());
  }

  @Test
  void anotherMtuIsReportedAndKeepsTheControl() {
    driven.kcp.reconfigure(config.toBuilder().mtuBytes(1000).build());
    assertEquals(List.of("mss 976"), control.take());
    driven.kcp.reconfigure(config.toBuilder().mtuBytes(1000).sendWindow(7).build());
    assertEquals(List.of(), control.take());
  }

  @Test
  void replacedControlIsNotCalled() {
    driven.kcp.reconfigure(
        config.toBuilder().congestionControl(CongestionControl.NONE).mtuBytes(1000).build());
    driven.sendSegments(3);
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(List.of(), control.take());
    assertSame(CongestionControl.NONE, driven.kcp.config().congestionControl());
    assertEquals(Integer.MAX_VALUE, driven.kcp.stats().congestionWindow());
  }

  @Test
  void nextControlMeasuresOnlyWhatIsSentFromThenOn() {
    driven.sendSegments(3);
    Recorder next = new Recorder();
    driven.kcp.reconfigure(config.toBuilder().congestionControl(mssBytes -> next).build());
    driven.sendSegments(1);
    driven.receiveBatch(driven.ack(0, TS), driven.ack(3, TS));
    assertEquals("acknowledged=1400 delivered=1400 lost=0 flight=0", next.take().get(1));
    assertEquals(List.of(), control.take());
  }

  /** A peer that was short of memory has dropped what it received, and tells that it has room. */
  @Test
  void windowUpdateEndsTheBackOffOfTheRate() {
    KcpConfig.Builder config = KcpConfig.builder().mtuBytes(600).userTimeoutMs(0);
    DrivenKcp driven = new DrivenKcp(config);
    driven.sendSegments(64);
    for (int sn = 0; sn < 40; sn++) {
      driven.runTo(sn * 50_000L);
      driven.peerUna = sn;
      driven.receiveBatch(driven.ack(sn, TS + sn * 50));
    }
    driven.runTo(10_000_000);
    driven.sent();
    while (driven.sentSns(Segment.PUSH).isEmpty()) {
      driven.runTo(driven.nowUs + 1_000);
    }
    long retransmittedAtUs = driven.nowUs;
    driven.peerWnd = 256;
    driven.runTo(retransmittedAtUs + 10_000);
    driven.sent();
    driven.receiveBatch(driven.wins());
    driven.runTo(retransmittedAtUs + 500_000);
    assertTrue(driven.sentSns(Segment.PUSH).contains(40));
  }
}
