package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

/** A session that writes one event in two seconds, over a path whose round-trip time changes. */
class KcpThinTest {

  private static final int SHORT_US = 40_000;
  private static final int LONG_US = 340_000;
  private static final int SECOND_US = 1_000_000;
  private static final int EVENT_DISTANCE_US = 2 * SECOND_US;

  private final DrivenKcp driven = new DrivenKcp(KcpConfig.builder().build());
  private final Queue<Arrival> arrivals = new ArrayDeque<>();
  private final List<Long> challengesAtUs = new ArrayList<>();
  private int rttUs = SHORT_US;

  /** An acknowledgement, and when it arrives. */
  private record Arrival(long atUs, SentSegment acknowledged) {}

  /** Takes what was sent: each PUSH is acknowledged a round trip later. */
  private void takeSent() {
    for (SentSegment sent : driven.sent()) {
      if (sent.cmd() == Segment.PUSH) {
        arrivals.add(new Arrival(driven.nowUs + rttUs, sent));
        if (sent.payload().readableBytes() == 0) {
          challengesAtUs.add(driven.nowUs);
        }
      }
    }
  }

  private void receive(SentSegment acknowledged) {
    if (acknowledged.payload().readableBytes() > 0) {
      driven.peerUna = acknowledged.sn() + 1;
    }
    driven.receiveBatch(driven.ack(acknowledged.sn(), acknowledged.ts()));
  }

  private void runTo(long untilUs) {
    while (true) {
      long arrivalUs = arrivals.isEmpty() ? Long.MAX_VALUE : arrivals.peek().atUs();
      long nextUs = Math.min(arrivalUs, driven.kcp.nextDeadline());
      if (nextUs > untilUs) {
        break;
      }
      driven.runTo(Math.max(nextUs, driven.nowUs));
      takeSent();
      if (arrivalUs <= driven.nowUs) {
        receive(arrivals.remove().acknowledged());
        takeSent();
      }
    }
    driven.runTo(untilUs);
  }

  private void event() {
    driven.sendSegments(1);
    takeSent();
  }

  private void events(int seconds) {
    long endUs = driven.nowUs + (long) seconds * SECOND_US;
    while (driven.nowUs < endUs) {
      event();
      runTo(driven.nowUs + EVENT_DISTANCE_US);
    }
  }

  /** Five seconds after the path has changed, at any time between two events. */
  private void assertFollowsStep(int fromUs, int toUs) {
    rttUs = fromUs;
    events(20);
    for (int i = 0; i < 8; i++) {
      event();
      runTo(driven.nowUs + i * EVENT_DISTANCE_US / 8);
      long stepAtUs = driven.nowUs;
      arrivals.clear(); // They would arrive out of order.
      rttUs = toUs;
      while (driven.nowUs < stepAtUs + 5 * SECOND_US) {
        runTo(driven.nowUs + EVENT_DISTANCE_US / 8);
        if ((driven.nowUs - stepAtUs) % EVENT_DISTANCE_US == 0) {
          event();
        }
      }
      assertEquals(toUs, driven.kcp.srttUs(), toUs / 4.0);
      int timeoutUs = driven.kcp.probeTimeoutUs();
      int mostUs = toUs + 4 * driven.kcp.rttVarUs() + driven.kcp.config().intervalMs() * 1_000;
      assertTrue(timeoutUs <= mostUs + toUs / 4, timeoutUs + " (expected: at most " + mostUs + ")");
      rttUs = fromUs;
      events(20);
    }
  }

  @Test
  void shorterPathIsKnownAfterFiveSeconds() {
    assertFollowsStep(LONG_US, SHORT_US);
  }

  @Test
  void longerPathIsKnownAfterFiveSeconds() {
    assertFollowsStep(SHORT_US, LONG_US);
  }

  @Test
  void slowFirstSecondIsForgotten() {
    rttUs = LONG_US;
    event();
    runTo(SECOND_US);
    rttUs = SHORT_US;
    runTo(EVENT_DISTANCE_US);
    events(18);
    int timeoutUs = driven.kcp.probeTimeoutUs();
    assertTrue(timeoutUs <= 2 * SHORT_US + 60_000, "timeout: " + timeoutUs);
  }

