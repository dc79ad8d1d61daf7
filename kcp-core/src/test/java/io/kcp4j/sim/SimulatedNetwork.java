package io.kcp4j.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** The links between some machines, and the faults of all of them at once. */
public final class SimulatedNetwork {

  private final VirtualTime time;
  private final SplittableRandom random;
  private final FaultCounts faults = new FaultCounts();
  private final List<SimulatedLink> links = new ArrayList<>();
  private boolean hasChecksum = true;
  private final List<Runnable> onHealed = new ArrayList<>();
  private boolean isHealed;

  /**
   * Makes a network without links.
   *
   * @param random the source of randomness of its links
   */
  public SimulatedNetwork(VirtualTime time, SplittableRandom random) {
    this.time = time;
    this.random = random;
  }

  /** Lets altered datagrams pass on links that are made later, for the machines to detect. */
  public void dropChecksum() {
    hasChecksum = false;
  }

  /** Adds one direction; {@code destination} takes the datagrams that arrive. */
  public SimulatedLink connect(LinkProfile profile, Consumer<byte[]> destination) {
    SimulatedLink link =
        new SimulatedLink(time, random.split(), faults, hasChecksum, profile, destination);
    if (isHealed) {
      link.heal();
    }
    links.add(link);
    return link;
  }

  /** The faults that happened so far, on the links and elsewhere. */
  public FaultCounts faults() {
    return faults;
  }

  /** Takes all links down for so many milliseconds. */
  public void partition(long durationMs) {
    long untilUs = time.nowUs() + durationMs * VirtualTime.US_PER_MS;
    links.forEach(link -> link.takeDown(untilUs));
  }

  /** Runs {@code action} when the network heals. */
  void onHealed(Runnable action) {
    onHealed.add(action);
  }

  /** Ends every fault on every link, those to come included; delay and jitter stay. */
  public void heal() {
    isHealed = true;
    links.forEach(SimulatedLink::heal);
    onHealed.forEach(Runnable::run);
  }
}
