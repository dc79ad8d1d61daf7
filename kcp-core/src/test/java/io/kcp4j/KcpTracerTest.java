package io.kcp4j;

import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.arq.DrivenKcp;
import io.kcp4j.internal.wire.Segment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A tracer is told of what the session sends, receives, loses and measures. */
class KcpTracerTest {

  private final Events events = new Events();

  /** A session whose retransmission timeout is 200 ms until the first round-trip time. */
  private final DrivenKcp driven =
      new DrivenKcp(counting().fastRetransmit(2).sendWindow(64).userTimeoutMs(600));

  KcpTracerTest() {
    driven.kcp.tracer(events);
  }

  @Test
  void segmentsAndTheirDatagramsAreReportedWhenTheyAreSent() {
    driven.nowUs = 7_000;
    driven.sendSegments(2);
    int bytes = driven.kcp.mssBytes();
    int datagram = bytes + Segment.HEADER_BYTES;
    assertEquals(
        List.of(
            "7000 sent 0 " + bytes + " 1",
            "7000 sent 1 " + bytes + " 1",
            "7000 state 0 0 200000 2 0"),
        events.without("datagrams"));
    assertEquals(2, events.datagramsSent);
    assertEquals(2L * datagram, events.bytesSent);
  }

  @Test
  void lossIsReportedBeforeTheRetransmissionWithItsCause() {
    driven.sendSegments(4);
    driven.nowUs = 20_000;
    events.lines.clear();
    driven.receiveBatch(
        driven.ack(1, DrivenKcp.TS_ORIGIN),
        driven.ack(2, DrivenKcp.TS_ORIGIN),
        driven.ack(3, DrivenKcp.TS_ORIGIN));
    int bytes = driven.kcp.mssBytes();
    assertEquals(
        List.of(
            "20000 received 72 NETWORK",
            "20000 acknowledged 0 3 20000",
            "20000 state 20000 10000 60000 1 0",
            "20000 lost 0 FAST_RETRANSMIT",
            "20000 sent 0 " + bytes + " 2",
            "20000 state 20000 10000 60000 1 0"),
        events.without("datagrams"));
  }

  @Test
  void acknowledgementByUnaAloneGivesNoRoundTripTime() {
    driven.sendSegments(3);
    driven.nowUs = 20_000;
    events.lines.clear();
    driven.peerUna = 2;
    driven.receiveBatch(driven.wins());
    assertEquals(
        List.of(
            "20000 received 24 NETWORK", "20000 acknowledged 2 2 -1", "20000 state 0 0 200000 1 0"),
        events.lines);
  }

  @Test
  void stateOfTheCongestionControlFollowsThatOfTheSession() {
    KcpConfig bbr =
        driven.kcp.config().toBuilder().congestionControl(CongestionControl.BBR).build();
    driven.kcp.reconfigure(bbr);
    driven.sendSegments(2);
    driven.nowUs = 20_000;
    events.lines.clear();
    driven.peerUna = 2;
    driven.receiveBatch(driven.ack(1, DrivenKcp.TS_ORIGIN));
    KcpStats.Congestion stats = driven.kcp.stats().congestion();
    assertEquals("STARTUP", stats.state());
    assertEquals(2 * 1200 * 50, stats.bandwidthBytesPerSecond());
    assertEquals("20000 congestion " + stats, events.lines.get(3));
  }

  @Test
  void sessionWithoutCongestionControlHasNoStateOfOne() {
    driven.sendSegments(1);
    assertEquals(0, events.count("congestion"));
    assertEquals(KcpStats.Congestion.NONE, driven.kcp.stats().congestion());
  }

  @Test
  void controlWithoutNamesOfStatesReportsNone() {
    driven.kcp.reconfigure(
        driven.kcp.config().toBuilder().congestionControl(CongestionControl.RENO).build());
    driven.sendSegments(1);
    assertEquals(0, events.count("congestion"));
    assertEquals(new KcpStats.Congestion("", 0, 0, 0, true), driven.kcp.stats().congestion());
  }

  @Test
  void recoveredDatagramIsReportedAsSuch() {
    driven.kcp.input(driven.wins(), Origin.RECOVERED, 3_000);
    assertEquals(List.of("3000 received 24 RECOVERED"), events.lines);
  }

  @Test
  void invalidDatagramIsNotReported() {
    driven.kcp.input(DrivenKcp.bytes(24), 3_000);
    assertEquals(List.of(), events.lines);
  }

