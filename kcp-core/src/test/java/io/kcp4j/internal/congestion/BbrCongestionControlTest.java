package io.kcp4j.internal.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.internal.arq.SimulatedPath;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** BBR alone, on a path that is modelled in a few lines. The lab measures it within sessions. */
class BbrCongestionControlTest {

  private static final double RATE = 2.5e6;

  private static final int RTT_US = 40_000;

  private static final double BDP = RATE * RTT_US / 1e6;

  private final CongestionControl bbr = CongestionControl.BBR.create(SimulatedPath.MSS_BYTES);
  private final SimulatedPath path = new SimulatedPath(bbr, RATE, RTT_US);

  /** The states while so much time passes, each once for each time that it is entered. */
  private List<String> statesOf(int ms) {
    List<String> states = new ArrayList<>(List.of(bbr.state()));
    for (int i = 0; i < ms; i++) {
      path.run(1);
      if (!bbr.state().equals(states.get(states.size() - 1))) {
        states.add(bbr.state());
      }
    }
    return states;
  }

  /** What is delivered in so much time, as a share of what rate and losses leave. */
  private double utilization(int ms) {
    long before = path.delivered();
    path.run(ms);
    double available = path.bytesPerSecond * (1 - path.loss) * ms / 1e3;
    return (path.delivered() - before) / available;
  }

  @Test
  void statesFollowOneAnother() {
    List<String> states = statesOf(3_000);
    assertEquals(List.of("STARTUP", "DRAIN", "DOWN", "CRUISE"), states.subList(0, 4));
    Set<String> later = new LinkedHashSet<>(states.subList(2, states.size()));
    assertEquals(Set.of("DOWN", "CRUISE", "REFILL", "UP"), later);
    assertEquals("UP", states.get(states.indexOf("REFILL") + 1));
  }

  @ParameterizedTest
  @CsvSource({"125000,80000", "2500000,40000", "2500000,200000", "125000000,10000"})
  void pathIsFilledWithoutAQueueThatStands(double bytesPerSecond, int rttUs) {
    path.bytesPerSecond = bytesPerSecond;
    path.rttUs = rttUs;
    path.run(5_000);
    double queueUs = 0;
    long before = path.delivered();
    for (int ms = 0; ms < 10_000; ms++) {
      path.run(1);
      queueUs += path.queueUs() / 10_000;
    }
    double share = (path.delivered() - before) / (bytesPerSecond * 10);
    assertTrue(share >= 0.95, "share " + share);
    assertTrue(queueUs <= Math.max(rttUs / 4.0, 15_000), "queue " + queueUs);
    assertEquals(bytesPerSecond, (double) bbr.bandwidthBytesPerSecond(), 0.05 * bytesPerSecond);
  }

  @Test
  void windowOnAVeryShortPathIsThatOfAMillisecond() {
    path.bytesPerSecond = 125e6;
    path.rttUs = 100;
    path.stepUs = 20;
    path.run(2_000);
    int segments = (int) (path.bytesPerSecond / 1e3 / SimulatedPath.SEGMENT_BYTES);
    assertTrue(path.window() >= segments, "window " + path.window());
    assertTrue(path.queueUs() <= 1_000, "queue " + path.queueUs());
  }

