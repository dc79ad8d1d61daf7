package io.kcp4j.netty.interop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * A bad network between clients and one server: a UDP relay that drops, duplicates and reorders in
 * both directions. Every client gets a socket of its own towards the server. One thread does it
 * all, from the constructor to {@link #close}.
 */
public final class InteropRelay implements AutoCloseable {

  private static final int MAX_DATAGRAM_BYTES = 2048;
  private static final int SOCKET_BUFFER_BYTES = 4 << 20;
  private static final int MAX_HELD = 4096;
  private static final int MAX_HOLD_NS = (int) TimeUnit.MILLISECONDS.toNanos(10);
  private static final int IDLE_SELECT_MS = 1000;

  /**
   * The probability of each fault for a datagram, 0 to 1.
   *
   * @param reorder of a delay of up to 10 ms, in which later datagrams may arrive first
   */
  public record Faults(double loss, double duplicate, double reorder) {}

  /** A delayed datagram, and how it is sent on. */
  private record Held(long dueNs, ByteBuffer datagram, DatagramChannel via, SocketAddress to) {}

  private final SocketAddress server;
  private final Faults faults;
  private final Random random;
  private final Selector selector;
  private final DatagramChannel front;
  private final InetSocketAddress address;
  private final Map<SocketAddress, DatagramChannel> socketsByClient = new HashMap<>();
  private final PriorityQueue<Held> held =
      new PriorityQueue<>((a, b) -> Long.signum(a.dueNs - b.dueNs));
  private final ByteBuffer buffer = ByteBuffer.allocate(MAX_DATAGRAM_BYTES);
  private final LongAdder dropped = new LongAdder();
  private final LongAdder duplicated = new LongAdder();
  private final LongAdder reordered = new LongAdder();
  private final CompletableFuture<Void> ended;
  private volatile boolean closed;

  /** Starts a relay to a server. */
  public InteropRelay(InetSocketAddress server, Faults faults, long seed) throws IOException {
    this.server = server;
    this.faults = faults;
    this.random = new Random(seed);
    this.selector = Selector.open();
    this.front = openSocket(null);
    this.address = (InetSocketAddress) front.getLocalAddress();
    this.ended =
        CompletableFuture.runAsync(this::run, task -> new Thread(task, "lossy-relay").start());
  }

  /** Where clients find the server. */
  public InetSocketAddress address() {
    return address;
  }

  /** Whether each fault has happened. */
  boolean sawEveryFault() {
    return dropped.sum() > 0 && duplicated.sum() > 0 && reordered.sum() > 0;
  }

  @Override
  public void close() {
    closed = true;
    selector.wakeup();
    ended.join();
  }

  private DatagramChannel openSocket(SocketAddress client) throws IOException {
    DatagramChannel socket = DatagramChannel.open();
    socket.setOption(StandardSocketOptions.SO_RCVBUF, SOCKET_BUFFER_BYTES);
    socket.setOption(StandardSocketOptions.SO_SNDBUF, SOCKET_BUFFER_BYTES);
    socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    socket.configureBlocking(false);
    socket.register(selector, SelectionKey.OP_READ, client);
    return socket;
  }

  private void run() {
    try (selector;
        front) {
      while (!closed) {
        releaseDue();
        selector.select(this::relay, held.isEmpty() ? IDLE_SELECT_MS : 1);
      }
      for (DatagramChannel socket : socketsByClient.values()) {
        socket.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void relay(SelectionKey key) {
    DatagramChannel socket = (DatagramChannel) key.channel();
    SocketAddress client = (SocketAddress) key.attachment();
    try {
      for (SocketAddress from = socket.receive(buffer.clear());
          from != null;
          from = socket.receive(buffer.clear())) {
        buffer.flip();
        if (client == null) {
          forward(socketOf(from), server);
        } else {
          forward(front, client);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private DatagramChannel socketOf(SocketAddress client) throws IOException {
    DatagramChannel socket = socketsByClient.get(client);
    if (socket == null) {
      socket = openSocket(client);
      socketsByClient.put(client, socket);
    }
    return socket;
  }

  private void forward(DatagramChannel via, SocketAddress to) throws IOException {
    if (random.nextDouble() < faults.loss()) {
      dropped.increment();
      return;
    }
    sendOrHold(via, to);
    if (random.nextDouble() < faults.duplicate()) {
      duplicated.increment();
      sendOrHold(via, to);
    }
  }

  private void sendOrHold(DatagramChannel via, SocketAddress to) throws IOException {
    ByteBuffer datagram = buffer.duplicate();
    if (random.nextDouble() < faults.reorder() && held.size() < MAX_HELD) {
      reordered.increment();
      ByteBuffer copy = ByteBuffer.allocate(datagram.remaining()).put(datagram).flip();
      held.add(new Held(System.nanoTime() + random.nextInt(MAX_HOLD_NS), copy, via, to));
    } else {
      via.send(datagram, to);
    }
  }

  private void releaseDue() throws IOException {
    for (Held next = held.peek();
        next != null && next.dueNs - System.nanoTime() <= 0;
        next = held.peek()) {
      held.remove();
      next.via.send(next.datagram, next.to);
    }
  }
}