  @Test
  void timeoutsAndTheFailureThatTheyCauseAreReportedOnce() {
    driven.sendSegments(1);
    driven.runTo(60_000_000);
    assertEquals(EndReason.USER_TIMEOUT, driven.kcp.failure());
    assertEquals(2, events.count(" lost 0 TIMEOUT"));
    assertEquals(1, events.count(" failed USER_TIMEOUT"));
    driven.kcp.flush(70_000_000, driven);
    assertEquals(1, events.count(" failed USER_TIMEOUT"));
  }

  @Test
  void eventsAgreeWithTheCounters() {
    driven.sendSegments(20);
    driven.nowUs = 30_000;
    driven.receiveBatch(
        driven.ack(3, DrivenKcp.TS_ORIGIN),
        driven.ack(5, DrivenKcp.TS_ORIGIN),
        driven.ack(6, DrivenKcp.TS_ORIGIN));
    driven.runTo(200_000);
    KcpCounters counters = driven.kcp.counters();
    assertTrue(counters.get(KcpCounter.TIMED_OUT) > 0);
    assertTrue(counters.get(KcpCounter.FAST_RETRANSMITTED) > 0);
    assertEquals(counters.get(KcpCounter.TIMED_OUT), events.count(" TIMEOUT"));
    assertEquals(counters.get(KcpCounter.FAST_RETRANSMITTED), events.count(" FAST_RETRANSMIT"));
    assertEquals(counters.get(KcpCounter.SEGMENTS_OUT), events.count(" sent "));
    assertEquals(counters.get(KcpCounter.DATAGRAMS_OUT), events.datagramsSent);
    assertEquals(counters.get(KcpCounter.BYTES_OUT), events.bytesSent);
  }

  @Test
  void closingIsTheLastEvent() {
    driven.sendSegments(1);
    driven.kcp.close();
    driven.kcp.close();
    assertEquals(1, events.closed);
    driven.kcp.flush(10_000_000, driven);
    assertEquals(1, events.count(" sent "));
  }

  @Test
  void nothingIsReportedOnceTheTracerIsTakenAway() {
    driven.kcp.tracer(null);
    assertEquals(1, events.closed);
    driven.sendSegments(2);
    driven.nowUs = 20_000;
    driven.receiveBatch(driven.ack(0, DrivenKcp.TS_ORIGIN));
    assertEquals(List.of(), events.lines);
    assertEquals(0, events.datagramsSent);
  }

  /** One line for each event. */
  private static final class Events implements KcpTracer {

    final List<String> lines = new ArrayList<>();
    long datagramsSent;
    long bytesSent;
    int closed;

    long count(String part) {
      return lines.stream().filter(line -> line.contains(part)).count();
    }

    List<String> without(String part) {
      return lines.stream().filter(line -> !line.contains(part)).toList();
    }

    @Override
    public void datagramsSent(long nowUs, int datagrams, int bytesEach) {
      lines.add(nowUs + " datagrams " + datagrams + " " + bytesEach);
      datagramsSent += datagrams;
      bytesSent += (long) datagrams * bytesEach;
    }

    @Override
    public void datagramReceived(long nowUs, int bytes, Origin origin) {
      lines.add(nowUs + " received " + bytes + " " + origin);
    }

    @Override
    public void segmentSent(long nowUs, int sn, int payloadBytes, int transmission) {
      lines.add(nowUs + " sent " + sn + " " + payloadBytes + " " + transmission);
    }

    @Override
    public void segmentLost(long nowUs, int sn, LossCause cause) {
      lines.add(nowUs + " lost " + sn + " " + cause);
    }

    @Override
    public void acknowledged(long nowUs, int una, int segments, int rttUs) {
      lines.add(nowUs + " acknowledged " + una + " " + segments + " " + rttUs);
    }

    @Override
    public void stateUpdated(
        long nowUs,
        int srttUs,
        int rttVarUs,
        int rtoUs,
        int congestionWindow,
        int remoteWindow,
        int inFlight,
        int queued) {
      lines.add(
          nowUs + " state " + srttUs + " " + rttVarUs + " " + rtoUs + " " + inFlight + " "
              + queued);
    }

    @Override
    public void congestionUpdated(
        long nowUs,
        String state,
        long pacingBytesPerSecond,
        long bandwidthBytesPerSecond,
        int queueUs,
        boolean isApplicationLimited) {
      lines.add(
          nowUs
              + " congestion "
              + new KcpStats.Congestion(
                  state,
                  pacingBytesPerSecond,
                  bandwidthBytesPerSecond,
                  queueUs,
                  isApplicationLimited));
    }

    @Override
    public void closed() {
      closed++;
    }

    @Override
    public void failed(long nowUs, EndReason failure) {
      lines.add(nowUs + " failed " + failure);
    }
  }
}
