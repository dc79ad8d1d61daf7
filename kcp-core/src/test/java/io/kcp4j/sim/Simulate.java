package io.kcp4j.sim;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import java.io.PrintStream;
import java.util.function.Consumer;
import java.util.stream.LongStream;

/**
 * Runs the simulator by hand: one seed with a trace of every datagram, or as many seeds as fit into
 * a time. Prints the seeds, the segments, each kind of fault and what both sides have counted;
 * exits with 1 if a seed failed.
 *
 * <pre>
 * Simulate --seconds 3600 [--first SEED] [--endpoints | --lanes | --lane-endpoints | --memory]
 * Simulate --seed N [--endpoints | --lanes | --lane-endpoints | --memory] [--trace]
 * </pre>
 */
public final class Simulate {

  /** What the seeds are for. */
  private enum Kind {
    /** Pairs, and some of the others. */
    ALL,
    ENDPOINTS,
    LANES,
    LANE_ENDPOINTS,
    MEMORY
  }

  /** One seed in so many also runs the endpoints. */
  private static final int ENDPOINTS_EVERY = 10;

  /** One seed in so many also runs a pair with lanes. */
  private static final int LANES_EVERY = 3;

  private static final int SEEDS_PER_ROUND = 500;

  private final Kind kind;
  private final FaultCounts faults = new FaultCounts();
  private final KcpCounters counters = new KcpCounters();
  private long failures;
  private long pairs;
  private long endpoints;
  private long segments;
  private long retransmitted;

  private Simulate(Kind kind) {
    this.kind = kind;
  }

  public static void main(String[] args) {
    long seed = -1;
    long first = 0;
    long seconds = 60;
    Kind kind = Kind.ALL;
    boolean trace = false;
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--seed" -> seed = Long.parseLong(args[++i]);
        case "--first" -> first = Long.parseLong(args[++i]);
        case "--seconds" -> seconds = Long.parseLong(args[++i]);
        case "--endpoints" -> kind = Kind.ENDPOINTS;
        case "--lanes" -> kind = Kind.LANES;
        case "--lane-endpoints" -> kind = Kind.LANE_ENDPOINTS;
        case "--memory" -> kind = Kind.MEMORY;
        case "--trace" -> trace = true;
        default -> {
          System.err.println(
              "usage: Simulate (--seconds S [--first SEED] | --seed N [--trace])"
                  + " [--endpoints | --lanes | --lane-endpoints | --memory]");
          System.exit(2);
        }
      }
    }
    try {
      if (seed >= 0) {
        replay(seed, kind, trace ? System.out : null);
      } else {
        new Simulate(kind).run(first, seconds);
      }
    } catch (SimulationFailure e) {
      e.printStackTrace();
      System.exit(1);
    }
  }

  private static void replay(long seed, Kind kind, PrintStream out) {
    Consumer<String> trace = out == null ? null : out::println;
    SimulationReport report =
        switch (kind) {
          case ALL -> Simulation.pair(seed, trace);
          case ENDPOINTS -> Simulation.endpoints(seed, trace);
          case LANES -> Simulation.lanes(seed, trace);
          case LANE_ENDPOINTS -> Simulation.laneEndpoints(seed, trace);
          case MEMORY -> Simulation.memory(seed, trace);
        };
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
    System.out.println("Both sides have counted:");
    for (KcpCounter counter : KcpCounter.values()) {
      System.out.printf("%-30s %,16d%n", counter.metricName(), counters.get(counter));
    }
    System.exit(failures == 0 ? 0 : 1);
  }

  private void runSeed(long seed) {
    try {
      if (kind == Kind.ALL) {
        countPair(Simulation.pair(seed, null));
      }
      if (kind == Kind.LANES || (kind == Kind.ALL && seed % LANES_EVERY == 0)) {
        countPair(Simulation.lanes(seed, null));
      }
      if (kind == Kind.LANE_ENDPOINTS || (kind == Kind.ALL && seed % ENDPOINTS_EVERY == 5)) {
        countEndpoints(Simulation.laneEndpoints(seed, null));
      }
      if (kind == Kind.MEMORY) {
        countEndpoints(Simulation.memory(seed, null));
      }
      if (kind == Kind.ENDPOINTS || (kind == Kind.ALL && seed % ENDPOINTS_EVERY == 0)) {
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
  }

  private void add(SimulationReport report) {
    segments += report.segmentsFromA() + report.segmentsFromB();
    retransmitted += report.retransmitted();
    faults.addAll(report.faults());
    for (KcpCounter counter : KcpCounter.values()) {
      counters.add(counter, report.counters().get(counter));
    }
  }
}
