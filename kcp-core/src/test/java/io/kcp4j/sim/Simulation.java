package io.kcp4j.sim;

import java.util.function.Consumer;

/** Runs one seed, and names the command that replays it if it fails. */
public final class Simulation {

  private Simulation() {}

  /** Runs the pair of a seed. */
  public static SimulationReport pair(long seed, Consumer<String> trace) {
    return run("pair", seed, () -> new SimulatedPair(Scenario.draw(seed)).trace(trace).run());
  }

  /** Runs the pair of a seed, which has lanes. */
  public static SimulationReport lanes(long seed, Consumer<String> trace) {
    return run("lanes", seed, () -> new SimulatedPair(Scenario.drawLanes(seed)).trace(trace).run());
  }

  /** Runs the endpoints of a seed. */
  public static SimulationReport endpoints(long seed, Consumer<String> trace) {
    return run("endpoints", seed, () -> new SimulatedEndpoints(seed).trace(trace).run());
  }

  /** Runs the endpoints of a seed, most of whose sessions have lanes. */
  public static SimulationReport laneEndpoints(long seed, Consumer<String> trace) {
    return run(
        "lane-endpoints", seed, () -> new SimulatedEndpoints(seed).withLanes().trace(trace).run());
  }

  /** Runs the endpoints of a seed, whose server is short of memory. */
  public static SimulationReport memory(long seed, Consumer<String> trace) {
    return run(
        "memory", seed, () -> new SimulatedEndpoints(seed).withLittleMemory().trace(trace).run());
  }

  private interface Run {
    SimulationReport run();
  }

  private static SimulationReport run(String kind, long seed, Run run) {
    try {
      return run.run();
    } catch (RuntimeException | AssertionError e) {
      String replay = "Simulate --seed " + seed + (kind.equals("pair") ? "" : " --" + kind);
      throw new SimulationFailure(
          kind
              + ", seed "
              + seed
              + ": "
              + e.getMessage()
              + "\nReplay it with: "
              + replay
              + " --trace",
          e);
    }
  }
}
