package io.kcp4j.examples;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * A UDP relay on loopback that delays, drops, reorders and duplicates datagrams. Clients send to
 * {@link #address}; the server sees one address for each client.
 *
 * <p>The treatment of a datagram depends only on the seed and on the number of datagrams sent
 * before it in the same direction of the same client. One thread does all the work.
 */
final class LossyRelay implements AutoCloseable {

  /**
   * The impairments in each direction. Rates are from 0 to 1.
   *
   * @param delayUs the delay of every datagram, in microseconds
   * @param jitterUs the maximum of the additional delay, in microseconds: each datagram draws its
   *     own, uniformly distributed, so that it may arrive after later ones
   * @param loss the rate of dropped datagrams
   * @param reorder the rate of datagrams delayed twice
   * @param duplicate the rate of datagrams that arrive twice
   * @param seed of all random decisions
   */
  record Conditions(
      int delayUs, int jitterUs, double loss, double reorder, double duplicate, long seed) {

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "Network, each way: %.1f to %.1f ms delay, %.1f %% loss, %.1f %% reordered,%n"
              + "%.1f %% duplicated; seed %d.",
          delayUs / 1e3,
          (delayUs + jitterUs) / 1e3,
          100 * loss,
          100 * reorder,
          100 * duplicate,
          seed);
    }
  }

  /** A datagram in flight. Datagrams due at the same time leave in the order of their numbers. */
  private record InFlight(long dueNs, long number, ByteBuffer data, Link link)
      implements Comparable<InFlight> {
    @Override
    public int compareTo(InFlight other) {
      int byTime = Long.compare(dueNs - other.dueNs, 0);
      return byTime != 0 ? byTime : Long.compare(number, other.number);
    }
  }

  private static final int MAX_DATAGRAM_BYTES = 65_535;
  private static final int SOCKET_BUFFER_BYTES = 4 << 20;
  private static final int NS_PER_MS = 1_000_000;

  /** How much later than they arrive datagrams may be read, in nanoseconds. */
  private static final int MAX_PARK_NS = 100_000;

  private final InetSocketAddress server;
  private final Conditions conditions;
  private final Selector selector = Selector.open();
  private final DatagramChannel front;
  private final InetSocketAddress address;
  private final Map<SocketAddress, Link> clients = new HashMap<>();
  private final SplittableRandom random;
  private final PriorityQueue<InFlight> inFlight = new PriorityQueue<>();
  private final ByteBuffer datagram = ByteBuffer.allocate(MAX_DATAGRAM_BYTES);
  private final LongAdder bytesToServer = new LongAdder();
  private final LongAccumulator maxStallNs = new LongAccumulator(Math::max, 0);
  private final Thread thread = new Thread(this::run, "lossy-relay");
  private long sequence;

  /** Opens a relay in front of {@code server}, on a free port. */
  LossyRelay(InetSocketAddress server, Conditions conditions) throws IOException {
    this.server = server;
    this.conditions = conditions;
    random = new SplittableRandom(conditions.seed());
    front = open();
    front.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    front.register(selector, SelectionKey.OP_READ);
    address = (InetSocketAddress) front.getLocalAddress();
    thread.setDaemon(true);
    thread.start();
  }

  /** The address that clients send to. */
  InetSocketAddress address() {
    return address;
  }

  /** Begins to count anew. */
  void startCounting() {
    bytesToServer.reset();
    maxStallNs.reset();
  }

  /** The bytes of all datagrams that clients have sent, lost ones included. */
  long bytesToServer() {
    return bytesToServer.sum();
  }

  /** How late a datagram was sent on, at most, in milliseconds. */
  double maxStallMs() {
    return maxStallNs.get() / 1e6;
  }

  private static DatagramChannel open() throws IOException {
    DatagramChannel channel = DatagramChannel.open();
    channel.configureBlocking(false);
    channel.setOption(StandardSocketOptions.SO_RCVBUF, SOCKET_BUFFER_BYTES);
    channel.setOption(StandardSocketOptions.SO_SNDBUF, SOCKET_BUFFER_BYTES);
    return channel;
  }

  private void run() {
    try {
      while (!Thread.currentThread().isInterrupted()) {
        deliverDue();
        awaitNext();
        for (SelectionKey key : selector.selectedKeys()) {
          receiveAll((DatagramChannel) key.channel(), (Link) key.attachment());
        }
        selector.selectedKeys().clear();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits for datagrams until one in flight is due. A selector waits for whole milliseconds. */
  private void awaitNext() throws IOException {
    InFlight next = inFlight.peek();
    if (next == null) {
      selector.select();
      return;
    }
    long waitNs = next.dueNs - System.nanoTime();
    if (waitNs >= NS_PER_MS) {
      selector.select(waitNs / NS_PER_MS);
      return;
    }
    if (waitNs > 0) {
      LockSupport.parkNanos(Math.min(waitNs, MAX_PARK_NS));
    }
    selector.selectNow();
  }

  /**
   * Reads all pending datagrams of a socket: from any client at the front, else from the server.
   */
  private void receiveAll(DatagramChannel socket, Link toClient) throws IOException {
    for (SocketAddress sender; (sender = receive(socket)) != null; datagram.clear()) {
      datagram.flip();
      if (toClient == null) {
        bytesToServer.add(datagram.remaining());
        toServer(sender).carry(datagram);
      } else {
        toClient.carry(datagram);
      }
    }
  }

  private SocketAddress receive(DatagramChannel socket) throws IOException {
    try {
      return socket.receive(datagram);
    } catch (PortUnreachableException e) {
      return null; // The server is gone; its clients receive nothing.
    }
  }

  private Link toServer(SocketAddress client) throws IOException {
    Link link = clients.get(client);
    if (link == null) {
      DatagramChannel back = open();
      back.connect(server);
      link = new Link(back, server, random.split());
      Link toClient = new Link(front, client, random.split());
      back.register(selector, SelectionKey.OP_READ, toClient);
      clients.put(client, link);
    }
    return link;
  }

  private void deliverDue() throws IOException {
    long nowNs = System.nanoTime();
    for (InFlight next; (next = inFlight.peek()) != null && next.dueNs - nowNs <= 0; ) {
      inFlight.remove();
      maxStallNs.accumulate(nowNs - next.dueNs);
      try {
        next.link.socket.send(next.data, next.link.target);
      } catch (PortUnreachableException e) {
        // As above.
      }
    }
  }

  @Override
  public void close() throws IOException {
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    for (SelectionKey key : selector.keys()) {
      key.channel().close();
    }
    selector.close();
  }

  /** One direction between one client and the server. */
  private final class Link {

    private final DatagramChannel socket;
    private final SocketAddress target;
    private final SplittableRandom random;

    Link(DatagramChannel socket, SocketAddress target, SplittableRandom random) {
      this.socket = socket;
      this.target = target;
      this.random = random;
    }

    /** Drops or schedules a datagram. Draws the same number of random values for each. */
    void carry(ByteBuffer data) {
      boolean isLost = random.nextDouble() < conditions.loss();
      boolean isReordered = random.nextDouble() < conditions.reorder();
      boolean isDuplicated = random.nextDouble() < conditions.duplicate();
      double latencyUs = conditions.delayUs() + random.nextDouble() * conditions.jitterUs();
      if (isLost) {
        return;
      }
      long latencyNs = (long) (latencyUs * 1e3);
      long dueNs = System.nanoTime() + (isReordered ? 2 * latencyNs : latencyNs);
      ByteBuffer copy = ByteBuffer.allocate(data.remaining()).put(data).flip();
      inFlight.add(new InFlight(dueNs, sequence++, copy, this));
      if (isDuplicated) {
        inFlight.add(new InFlight(dueNs, sequence++, copy.duplicate(), this));
      }
    }
  }
}
