package io.kcp4j.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.sim.Scenario.Act;
import io.kcp4j.sim.Scenario.ActKind;
import io.kcp4j.sim.Scenario.Reading;
import io.kcp4j.sim.Scenario.Side;
import io.kcp4j.sim.Scenario.Writing;
import java.util.List;
import java.util.function.LongFunction;
import java.util.function.ToLongFunction;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Seeds in virtual time: hundreds, and thousands in the slow tests. A failure names its seed and
 * the command that replays just that one, see {@link Simulate}.
 */
class SimulatorTest {

  private static final int PAIRS = 200;
  private static final int ALL_PAIRS = 2000;
  private static final int ENDPOINTS = 50;
  private static final int ALL_ENDPOINTS = 200;
  private static final int LANES = 30;
  private static final int ALL_LANES = 2000;
  private static final int LANE_ENDPOINTS = 20;
  private static final int ALL_LANE_ENDPOINTS = 200;
  private static final int MEMORY = 8;
  private static final int ALL_MEMORY = 200;

  private static final List<KcpCounter> COUNTED_BY_ENDPOINTS =
      List.of(
          KcpCounter.ACCEPT_DEFERRED,
          KcpCounter.SESSIONS_EVICTED,
          KcpCounter.RETRIES_OUT,
          KcpCounter.STATELESS_RESETS_OUT,
          KcpCounter.ENDED_OUT,
          KcpCounter.REFUSALS_OUT,
          KcpCounter.DECRYPT_FAILED,
          KcpCounter.FEC_PARITY_OUT,
          KcpCounter.FEC_PARITY_IN,
          KcpCounter.FEC_RECOVERED,
          KcpCounter.FEC_RATIO_CHANGES,
          KcpCounter.FEC_REFUSED,
          KcpCounter.UNRELIABLE_OUT,
          KcpCounter.UNRELIABLE_IN,
          KcpCounter.UNRELIABLE_DROPPED);

  @Test
  void pairsLoseAlterReorderAndBlockNothing() {
    List<SimulationReport> reports = run(0, PAIRS, seed -> Simulation.pair(seed, null));
    FaultCounts faults = total(reports);
    for (Fault fault : Fault.values()) {
      assertTrue(faults.get(fault) > 0, "never happened: " + fault);
    }
    assertTrue(median(reports, SimulationReport::segmentsFromA) >= 500);
    assertTrue(median(reports, SimulationReport::segmentsFromB) >= 500);
  }

  @Test
  void lanesLoseAlterReorderAndBlockNothing() {
    List<SimulationReport> reports = run(0, LANES, seed -> Simulation.lanes(seed, null));
    FaultCounts faults = total(reports);
    assertTrue(faults.get(Fault.LOST) > 0);
    assertTrue(faults.get(Fault.ALLOCATION_FAILED) > 0);
    assertTrue(median(reports, SimulationReport::segmentsFromA) >= 500);
    long messages =
        reports.stream().mapToLong(r -> r.counters().get(KcpCounter.LANE_MESSAGES_IN)).sum();
    assertTrue(messages > 500L * LANES, "messages " + messages);
  }

  @Test
  void endpointsCarryLanesThroughAllLayers() {
    List<SimulationReport> reports =
        run(0, LANE_ENDPOINTS, seed -> Simulation.laneEndpoints(seed, null));
    for (KcpCounter counter :
        List.of(
            KcpCounter.LANE_MESSAGES_IN,
            KcpCounter.FEC_RECOVERED,
            KcpCounter.UNRELIABLE_IN,
            KcpCounter.UNRELIABLE_DROPPED)) {
      long counted = reports.stream().mapToLong(report -> report.counters().get(counter)).sum();
      assertTrue(counted > 0, "never counted: " + counter);
    }
  }

  @Test
  void endpointsCarryEverySessionUnalteredThroughAllLayersAndBeginNoneTwice() {
    List<SimulationReport> reports = run(0, ENDPOINTS, seed -> Simulation.endpoints(seed, null));
    FaultCounts faults = total(reports);
    assertTrue(faults.get(Fault.LOST) > 0);
    assertTrue(faults.get(Fault.DUPLICATED) > 0);
    assertTrue(faults.get(Fault.REORDERED) > 0);
    assertTrue(faults.get(Fault.CORRUPTED) > 0);
    assertTrue(faults.get(Fault.ALLOCATION_FAILED) > 0);
    for (KcpCounter counter : COUNTED_BY_ENDPOINTS) {
      long counted = reports.stream().mapToLong(report -> report.counters().get(counter)).sum();
      assertTrue(counted > 0, "never counted: " + counter);
    }
  }

  /** Without a deadlock: no session ends by a timeout, all but those ended by name are complete. */
  @Test
  void serversWithLittleMemoryBlockNothing() {
    List<SimulationReport> reports = run(0, MEMORY, seed -> Simulation.memory(seed, null));
    for (KcpCounter counter : List.of(KcpCounter.OVER_BUDGET, KcpCounter.LANE_MESSAGES_IN)) {
      long counted = reports.stream().mapToLong(report -> report.counters().get(counter)).sum();
      assertTrue(counted > 0, "never counted: " + counter);
    }
  }

