package io.kcp4j;

import static io.kcp4j.Delivery.MESSAGE;
import static io.kcp4j.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.congestion.AckSample;
import io.kcp4j.congestion.CongestionControl;
import io.kcp4j.congestion.DeliveredTransmission;
import io.kcp4j.congestion.LossSample;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a session reports to its congestion control, and that it obeys it. */
class KcpCongestionTest {

  private static final int TS = DrivenKcp.TS_ORIGIN;

  private static final int RTT_US = 20_000;

  /** What the layers below add to a datagram. */
  private static final int OVERHEAD_BYTES = 20;

  /** Records all calls; the test sets its window and rate. */
  private static final class Recorder implements CongestionControl {

    final List<String> events = new ArrayList<>();
    AckSample lastAck;
    boolean applicationLimited;
    boolean isSelective;
    long sentBytes;
    int limited;
    int window = 100;
    long pacingBytesPerSecond;

    @Override
    public int window() {
      return window;
    }

    @Override
    public boolean isWindowSelective() {
      return isSelective;
    }

    @Override
    public long pacingBytesPerSecond() {
      return pacingBytesPerSecond;
    }

    @Override
    public void onSegmentSent(int sn, int bytes, int transmissions, long nowUs) {
      events.add("sent " + sn + " " + bytes + " x" + transmissions + " @" + nowUs);
    }

    @Override
    public void onSegmentAcknowledged(int sn, DeliveredTransmission delivered, long nowUs) {
      events.add("acknowledged " + sn + " " + delivered + " @" + nowUs);
    }

    @Override
    public void onSegmentLost(int sn, long nowUs) {
      events.add("lost " + sn + " @" + nowUs);
    }

