package io.kcp4j.lab;

import io.kcp4j.internal.wire.DatagramOutput;
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
  private final Bottleneck bottleneck;

  /** The packet that is being written. */
  private Packet packet;

  private long latestArrivalUs;
  private long datagrams;
  private long bytes;
  private long lost;
  private long dropped;
  private long reordered;

  /**
   * Makes a link with a rate limit of its own.
   *
   * @param destination takes what arrives; a buffer is its until it returns
   */
  LabLink(
      VirtualTime time,
      SplittableRandom random,
      LinkSettings settings,
      Consumer<ByteBuf> destination) {
    this(time, random, settings, settings.lossModel(random), Bottleneck.of(settings), destination);
  }

  /** Makes a link that loses as {@code loss} says and has a rate limit that others may share. */
  LabLink(
      VirtualTime time,
      SplittableRandom random,
      LinkSettings settings,
      LossModel loss,
      Bottleneck bottleneck,
      Consumer<ByteBuf> destination) {
    this.time = time;
    this.random = random;
    this.settings = settings;
    this.loss = loss;
    this.bottleneck = bottleneck;
    this.destination = destination;
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
    long leavesAtUs = bottleneck.admit(size + HEADER_BYTES, time.nowUs());
    if (leavesAtUs == Bottleneck.DROPPED) {
      dropped++;
    } else if (loss.loses(leavesAtUs)) {
      lost++;
    } else {
      arrives = true;
    }
    monitor.sent(packet.buffer, arrives);
    if (arrives) {
      deliver(leavesAtUs);
    } else {
      unused.push(packet);
    }
    packet = null;
  }

  private void deliver(long leavesAtUs) {
    long arrivesAtUs = leavesAtUs + settings.delayUs();
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