  @Tag("slow")
  @Test
  void moreSeedsOfServersWithLittleMemorySucceed() {
    run(MEMORY, ALL_MEMORY, seed -> Simulation.memory(seed, null));
  }

  @Tag("slow")
  @Test
  void moreSeedsOfPairsSucceed() {
    run(PAIRS, ALL_PAIRS, seed -> Simulation.pair(seed, null));
  }

  @Tag("slow")
  @Test
  void moreSeedsOfEndpointsSucceed() {
    run(ENDPOINTS, ALL_ENDPOINTS, seed -> Simulation.endpoints(seed, null));
  }

  @Tag("slow")
  @Test
  void moreSeedsOfLanesSucceed() {
    run(LANES, ALL_LANES, seed -> Simulation.lanes(seed, null));
  }

  @Tag("slow")
  @Test
  void moreSeedsOfEndpointsWithLanesSucceed() {
    run(LANE_ENDPOINTS, ALL_LANE_ENDPOINTS, seed -> Simulation.laneEndpoints(seed, null));
  }

  /** A probe that shares a packet with a segment once counted against the amplification limit. */
  @Test
  void probeMayExceedTheLimitOfAnUnvalidatedPeerBesideASegment() {
    Simulation.endpoints(130_054, null);
  }

  @Test
  void aSeedGivesTheSameRunAgainBitForBit() {
    for (long seed = 0; seed < 10; seed++) {
      assertEquals(Simulation.pair(seed, null).digest(), Simulation.pair(seed, null).digest());
      assertEquals(
          Simulation.endpoints(seed, null).digest(), Simulation.endpoints(seed, null).digest());
    }
    assertNotEquals(Simulation.pair(1, null).digest(), Simulation.pair(2, null).digest());
  }

  /** Input that waited during the pause is taken in before timeouts count. */
  @Test
  void aPauseOfTheMachineCausesNoFalseTimeout() {
    Scenario plain = Scenario.scripted(KcpConfig.DEFAULT, 30, 400);
    List<Act> acts = List.of(new Act(ActKind.PAUSE, 200, 5000));
    Side paused =
        new Side(
            KcpConfig.DEFAULT,
            LinkProfile.clean(30),
            Long.MAX_VALUE,
            0,
            0,
            400,
            new Writing(100, 1000, 5),
            Reading.EAGER,
            acts);
    Scenario scenario = new Scenario(1, 1, 0, paused, plain.b(), 1, 0, 0);
    SimulatedPair pair = new SimulatedPair(scenario);
    pair.run();
    assertEquals(1, pair.network().faults().get(Fault.MACHINE_PAUSED));
    assertEquals(0, pair.a().kcp().counters().get(KcpCounter.RETRANSMITTED));
  }

  /** Segments without room are not acknowledged, and are retransmitted. */
  @Test
  void aSmallMemoryBudgetDelaysAndDoesNotBlock() {
    for (int budget : new int[] {40_000, 150_000}) {
      LinkProfile lossy = new LinkProfile(20, 5, 0.1, 0, 1, 0, 0.1, 20, 0, 0, 0, 0, 0);
      KcpConfig config = KcpConfig.builder().userTimeoutMs(0).build();
      Side sender =
          new Side(
              config, lossy, Long.MAX_VALUE, 0, 0, 1000, Writing.BULK, Reading.EAGER, List.of());
      Side receiver =
          new Side(config, lossy, budget, 0, 0, 0, Writing.BULK, Reading.EAGER, List.of());
      SimulatedPair pair = new SimulatedPair(new Scenario(budget, 1, 0, sender, receiver, 1, 0, 0));
      SimulationReport report = pair.run();
      assertTrue(report.segmentsFromA() >= 1000);
      assertTrue(pair.b().kcp().counters().get(KcpCounter.OVER_BUDGET) > 0, "budget " + budget);
    }
  }

  @Test
  void aCleanNetworkNeedsNoRetransmission() {
    SimulatedPair pair = new SimulatedPair(Scenario.scripted(KcpConfig.DEFAULT, 20, 2000));
    SimulationReport report = pair.run();
    assertTrue(report.segmentsFromA() >= 2000);
    assertEquals(0, report.retransmitted());
  }

  private static List<SimulationReport> run(
      int first, int end, LongFunction<SimulationReport> simulation) {
    return LongStream.range(first, end).parallel().mapToObj(simulation).toList();
  }

  private static FaultCounts total(List<SimulationReport> reports) {
    FaultCounts total = new FaultCounts();
    reports.forEach(report -> total.addAll(report.faults()));
    return total;
  }

  private static long median(
      List<SimulationReport> reports, ToLongFunction<SimulationReport> value) {
    return reports.stream()
        .mapToLong(value)
        .sorted()
        .skip(reports.size() / 2)
        .findFirst()
        .getAsLong();
  }
}
