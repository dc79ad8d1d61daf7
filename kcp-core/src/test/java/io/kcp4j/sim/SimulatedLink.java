package io.kcp4j.sim;

import static io.kcp4j.sim.VirtualTime.US_PER_MS;

import io.kcp4j.internal.wire.Segment;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.zip.CRC32;

/**
 * One direction of a network. Datagrams pass, in this order: partition, scripted loss, random and
 * burst loss, the rate limit and its queue, delay and reordering, alteration, duplication.
 *
 * <p>KCP has no checksum of its own, since UDP has one. So datagrams with flipped bits are dropped
 * here when a CRC-32 detects them, unless a cipher is to detect them. Truncated and padded ones are
 * delivered.
 */
public final class SimulatedLink {

  private static final double LOSS_IN_BURST = 0.9;

  private final VirtualTime time;
  private final SplittableRandom random;
  private final FaultCounts faults;
  private final boolean hasChecksum;
  private final Consumer<byte[]> destination;

  private LinkProfile profile;
  private Predicate<byte[]> scriptedLoss = datagram -> false;
  private long downUntilUs;
  private boolean inBurst;
  private double rateFreeAtMs;
  private long lastArrivalUs;
  private long heldBackUntilUs = -1;
  private boolean healed;
  private long datagramsUnderFaults;

  SimulatedLink(
      VirtualTime time,
      SplittableRandom random,
      FaultCounts faults,
      boolean hasChecksum,
      LinkProfile profile,
      Consumer<byte[]> destination) {
    this.time = time;
    this.random = random;
    this.faults = faults;
    this.hasChecksum = hasChecksum;
    this.profile = profile;
    this.destination = destination;
  }

  /** The present profile of the link. */
  public LinkProfile profile() {
    return profile;
  }

  /** Changes the profile of the link. */
  public void profile(LinkProfile profile) {
    this.profile = profile;
  }

  /** Loses, beside everything else, the datagrams for which {@code loss} holds. */
  public void scriptedLoss(Predicate<byte[]> loss) {
    scriptedLoss = loss;
  }

  /** Loses everything until the given time. */
  public void takeDown(long untilUs) {
    faults.add(Fault.PARTITION);
    downUntilUs = Math.max(downUntilUs, untilUs);
  }

  /** Ends every fault. */
  public void heal() {
    healed = true;
    profile = profile.healed();
    inBurst = false;
    downUntilUs = 0;
  }

  /** How many datagrams were sent before the link healed, and could meet each of its faults. */
  long datagramsUnderFaults() {
    return datagramsUnderFaults;
  }

  /** Sends a datagram, and takes over the array. */
  public void send(byte[] datagram) {
    if (isLost(datagram)) {
      return;
    }
    long leavesAtUs = leavesAtUs(datagram.length);
    if (leavesAtUs < 0) {
      faults.add(Fault.QUEUE_FULL);
      return;
    }
    if (!healed) {
      datagramsUnderFaults++;
    }
    deliver(datagram, leavesAtUs);
    while (happens(profile.duplication())) {
      faults.add(Fault.DUPLICATED);
      deliver(datagram, leavesAtUs);
    }
  }

  private boolean isLost(byte[] datagram) {
    if (time.nowUs() < downUntilUs) {
      faults.add(Fault.LOST_IN_PARTITION);
      return true;
    }
    if (scriptedLoss.test(datagram)) {
      faults.add(Fault.LOST);
      return true;
    }
    inBurst = inBurst ? !happens(profile.burstEnd()) : happens(profile.burstBegin());
    if (inBurst && happens(LOSS_IN_BURST)) {
      faults.add(Fault.LOST_IN_BURST);
      return true;
    }
    if (happens(profile.loss())) {
      faults.add(Fault.LOST);
      return true;
    }
    return false;
  }

  /**
   * The time at which the last bit leaves, or -1 if the queue is full. The rate limit lets
   * datagrams leave at whole milliseconds only.
   */
  private long leavesAtUs(int bytes) {
    if (profile.bytesPerSecond() == 0) {
      return time.nowUs();
    }
    double nowMs = (double) time.nowUs() / US_PER_MS;
    double bytesPerMs = profile.bytesPerSecond() / 1000.0;
    double beginsAtMs = Math.max(nowMs, rateFreeAtMs);
    if ((beginsAtMs - nowMs) * bytesPerMs > profile.queueBytes()) {
      return -1;
    }
    if (beginsAtMs > nowMs) {
      faults.add(Fault.QUEUED);
    }
    rateFreeAtMs = beginsAtMs + bytes / bytesPerMs;
    return (long) Math.ceil(rateFreeAtMs) * US_PER_MS;
  }

  private void deliver(byte[] datagram, long leavesAtUs) {
    long arrivesAtUs = leavesAtUs + profile.delayMs() * US_PER_MS;
    if (profile.jitterMs() > 0) {
      arrivesAtUs += random.nextInt(profile.jitterMs() + 1) * US_PER_MS;
    }
    if (happens(profile.reordering())) {
      arrivesAtUs += (1 + random.nextInt(profile.heldBackMs())) * US_PER_MS;
      heldBackUntilUs = Math.max(heldBackUntilUs, arrivesAtUs);
    } else {
      arrivesAtUs = Math.max(arrivesAtUs, lastArrivalUs);
      lastArrivalUs = arrivesAtUs;
      if (arrivesAtUs < heldBackUntilUs) {
        faults.add(Fault.REORDERED);
        heldBackUntilUs = -1;
      }
    }
    byte[] arriving = altered(datagram);
    if (arriving != null) {
      time.at(arrivesAtUs, () -> destination.accept(arriving));
    }
  }

  private byte[] altered(byte[] datagram) {
    byte[] arriving = datagram;
    if (happens(profile.truncation())) {
      faults.add(Fault.TRUNCATED);
      arriving = Arrays.copyOf(arriving, random.nextInt(arriving.length));
    } else if (happens(profile.padding())) {
      faults.add(Fault.PADDED);
      arriving = padded(arriving);
    }
    if (happens(profile.corruption())) {
      faults.add(Fault.CORRUPTED);
      byte[] corrupted = withFlippedBits(arriving);
      return !hasChecksum || crc(corrupted) == crc(arriving) ? corrupted : null;
    }
    return arriving;
  }

  private byte[] padded(byte[] datagram) {
    byte[] junk = new byte[1 + random.nextInt(Segment.HEADER_BYTES - 1)];
    random.nextBytes(junk);
    byte[] padded = Arrays.copyOf(datagram, datagram.length + junk.length);
    System.arraycopy(junk, 0, padded, datagram.length, junk.length);
    return padded;
  }

  private byte[] withFlippedBits(byte[] datagram) {
    byte[] flipped = datagram.clone();
    for (int n = random.nextInt(8); n >= 0 && flipped.length > 0; n--) {
      int bit = random.nextInt(flipped.length * 8);
      flipped[bit / 8] = (byte) (flipped[bit / 8] ^ (1 << (bit % 8)));
    }
    return flipped;
  }

  private static long crc(byte[] bytes) {
    CRC32 crc = new CRC32();
    crc.update(bytes);
    return crc.getValue();
  }

  private boolean happens(double probability) {
    return probability > 0 && random.nextDouble() < probability;
  }
}
