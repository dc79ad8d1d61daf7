package io.kcp4j.sim;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import java.io.PrintStream;
import java.util.stream.LongStream;

/**
 * Runs the simulator by hand: one seed with a trace of every datagram, or as many seeds as fit into
 * a time. Prints the seeds, the segments, each kind of fault and what the endpoints have counted;
 * exits with 1 if a seed failed.
 *
 * <pre>
 * Simulate --seconds 3600 [--first SEED] [--endpoints]
 * Simulate --seed N [--endpoints] [--trace]
 * </pre>
 */
public final class Simulate {

  /** One seed in so many also runs the endpoints. */
  private static final int ENDPOINTS_EVERY = 10;

  private static final int SEEDS_PER_ROUND = 500;

  private final boolean endpointsOnly;
  private final FaultCounts faults = new FaultCounts();
  private final KcpCounters counters = new KcpCounters();
  private long failures;
  private long pairs;
  private long endpoints;
  private long segments;
  private long retransmitted;

  private Simulate(boolean endpointsOnly) {
    this.endpointsOnly = endpointsOnly;
  }

  public static void main(String[] args) {
    long seed = -1;
    long first = 0;
    long seconds = 60;
    boolean endpointsOfSeed = false;
    boolean trace = false;
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--seed" -> seed = Long.parseLong(args[++i]);
        case "--first" -> first = Long.parseLong(args[++i]);
        case "--seconds" -> seconds = Long.parseLong(args[++i]);
        case "--endpoints" -> endpointsOfSeed = true;
        case "--trace" -> trace = true;
        default -> {
          System.err.println(
              "usage: Simulate --seconds S [--first SEED] [--endpoints]"
                  + " | --seed N [--endpoints] [--trace]");
          System.exit(2);
        }
      }
    }
    try {
      if (seed >= 0) {
        replay(seed, endpointsOfSeed, trace ? System.out : null);
      } else {
        new Simulate(endpointsOfSeed).run(first, seconds);
      }
    } catch (SimulationFailure e) {
      e.printStackTrace();
      System.exit(1);
    }
  }

  private static void replay(long seed, boolean endpoints, PrintStream trace) {
    SimulationReport report =
        endpoints
            ? Simulation.endpoints(seed, trace == null ? null : trace::println)
            : Simulation.pair(seed, trace == null ? null : trace::println);
    System.out.println(report);
  }

  private void run(long first, long seconds) {
    long endNs = System.nanoTime() + seconds * 1_000_000_000L;
    long next = first;
    while (System.nanoTime() - endNs < 0 && failures == 0) {
      LongStream.range(next, next + SEEDS_PER_ROUND).parallel().forEach(this::runSeed);
      next += SEEDS_PER_ROUND;
    }
    System.out.printf(
        "%,d pairs, %,d endpoints, seeds %d to %d: %,d failed%n",
        pairs, endpoints, first, next - 1, failures);
    System.out.printf("%,d segments, %,d retransmissions%n%s", segments, retransmitted, faults);
    System.out.println("The endpoints have counted:");
    for (KcpCounter counter : KcpCounter.values()) {
      System.out.printf("%-30s %,16d%n", counter.metricName(), counters.get(counter));
    }
    System.exit(failures == 0 ? 0 : 1);
  }

  private void runSeed(long seed) {
    try {
      if (!endpointsOnly) {
        countPair(Simulation.pair(seed, null));
      }
      if (endpointsOnly || seed % ENDPOINTS_EVERY == 0) {
        countEndpoints(Simulation.endpoints(seed, null));
      }
    } catch (SimulationFailure e) {
      failed(e);
    }
  }

  private synchronized void failed(SimulationFailure failure) {
    failures++;
    System.out.println(failure.getMessage());
  }

  private synchronized void countPair(SimulationReport pair) {
    pairs++;
    add(pair);
  }

  private synchronized void countEndpoints(SimulationReport report) {
    endpoints++;
    add(report);
    for (KcpCounter counter : KcpCounter.values()) {
      counters.add(counter, report.counters().get(counter));
    }
  }

  private void add(SimulationReport report) {
    segments += report.segmentsFromA() + report.segmentsFromB();
    retransmitted += report.retransmitted();
    faults.addAll(report.faults());
  }
}
