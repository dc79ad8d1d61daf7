package io.kcp4j.lab;

import io.kcp4j.DatagramOutput;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayDeque;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * One direction of a path, in microseconds. A datagram passes, in this order: the rate limit and
 * its drop-tail queue, loss, and the delay, which each datagram draws for itself, so that jitter
 * reorders.
 *
 * <p>{@link io.kcp4j.sim.SimulatedLink} is for finding errors: it counts delays in whole
 * milliseconds, keeps the order under jitter, copies every datagram, and its recorded seeds must
 * not change. This one is for measuring: it models fewer faults, exactly, and reuses its buffers.
 */
final class LabLink implements DatagramOutput {

  /** IPv4 and UDP. */
  static final int HEADER_BYTES = 28;

  private static final int BUFFER_BYTES = 2048;

  private static final double NS_PER_S = 1e9;

  private static final int NS_PER_US = 1_000;

  /** A datagram on its way, which arrives when it is run. */
  private final class Packet implements Runnable {

    final ByteBuf buffer = Unpooled.buffer(BUFFER_BYTES);

    @Override
    public void run() {
      destination.accept(buffer);
      unused.push(this);
    }
  }

  private final VirtualTime time;
  private final SplittableRandom random;
  private final Consumer<ByteBuf> destination;
  private final TransmissionMonitor monitor = new TransmissionMonitor();
  private final ArrayDeque<Packet> unused = new ArrayDeque<>();
  private final LinkSettings settings;
  private final LossModel loss;

  /** The packet that is being written. */
  private Packet packet;

  /** When the last bit of all that was sent leaves. */
  private long freeAtNs;

  private long latestArrivalUs;
  private long datagrams;
  private long bytes;
  private long lost;
  private long dropped;
  private long reordered;

  /**
   * Makes a link.
   *
   * @param destination takes what arrives; a buffer is its until it returns
   */
  LabLink(
      VirtualTime time,
      SplittableRandom random,
      LinkSettings settings,
      Consumer<ByteBuf> destination) {
    this.time = time;
    this.random = random;
    this.settings = settings;
    this.destination = destination;
    loss = settings.lossModel(random);
  }

  @Override
  public ByteBuf begin(int maxBytes) {
    packet = unused.isEmpty() ? new Packet() : unused.pop();
    packet.buffer.clear();
    return packet.buffer.ensureWritable(maxBytes);
  }

  @Override
  public void end() {
    int size = packet.buffer.readableBytes();
    datagrams++;
    bytes += size;
    boolean arrives = false;
    if (!admit(size)) {
      dropped++;
    } else if (loss.loses(leavesAtUs())) {
      lost++;
    } else {
      arrives = true;
    }
    monitor.sent(packet.buffer, arrives);
    if (arrives) {
      deliver();
    } else {
      unused.push(packet);
    }
    packet = null;
  }

  /** Puts a datagram into the queue, or returns false if it has no room. */
  private boolean admit(int size) {
    long nowNs = time.nowUs() * NS_PER_US;
    long beginsAtNs = Math.max(nowNs, freeAtNs);
    if (settings.bitsPerSecond() == 0) {
      freeAtNs = nowNs;
      return true;
    }
    int sizeOnLink = size + HEADER_BYTES;
    double bytesPerNs = settings.bitsPerSecond() / (Byte.SIZE * NS_PER_S);
    if ((beginsAtNs - nowNs) * bytesPerNs + sizeOnLink > settings.queueBytes()) {
      return false;
    }
    freeAtNs = beginsAtNs + (long) Math.ceil(sizeOnLink / bytesPerNs);
    return true;
  }

  private long leavesAtUs() {
    return -Math.floorDiv(-freeAtNs, NS_PER_US);
  }

  private void deliver() {
    long arrivesAtUs = leavesAtUs() + settings.delayUs();
    if (settings.jitterUs() > 0) {
      arrivesAtUs += random.nextInt(settings.jitterUs() + 1);
    }
    if (arrivesAtUs < latestArrivalUs) {
      reordered++;
    }
    latestArrivalUs = Math.max(latestArrivalUs, arrivesAtUs);
    time.at(arrivesAtUs, packet);
  }

  /** What became of the segments that were sent. */
  TransmissionMonitor monitor() {
    return monitor;
  }

  /** Datagrams sent, lost ones included. */
  long datagrams() {
    return datagrams;
  }

  /** Bytes of UDP payload sent, those of lost datagrams included. */
  long bytes() {
    return bytes;
  }

  /** Datagrams lost by the loss model. */
  long lost() {
    return lost;
  }

  /** Datagrams for which the queue had no room. */
  long dropped() {
    return dropped;
  }

  /** Datagrams that arrive before one that was sent earlier. */
  long reordered() {
    return reordered;
  }
}
