package io.kcp4j.sim;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.wire.Segment;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.zip.CRC32C;

/**
 * Two sessions that send each other data through a {@link SimulatedNetwork}, as a {@link Scenario}
 * specifies. A run ends when no event is left: both sides have sent and read everything and have no
 * timer.
 */
public final class SimulatedPair {

  /** The network heals at the latest after this time, whatever has been sent until then. */
  private static final long HEALED_AT_THE_LATEST_US = 300_000_000;

  /** Two of the longest timeouts: how long a side may wait after the network has healed. */
  private static final long LONGEST_SLEEP_US = 120_000_000;

  private final Scenario scenario;
  private final VirtualTime time = new VirtualTime();
  private final SimulatedNetwork network;
  private final SimulatedPeer a;
  private final SimulatedPeer b;
  private final CRC32C digest = new CRC32C();
  private long healedAtUs = -1;

  /** Makes the pair; nothing happens before {@link #run}. */
  public SimulatedPair(Scenario scenario) {
    this.scenario = scenario;
    SplittableRandom random = new SplittableRandom(scenario.seed() ^ 0x5eed);
    network = new SimulatedNetwork(time, random.split());
    a = new SimulatedPeer("A", scenario, scenario.a(), time, network, random.split());
    b = new SimulatedPeer("B", scenario, scenario.b(), time, network, random.split());
    a.connect(b, this::record);
    b.connect(a, this::record);
  }

  /** One side. */
  public SimulatedPeer a() {
    return a;
  }

  /** The other side. */
  public SimulatedPeer b() {
    return b;
  }

  /** The virtual time, for scripts. */
  public VirtualTime time() {
    return time;
  }

  /** The network between the two, for scripts. */
  public SimulatedNetwork network() {
    return network;
  }

  /**
   * Reports every datagram and every act as one line, which begins with the time in microseconds.
   */
  public SimulatedPair trace(Consumer<String> trace) {
    a.trace(trace);
    b.trace(trace);
    return this;
  }

  /**
   * Runs to the end.
   *
   * @throws AssertionError if a check fails
   */
  public SimulationReport run() {
    return run(() -> {});
  }

  /** Runs to the end, and calls {@code afterEachEvent} after each event. */
  public SimulationReport run(Runnable afterEachEvent) {
    time.at(0, a::turn);
    time.at(0, b::turn);
    while (time.step()) {
      healWhenItIsTime();
      afterEachEvent.run();
      if (time.nowUs() > latestEndUs()) {
        throw new AssertionError("not done in time: " + unfinished());
      }
    }
    if (unfinished() != null) {
      throw new AssertionError("stuck: " + unfinished());
    }
    a.finish();
    b.finish();
    checkFaults(scenario.a(), a.link());
    checkFaults(scenario.b(), b.link());
    return new SimulationReport(
        a.wire().newSegments(),
        b.wire().newSegments(),
        a.wire().retransmitted() + b.wire().retransmitted(),
        time.nowUs(),
        digest.getValue(),
        counters(),
        network.faults());
  }

  private KcpCounters counters() {
    KcpCounters counters = new KcpCounters();
    for (KcpCounter counter : KcpCounter.values()) {
      counters.add(counter, a.kcp().counters().get(counter) + b.kcp().counters().get(counter));
    }
    return counters;
  }

  private void record(byte[] datagram) {
    for (int shift = 0; shift < Long.SIZE; shift += 8) {
      digest.update((int) (time.nowMs() >>> shift));
    }
    digest.update(datagram);
  }

  private void healWhenItIsTime() {
    boolean enoughSent = a.hasSent(scenario.healAt()) && b.hasSent(scenario.healAt());
    if (healedAtUs < 0 && (enoughSent || time.nowUs() > HEALED_AT_THE_LATEST_US)) {
      network.heal();
      healedAtUs = time.nowUs();
    }
  }

  private long latestEndUs() {
    if (healedAtUs < 0) {
      return Long.MAX_VALUE;
    }
    long quietSinceUs = Math.max(healedAtUs, Math.max(a.disturbedUntilUs(), b.disturbedUntilUs()));
    long transferMs =
        Math.max(transferMs(scenario.a(), scenario.b()), transferMs(scenario.b(), scenario.a()));
    return quietSinceUs + LONGEST_SLEEP_US + transferMs * VirtualTime.US_PER_MS;
  }

  /** A generous limit on how long a side needs for all its segments over the healed network. */
  private static long transferMs(Scenario.Side from, Scenario.Side to) {
    long roundTripMs = longestDelayMs(from.link()) + longestDelayMs(to.link());
    long roundMs = roundTripMs + 2L * (from.config().intervalMs() + to.config().intervalMs());
    long waitMs = (long) from.writing().gapMs() + to.reading().gapMs();
    // The queue and the last write come on top, perhaps re-segmented for the smallest MTU.
    int smallestMss = KcpConfig.MIN_MTU_BYTES - Segment.HEADER_BYTES;
    int cuts = 1 + KcpConfig.MAX_MTU_BYTES / smallestMss;
    long segments =
        (long) from.segments()
            + from.config().sendWindow()
            + (long) cuts * from.config().sendQueue()
            + from.writing().maxBytes() / smallestMss;
    return 4 * segments * (roundMs + waitMs);
  }

  private static long longestDelayMs(LinkProfile link) {
    return (long) link.delayMs() + link.jitterMs();
  }

  private String unfinished() {
    String ofA = a.unfinished();
    String ofB = b.unfinished();
    if (ofA == null && ofB == null) {
      return null;
    }
    return (ofA == null ? "" : "A " + ofA + ". ") + (ofB == null ? "" : "B " + ofB + ".");
  }

  /** A fault that was to happen some forty times must have happened. */
  private void checkFaults(Scenario.Side side, SimulatedLink link) {
    for (Fault fault : Fault.values()) {
      double expected = side.link().rate(fault) * link.datagramsUnderFaults();
      if (expected > 40 && network.faults().get(fault) == 0) {
        throw new AssertionError("the network did nothing: " + fault);
      }
    }
  }
}