  @Test
  void timeoutFollowsTheAnswerToAProbe() {
    rttUs = LONG_US;
    events(20);
    rttUs = SHORT_US;
    event();
    runTo(driven.nowUs + EVENT_DISTANCE_US);
    assertEquals(SHORT_US, driven.kcp.srttUs());
    assertTrue(driven.kcp.probeTimeoutUs() >= SHORT_US + 4 * driven.kcp.rttVarUs());
  }

  /** Somebody has held it back. No sample exceeds 60 s. */
  @Test
  void answerThatComesAnHourLateIsASampleOfAMinute() {
    events(20);
    arrivals.clear();
    rttUs = Integer.MAX_VALUE;
    runTo(driven.nowUs + 5 * SECOND_US);
    SentSegment challenge = arrivals.remove().acknowledged();
    runTo(driven.nowUs + 3_600L * SECOND_US - 1);
    receive(challenge);
    assertEquals(60 * SECOND_US, driven.kcp.srttUs());
    assertEquals(60 * SECOND_US, driven.kcp.probeTimeoutUs());
  }

  @Test
  void probesAreAtMostOneInASecond() {
    events(60);
    assertTrue(challengesAtUs.size() >= 28, "probes: " + challengesAtUs.size());
    assertTrue(challengesAtUs.size() <= 30, "probes: " + challengesAtUs.size());
    for (int i = 1; i < challengesAtUs.size(); i++) {
      assertTrue(challengesAtUs.get(i) - challengesAtUs.get(i - 1) >= SECOND_US);
    }
  }

  @Test
  void noProbesFiveSecondsAfterTheLastWrite() {
    events(20);
    long writtenAtUs = driven.nowUs - EVENT_DISTANCE_US;
    runTo(driven.nowUs + 60 * SECOND_US);
    long last = challengesAtUs.get(challengesAtUs.size() - 1);
    assertTrue(last - writtenAtUs < 5 * SECOND_US);
    assertTrue(last - writtenAtUs >= 3 * SECOND_US);
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
  }

  @Test
  void noProbesWhileSegmentsGiveSamples() {
    for (int i = 0; i < 200; i++) {
      event();
      runTo(driven.nowUs + SECOND_US / 5);
    }
    assertEquals(0, challengesAtUs.size());
  }

  /** Without a write, the peer pays for what it wants to know. */
  @Test
  void noProbesOfASessionThatOnlyReceives() {
    events(2);
    runTo(driven.nowUs + 10 * SECOND_US);
    challengesAtUs.clear();
    for (int i = 0; i < 20; i++) {
      driven.receiveBatch(driven.push(i, DrivenKcp.bytes(10)));
      driven.receiveAll();
      runTo(driven.nowUs + SECOND_US);
    }
    assertEquals(0, challengesAtUs.size());
  }

  /** A probe is sent with acknowledgements that leave anyway. */
  @Test
  void probeSharesADatagramWithAcknowledgements() {
    events(4);
    event();
    runTo(driven.nowUs + 1_100_000);
    int before = challengesAtUs.size();
    driven.receiveBatch(driven.push(0, DrivenKcp.bytes(10)));
    driven.receiveAll();
    long atUs = driven.nowUs;
    driven.runTo(driven.kcp.nextDeadline());
    assertTrue(driven.nowUs - atUs < 20_000, "the flush of the acknowledgement");
    List<Integer> sent =
        driven.sentDatagrams().stream().map(d -> SentSegment.in(d).size()).toList();
    assertEquals(List.of(2), sent);
    assertEquals(before, challengesAtUs.size());
  }

  /** An answer that waited in the buffer of the socket while this process stopped is no sample. */
  @Test
  void answerThatWaitedIsNoSample() {
    events(20);
    event();
    int before = challengesAtUs.size();
    while (challengesAtUs.size() == before) {
      runTo(driven.nowUs + 10_000);
      assertTrue(driven.nowUs < 60L * SECOND_US, "no challenge leaves");
    }
    event();
    assertTrue(driven.kcp.nextDeadline() < driven.nowUs + SECOND_US, "the driver asks");
    driven.nowUs += SECOND_US;
    receive(arrivals.remove().acknowledged());
    assertEquals(SHORT_US, driven.kcp.srttUs(), SHORT_US / 4.0);
  }
}