    @Override
    public void onAck(AckSample s) {
      events.add(
          "ack rtt=%d new=%d lost=%d delivered=%d/%d flight=%d una=%b @%d"
              .formatted(
                  s.rttUs(),
                  s.acknowledgedSegments(),
                  s.lostSegments(),
                  s.deliveredSegments(),
                  s.deliveredBytes(),
                  s.inFlightSegments(),
                  s.isUnaAdvanced(),
                  s.nowUs()));
      assertTrue(lastAck == null || lastAck == s, "one sample for all");
      lastAck = s;
      applicationLimited = s.isApplicationLimited();
      sentBytes = s.sentBytes();
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
    public void onApplicationLimited() {
      limited++;
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
      counting()
          .mtuBytes(1400)
          .earlyRetransmit(false)
          .deadLink(0)
          .congestionControl(mssBytes -> control)
          .build();
  private final DrivenKcp driven = new DrivenKcp(config);

  @Test
  void everySegmentSentIsReported() {
    driven.nowUs = 5_000;
    driven.kcp.send(DrivenKcp.bytes(1376 + 10));
    driven.kcp.afterSend(5_000, driven);
    assertEquals(List.of("sent 0 1400 x1 @5000", "sent 1 34 x1 @5000"), control.take());
  }

  @Test
  void segmentsOfAContiguousRunAreReportedOneByOne() {
    driven.sendSegments(5);
    assertEquals(5, control.take().size());
  }

  @Test
  void ackAndUnaReportEachSegmentOnceAndOneSample() {
    driven.sendSegments(4);
    control.take();
    driven.nowUs = 30_000;
    driven.receiveBatch(driven.ack(2, TS));
    assertEquals(
        List.of(
            "acknowledged 2 LAST @30000",
            "ack rtt=30000 new=1 lost=0 delivered=1/1400 flight=3 una=false @30000"),
        control.take());
    driven.nowUs = 40_000;
    driven.peerUna = 3;
    driven.receiveBatch(driven.ack(2, TS), driven.wins());
    assertEquals(
        List.of(
            "acknowledged 0 LAST @40000",
            "acknowledged 1 LAST @40000",
            "ack rtt=-1 new=2 lost=0 delivered=3/4200 flight=1 una=true @40000"),
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
    control.take();
    driven.nowUs = 30_000;
    driven.kcp.input(driven.ack(0, TS), Origin.RECOVERED, 30_000);
    assertEquals(
        "ack rtt=-1 new=1 lost=0 delivered=1/1400 flight=0 una=true @30000", control.take().get(1));
  }

  @Test
  void fastRetransmitIsReportedAsALossOfTheFlush() {
    driven.sendSegments(4);
    control.take();
    driven.nowUs = 30_000;
    driven.receiveBatch(driven.ack(1, TS), driven.ack(2, TS));
    List<String> events = control.take();
    assertEquals(
        List.of(
            "lost 0 @30000",
            "sent 0 1400 x2 @30000",
            "loss acks=1 timeout=0 flight=4 window=100" + " threshold=2 @30000"),
        events.subList(3, events.size()));
    driven.receiveBatch(driven.ack(3, TS));
    assertTrue(control.take().get(1).contains(" lost=1 "));
    driven.receiveBatch(driven.ack(0, TS));
    assertTrue(control.take().get(1).contains(" lost=0 "));
  }

  @Test
  void timeoutsOfAFlushAreReportedTogether() {
    driven.acknowledged();
    driven.sendSegments(2);
    control.take();
    driven.runTo(200_000);
    assertEquals(
        List.of(
            "lost 0 @200000",
            "sent 0 1400 x2 @200000",
            "lost 1 @200000",
            "sent 1 1400 x2 @200000",
            "loss acks=0 timeout=2 flight=2 window=32 threshold=2 @200000"),
        control.take());
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
  void selectiveWindowDoesNotCountWhatIsAcknowledgedBehindAGap() {
    control.window = 3;
    control.isSelective = true;
    driven.kcp.reconfigure(config.toBuilder().congestionControl(mss -> control).build());
    driven.sendSegments(6);
    assertEquals(List.of(0, 1, 2), driven.sentSns(Segment.PUSH));
    driven.receiveBatch(driven.ack(1, TS));
    assertEquals(List.of(3), driven.sentSns(Segment.PUSH));
    assertEquals(3, driven.kcp.stats().congestionWindow());
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(List.of(4), driven.sentSns(Segment.PUSH));
  }

  @Test
  void acknowledgementTellsWhichTransmissionHasArrived() {
    driven.acknowledged();
    driven.sendSegments(3);
    driven.runTo(200_000); // All have timed out.
    assertEquals(2, driven.kcp.sender.losses.transmissions(driven.kcp.sender.buffer.index(0)));
    control.take();
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals("acknowledged 0 EARLIER @200000", control.take().get(0));
    driven.receiveBatch(driven.ack(1, TS + 200));
    assertEquals("acknowledged 1 LAST @200000", control.take().get(0));
    driven.peerUna = 3;
    driven.receiveBatch(driven.wins());
    assertEquals("acknowledged 2 LAST @200000", control.take().get(0));
  }

  @ParameterizedTest
  @ValueSource(ints = {RTT_US - 1, RTT_US})
  void retransmissionThatUnaCoversSoonerThanARoundTripTakesWasSpurious(int sinceUs) {
    Recorder control = new Recorder();
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().congestionControl(mss -> control));
    driven.sendSegments(1);
    driven.nowUs = RTT_US;
    driven.receiveBatch(driven.ack(0, TS));
    driven.sendSegments(1);
    driven.runTo(driven.kcp.nextDeadline());
    assertEquals(2, driven.kcp.sender.losses.transmissions(driven.kcp.sender.buffer.index(1)));
    control.take();
    driven.nowUs += sinceUs;
    driven.peerUna = 2;
    driven.input(driven.wins());
    String delivered = sinceUs < RTT_US ? "EARLIER" : "LAST";
    assertEquals("acknowledged 1 " + delivered + " @" + driven.nowUs, control.take().get(0));
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
    assertEquals(2 * 1400 + 500, control.sentBytes);
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
    assertEquals(2 * Segment.HEADER_BYTES + 10, control.sentBytes);
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

  @Test
  void sampleIsApplicationLimitedWhileNothingIsQueued() {
    driven.sendSegments(2);
    driven.receiveBatch(driven.ack(0, TS));
    assertTrue(control.applicationLimited);
    control.window = 2;
    driven.sendSegments(20);
    driven.receiveBatch(driven.ack(1, TS));
    assertTrue(control.applicationLimited, "sent while nothing was queued");
    for (int sn = 2; sn < 10; sn++) {
      driven.receiveBatch(driven.ack(sn, TS));
      assertFalse(control.applicationLimited);
    }
  }

  @Test
  void flushThatSendsAllThatThereIsIsReportedAsApplicationLimited() {
    control.window = 2;
    driven.sendSegments(3);
    assertEquals(0, control.limited);
    driven.receiveBatch(driven.ack(0, TS));
    assertEquals(0, control.limited, "the window is full");
    driven.receiveBatch(driven.ack(1, TS));
    driven.sendSegments(1);
    assertEquals(0, control.limited, "the window is full");
    driven.receiveBatch(driven.ack(2, TS));
    driven.kcp.flush(driven.nowUs, driven);
    assertEquals(1, control.limited);
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

  /** A peer that was short of memory has dropped what it received, and tells that it has room. */
  @Test
  void windowUpdateEndsTheBackOffOfTheRate() {
    KcpConfig.Builder config = KcpConfig.builder().mtuBytes(600).deadLink(0).progressTimeoutMs(0);
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