  @ParameterizedTest
  @ValueSource(doubles = {0.01, 0.05, 0.1})
  void randomLossDoesNotLowerTheRate(double loss) {
    path.loss = loss;
    path.run(5_000);
    double share = utilization(20_000);
    assertTrue(share >= 0.9, "share " + share);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0.25, 0.5, 1, 10})
  void queuesOfAnySizeDropLittle(double bdps) {
    path.queueBytes = (long) (bdps * BDP);
    path.run(5_000);
    long before = path.dropped();
    double share = utilization(20_000);
    double droppedShare = (path.dropped() - before) * 1400 / (RATE * 20);
    assertTrue(share >= 0.9, "share " + share);
    assertTrue(droppedShare <= 0.02, "dropped " + droppedShare);
  }

  /** The higher rate is remembered for two cycles; until then each probe makes a queue of it. */
  @Test
  void halfTheRateIsFollowedWithinTwoSecondsWithoutALongQueue() {
    path.run(5_000);
    path.bytesPerSecond = RATE / 2;
    double longestUs = 0;
    double meanUs = 0;
    long before = 0;
    for (int ms = 0; ms < 4_000; ms++) {
      path.run(1);
      longestUs = Math.max(longestUs, path.queueUs());
      if (ms == 2_000) {
        before = path.delivered();
      } else if (ms > 2_000) {
        meanUs += path.queueUs() / 2_000;
      }
    }
    double share = (path.delivered() - before) / (2 * path.bytesPerSecond);
    assertTrue(longestUs <= 3 * RTT_US, "queue " + longestUs);
    assertTrue(meanUs <= RTT_US, "queue " + meanUs);
    assertTrue(share >= 0.9, "share " + share);
  }

  @Test
  void doubledRateIsFoundWithinTwoSeconds() {
    path.run(5_000);
    path.bytesPerSecond = 2 * RATE;
    path.run(1_500);
    double share = utilization(500);
    assertTrue(share >= 0.8, "share " + share);
  }

  /** Rates of an application that has little to send are no measure of the path. */
  @Test
  void bandwidthIsKeptWhileTheApplicationHasLittleToSend() {
    path.bytesPerSecond = 10 * RATE;
    path.run(5_000);
    path.segmentsPerStep = 1; // a twentieth of the bandwidth
    path.run(20_000);
    path.segmentsPerStep = Integer.MAX_VALUE;
    path.run(200);
    double share = utilization(500);
    assertTrue(share >= 0.9, "share " + share);
  }

  /** What an application has sent that had little to send is only the least that the path takes. */
  @Test
  void firstBurstIsPacedAsAtTheBeginningThoughLittleWasSentBefore() {
    path.rttUs = 200_000;
    path.segmentsPerStep = 1;
    path.run(1);
    path.segmentsPerStep = 0;
    path.run(250);
    double expected = 2.77 * 0.99 * 32 * SimulatedPath.SEGMENT_BYTES / 0.2;
    assertEquals(expected, (double) bbr.pacingBytesPerSecond(), 0.01 * expected);
  }

  private double segmentsPerSecond() {
    return (double) bbr.pacingBytesPerSecond() / SimulatedPath.SEGMENT_BYTES;
  }

  /** After the peer had had no memory, it never sent more than two segments in two seconds. */
  @Test
  void rateIsAtLeastFourSegmentsInARoundTrip() {
    path.bytesPerSecond = 10 * SimulatedPath.SEGMENT_BYTES;
    path.run(20_000);
    while (!bbr.state().equals("CRUISE")) {
      path.run(1);
    }
    assertTrue(bbr.bandwidthBytesPerSecond() < 12 * SimulatedPath.SEGMENT_BYTES);
    assertTrue(segmentsPerSecond() > 14, segmentsPerSecond() + " a second"); // The queue is short.
  }

  @Test
  void rateIsThatOfTheBeginningWhenThePeerHasMemoryAgain() {
    path.bytesPerSecond = RATE / 10;
    path.run(5_000);
    double before = segmentsPerSecond();
    path.windowUpdate();
    assertTrue(segmentsPerSecond() > 2 * before, segmentsPerSecond() + " a second");
    path.run(1_000);
    assertTrue(segmentsPerSecond() < 2 * before, segmentsPerSecond() + " a second");
  }

  /** It is sent again first, and is as little as the rate of before allowed for. */
  @Test
  void rateOfTheBeginningLastsUntilWhatWasInFlightHasArrived() {
    path.bytesPerSecond = RATE / 10;
    path.run(5_000);
    double before = segmentsPerSecond();
    path.loss = 1;
    path.run(1_000);
    path.loss = 0;
    path.windowUpdate();
    long delivered = path.delivered();
    path.run(80);
    assertTrue(path.delivered() > delivered, "samples");
    assertTrue(segmentsPerSecond() > 2 * before, segmentsPerSecond() + " a second");
  }

  @Test
  void roundLowersTheBandwidthByAtMostThirtyPercent() {
    path.queueBytes = (long) (BDP / 2);
    path.run(5_000);
    path.bytesPerSecond = RATE / 5;
    double least = 1;
    for (int ms = 0; ms < 1_000; ms++) {
      double before = bbr.bandwidthBytesPerSecond();
      path.run(1);
      least = Math.min(least, bbr.bandwidthBytesPerSecond() / before);
    }
    assertTrue(least < 1 && least >= 0.69, "bandwidth " + least);
  }

  /** The first round trip afterwards is as long as the pause. */
  @Test
  void probeRttIsShortAfterAPauseOfTheHost() {
    path.run(5_000);
    path.foreignQueueUs = 8_000_000;
    path.run(60);
    path.foreignQueueUs = 0;
    path.run(8_050);
    int probing = 0;
    for (int ms = 0; ms < 8_000; ms++) {
      path.run(1);
      probing += bbr.state().equals("PROBE_RTT") ? 1 : 0;
    }
    assertTrue(probing > 0 && probing <= 1_300, "PROBE_RTT for " + probing + " ms");
  }

  @Test
  void timeoutsBeforeTheFirstRoundTripDoNotLowerTheRateAtOnce() {
    long before = bbr.pacingBytesPerSecond();
    path.lostByTimeout = 1;
    for (int i = 0; i < 7; i++) {
      bbr.onLoss(path);
    }
    assertEquals(before, bbr.pacingBytesPerSecond());
  }

  @Test
  void longerPathIsNotAQueueForLong() {
    path.run(10_000);
    path.rttUs = 3 * RTT_US;
    path.run(10_000);
    double share = utilization(10_000);
    assertTrue(share >= 0.9, "share " + share);
  }

  /** Yielding to it would not make it go away. */
  @Test
  void queueOfAnotherSenderIsNotYieldedTo() {
    path.run(10_000);
    path.foreignQueueUs = 80_000;
    path.run(5_000);
    double share = utilization(10_000);
    assertTrue(share >= 0.9, "share " + share);
  }

  /** What losses have bound must not bind for ever only because the queue always stands. */
  @Test
  void queueOfAnotherSenderDoesNotKeepTheBoundOfLosses() {
    path.queueBytes = (long) (BDP / 4);
    path.run(10_000);
    path.queueBytes = Long.MAX_VALUE;
    path.foreignQueueUs = 160_000;
    path.run(15_000);
    double share = utilization(10_000);
    assertTrue(share >= 0.85, "share " + share);
  }

  /** Round trips that are all as long may contain our own part of the queue. */
  @Test
  void shortestRoundTripIsProbedBesideTheQueueOfAnotherSender() {
    path.run(5_000);
    path.foreignQueueUs = 30_000;
    path.run(10_000);
    int probes = Collections.frequency(statesOf(11_000), "PROBE_RTT");
    assertTrue(probes >= 2, "probes " + probes);
  }

  @Test
  void probeRttKeepsNoQueueOfItsOwn() {
    path.run(5_000);
    path.foreignQueueUs = 80_000;
    int smallest = Integer.MAX_VALUE;
    for (int ms = 0; ms < 15_000; ms++) {
      path.run(1);
      if (bbr.state().equals("PROBE_RTT")) {
        smallest = Math.min(smallest, path.window() * SimulatedPath.SEGMENT_BYTES);
      }
    }
    assertTrue(smallest <= 0.6 * BDP, "window " + smallest / BDP);
  }

  /** No queue is standing: that of the other sender leaves the probe little room. */
  @Test
  void lossesOfAProbeBesideAShortQueueBoundTheWindow() {
    path.run(5_000);
    path.foreignQueueUs = 6_000;
    path.queueBytes = (long) (BDP / 16);
    path.run(5_000);
    int largest = 0;
    for (int ms = 0; ms < 5_000; ms++) {
      path.run(1);
      if (bbr.state().equals("CRUISE")) {
        largest = Math.max(largest, path.window() * 1_400);
      }
    }
    assertTrue(largest <= 1.35 * BDP, "window " + largest / BDP);
  }

  /** How often it probes for more in ten seconds. */
  private int probes() {
    return Collections.frequency(statesOf(10_000), "REFILL");
  }

  @Test
  void probesAreRarerWhereOthersShareThePath() {
    path.run(5_000);
    int alone = probes();
    path.otherBytesPerSecond = 0.3 * RATE;
    path.run(5_000);
    int beside = probes();
    path.otherBytesPerSecond = 0;
    path.run(10_000);
    int aloneAgain = probes();
    assertTrue(alone >= 9, "alone " + alone);
    assertTrue(beside <= 5, "beside " + beside);
    assertTrue(aloneAgain >= 9, "alone again " + aloneAgain);
  }

  /** It may be our own, and probes that come late leave a path unused that has become faster. */
  @Test
  void queueDoesNotDeferTheNextProbe() {
    path.run(5_000);
    int probes = 0;
    for (int second = 0; second < 10; second++) {
      path.foreignQueueUs = 20_000;
      List<String> states = new ArrayList<>(statesOf(300));
      path.foreignQueueUs = 0;
      states.addAll(statesOf(700));
      probes += Collections.frequency(states, "REFILL");
    }
    assertTrue(probes >= 8, "probes " + probes);
  }

  @Test
  void probeThatHasFoundRoomIsFollowedByAnotherAtOnce() {
    path.run(5_000);
    path.bytesPerSecond = 4 * RATE;
    List<String> states = statesOf(1_200);
    String later = String.join(" ", states);
    assertTrue(later.contains("UP DOWN REFILL UP"), later);
    double share = utilization(500);
    assertTrue(share >= 0.9, "share " + share);
  }

  @Test
  void cruiseLeavesHeadroomBesideTheQueueOfAnother() {
    path.run(5_000);
    path.queueBytes = (long) (BDP / 3);
    path.foreignQueueUs = 20_000;
    path.run(10_000);
    int cruise = 0;
    for (int ms = 0; ms < 5_000 && !(cruise > 0 && bbr.state().equals("REFILL")); ms++) {
      cruise = bbr.state().equals("CRUISE") ? path.window() : cruise;
      path.run(1);
    }
    assertEquals("REFILL", bbr.state());
    assertTrue(cruise <= 0.95 * path.window(), cruise + " and " + path.window());
  }

  @Test
  void pathIsFullThoughProbesOverflowAShortQueue() {
    path.queueBytes = (long) (BDP / 5);
    path.run(5_000);
    double share = utilization(10_000);
    assertTrue(share >= 0.96, "share " + share);
  }

  @Test
  void controlsHaveNames() {
    assertSame(CongestionControl.NONE, CongestionControl.factory("none"));
    assertSame(CongestionControl.RENO, CongestionControl.factory("reno"));
    assertSame(CongestionControl.BBR, CongestionControl.factory("bbr"));
    assertThrows(IllegalArgumentException.class, () -> CongestionControl.factory("BBR"));
  }

  @Test
  void windowIsThatOfThirtyTwoSegmentsAtFirst() {
    assertTrue(bbr.usesDeliveryRate());
    assertEquals(32 * SimulatedPath.SEGMENT_BYTES, bbr.windowBytes());
  }

  @Test
  void firstSegmentsArePacedAsOnAPathOfFiftyMilliseconds() {
    assertEquals(2.77 * 0.99 * 32 * 1_400 / 0.05, (double) bbr.pacingBytesPerSecond(), 1);
    assertEquals(0, bbr.bandwidthBytesPerSecond());
  }

  @Test
  void otherSegmentSizeChangesTheWindowInSegments() {
    path.run(5_000);
    int before = path.window();
    path.changeMss(SimulatedPath.MSS_BYTES / 2);
    assertTrue(path.window() > before, "window " + path.window());
  }
}
