package io.kcp4j.lab;

import java.util.ArrayList;
import java.util.List;

/** Runs flows over one bottleneck. */
final class CongestionRun {

  /** How often the progress of the flows is noted. */
  static final int STEP_US = 10_000;

  private static final long US_PER_S = 1_000_000;

  /**
   * A flow and when it starts.
   *
   * @param name what it is called in results
   */
  record Start(String name, long atUs, CongestionFlow.Factory factory) {}

  /** A flow while it runs. */
  private static final class Running {

    final Start start;
    final CongestionFlow flow;
    final TimeSeries bytes;
    CellResult.Direction before;

    Running(Start start, CongestionFlow flow, int steps) {
      this.start = start;
      this.flow = flow;
      bytes = new TimeSeries(steps);
    }

    CongestionResult.Flow result() {
      CellResult.Direction direction = flow.direction();
      CellResult.Direction measured = direction == null ? null : direction.since(before);
      return new CongestionResult.Flow(
          start.name(), bytes, flow.overhead(), measured, flow.latencies());
    }
  }

  private final CongestionWorld world;
  private final List<Running> flows = new ArrayList<>();
  private final TimeSeries waitsUs;
  private final long fromUs;
  private final long endUs;
  private int steps;

  private CongestionRun(
      CongestionPath path, List<Start> starts, int fromSeconds, int seconds, long seed) {
    world = CongestionWorld.of(path, seed);
    fromUs = fromSeconds * US_PER_S;
    endUs = seconds * US_PER_S;
    int allSteps = (int) (endUs / STEP_US);
    waitsUs = new TimeSeries(allSteps);
    for (Start start : starts) {
      Running running = new Running(start, start.factory().create(world), allSteps);
      flows.add(running);
      world.time().at(start.atUs(), running.flow::start);
    }
  }

  /**
   * Runs flows.
   *
   * @param fromSeconds what is sent before is not measured
   * @param seconds how long the run takes
   */
  static CongestionResult run(
      CongestionPath path, List<Start> starts, int fromSeconds, int seconds, long seed) {
    return new CongestionRun(path, starts, fromSeconds, seconds, seed).run();
  }

  private CongestionResult run() {
    world.time().at(0, this::step);
    world.time().runUntil(fromUs);
    Bottleneck up = world.up();
    up.measureWaits();
    long offered = up.offered();
    long dropped = up.dropped();
    for (Running running : flows) {
      running.before = running.flow.direction();
    }
    world.time().runUntil(endUs);
    flows.forEach(running -> running.flow.close());
    return new CongestionResult(
        world.path(),
        fromUs,
        endUs,
        flows.stream().map(Running::result).toList(),
        waitsUs,
        up.waits(),
        up.offered() - offered,
        up.dropped() - dropped);
  }

  private void step() {
    waitsUs.set(steps, world.up().waitUs(world.time().nowUs()));
    for (Running running : flows) {
      running.bytes.set(steps, running.flow.bytes());
    }
    steps++;
    if (steps < waitsUs.steps()) {
      world.time().at((long) steps * STEP_US, this::step);
    }
  }
}
