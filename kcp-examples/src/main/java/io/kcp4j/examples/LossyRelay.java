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
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAdder;

/**
 * A UDP relay on loopback that does to datagrams what a bad network does. Clients send to {@link
 * #address}; the server sees one address for each of them.
 *
 * <p>What becomes of a datagram depends on the seed and on how many went the same way before it,
 * and on nothing else. One thread does everything.
 */
final class LossyRelay implements AutoCloseable {

  /**
   * How bad the network is, each way. Rates are from 0 to 1.
   *
   * @param delayMs how long every datagram takes
   * @param jitterMs how much longer it may take, evenly spread; order is kept
   * @param loss how many are dropped
   * @param reorder how many are held back for another delay and jitter, so that later ones overtake
   * @param duplicate how many arrive twice
   * @param seed of all chance
   */
  record Conditions(
      int delayMs, int jitterMs, double loss, double reorder, double duplicate, long seed) {}

  /** A datagram on its way. Those due at one time leave in the order of their numbers. */
  private record Delivery(long dueNs, long number, ByteBuffer data, Link link)
      implements Comparable<Delivery> {
    @Override
    public int compareTo(Delivery other) {
      int byTime = Long.compare(dueNs - other.dueNs, 0);
      return byTime != 0 ? byTime : Long.compare(number, other.number);
    }
  }

  private static final int MAX_DATAGRAM_BYTES = 65_535;
  private static final int SOCKET_BUFFER_BYTES = 4 << 20;

  private final InetSocketAddress server;
  private final Conditions conditions;
  private final Selector selector = Selector.open();
  private final DatagramChannel front;
  private final InetSocketAddress address;
  private final Map<SocketAddress, Link> clients = new HashMap<>();
  private final SplittableRandom random;
  private final PriorityQueue<Delivery> onTheWay = new PriorityQueue<>();
  private final ByteBuffer datagram = ByteBuffer.allocate(MAX_DATAGRAM_BYTES);
  private final LongAdder received = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private final Thread thread = new Thread(this::run, "lossy-relay");
  private long deliveries;

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

  /** Where clients send to. */
  InetSocketAddress address() {
    return address;
  }

  /** How many datagrams have come in, both ways. */
  long received() {
    return received.sum();
  }

  /** How many of them were dropped. */
  long dropped() {
    return dropped.sum();
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

  private void awaitNext() throws IOException {
    Delivery next = onTheWay.peek();
    if (next == null) {
      selector.select();
      return;
    }
    long waitMs = (next.dueNs - System.nanoTime()) / 1_000_000;
    if (waitMs > 0) {
      selector.select(waitMs);
    } else {
      selector.selectNow();
    }
  }

  /** Takes in what waits at a socket: at the front from any client, else from the server. */
  private void receiveAll(DatagramChannel socket, Link toClient) throws IOException {
    for (SocketAddress sender; (sender = receive(socket)) != null; datagram.clear()) {
      Link link = toClient == null ? toServer(sender) : toClient;
      link.carry(datagram.flip());
    }
  }

  private SocketAddress receive(DatagramChannel socket) throws IOException {
    try {
      return socket.receive(datagram);
    } catch (PortUnreachableException e) {
      return null; // The server is gone; to a client that looks like silence.
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
    for (Delivery next; (next = onTheWay.peek()) != null && next.dueNs - nowNs <= 0; ) {
      onTheWay.remove();
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

  /** One way between one client and the server. */
  private final class Link {

    private final DatagramChannel socket;
    private final SocketAddress target;
    private final SplittableRandom random;
    private long lastDueNs = System.nanoTime();

    Link(DatagramChannel socket, SocketAddress target, SplittableRandom random) {
      this.socket = socket;
      this.target = target;
      this.random = random;
    }

    /** Decides a datagram's fate. Draws the same random numbers for each, whatever it is. */
    void carry(ByteBuffer data) {
      boolean isLost = random.nextDouble() < conditions.loss();
      boolean isHeldBack = random.nextDouble() < conditions.reorder();
      boolean isDuplicated = random.nextDouble() < conditions.duplicate();
      double latencyMs = conditions.delayMs() + random.nextDouble() * conditions.jitterMs();
      received.increment();
      if (isLost) {
        dropped.increment();
        return;
      }
      long latencyNs = (long) (latencyMs * 1e6);
      long dueNs = System.nanoTime() + latencyNs;
      if (isHeldBack) {
        dueNs += latencyNs;
      } else {
        dueNs = lastDueNs = lastDueNs + Math.max(0, dueNs - lastDueNs);
      }
      ByteBuffer copy = ByteBuffer.allocate(data.remaining()).put(data).flip();
      onTheWay.add(new Delivery(dueNs, deliveries++, copy, this));
      if (isDuplicated) {
        onTheWay.add(new Delivery(dueNs, deliveries++, copy.duplicate(), this));
      }
    }
  }
}
