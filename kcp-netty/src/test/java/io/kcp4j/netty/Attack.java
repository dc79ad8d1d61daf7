package io.kcp4j.netty;

import com.sun.management.ThreadMXBean;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * Hostile peers of a server, and what they cost it. Their addresses are in 127.0.0.0/8, all of
 * which Linux and Windows deliver to this machine.
 */
final class Attack implements AutoCloseable {

  /** So many datagrams fit into the receive buffer of the server's socket, whatever their size. */
  private static final int BURST = 32;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private final Fixture fixture;
  private final List<RawPeer> peers = new ArrayList<>();
  private final List<Long> threads = new ArrayList<>();
  private int unread;
  private long allocatedBefore;
  private long mostHeldBytes;
  private long mostBufferBytes;

  Attack(Fixture fixture) {
    this.fixture = fixture;
    for (EventLoopGroup group : List.of(fixture.serverGroup, fixture.childGroup)) {
      for (EventExecutor loop : group) {
        threads.add(
            loop.submit(() -> Thread.currentThread().getId()).syncUninterruptibly().getNow());
      }
    }
    allocatedBefore = threadBytes();
  }

  /** Adds peers, each at an address of its own. */
  Attack peers(int count) throws IOException {
    for (int i = 0; i < count; i++) {
      int n = peers.size();
      peer(127, 66, n >> 8, 1 + (n & 0xff));
    }
    return this;
  }

  /** Adds peers at one address. */
  Attack peersAtOneAddress(int count) throws IOException {
    for (int i = 0; i < count; i++) {
      peer(127, 77, 0, 1);
    }
    return this;
  }

  private void peer(int a, int b, int c, int d) throws IOException {
    byte[] address = {(byte) a, (byte) b, (byte) c, (byte) d};
    InetSocketAddress local = new InetSocketAddress(InetAddress.getByAddress(address), 0);
    peers.add(new RawPeer(fixture.server().localAddress(), local));
  }

  List<RawPeer> peers() {
    return peers;
  }

  /** Sends a datagram when the server has read those before. */
  void send(RawPeer from, ByteBuf datagram) throws IOException {
    from.send(ByteBufUtil.getBytes(datagram));
    if (++unread == BURST) {
      awaitRead();
    }
  }

  /** Lets the server read what was sent, and notes what it holds then. */
  void awaitRead() {
    unread = 0;
    fixture.serverGroup.next().submit(() -> {}).syncUninterruptibly();
    noteHeld();
  }

  void noteHeld() {
    mostHeldBytes = Math.max(mostHeldBytes, fixture.server().usedMemoryBytes());
    mostBufferBytes = Math.max(mostBufferBytes, fixture.allocator.metric().usedDirectMemory());
  }

  // The cost

  /** The most that the server has held, in bytes. */
  long mostHeldBytes() {
    return mostHeldBytes;
  }

  /** The most that all buffers of sessions had, in bytes. */
  long mostBufferBytes() {
    return mostBufferBytes;
  }

  /** Allocations count from now on. */
  void resetAllocatedBytes() {
    awaitRead();
    allocatedBefore = threadBytes();
  }

  /** What the event loops of the server have allocated on the heap, in bytes. */
  long allocatedBytes() {
    awaitRead();
    return threadBytes() - allocatedBefore;
  }

  private long threadBytes() {
    return threads.stream().mapToLong(THREADS::getThreadAllocatedBytes).sum();
  }

  /** The bytes of all datagrams that have been sent to a peer and that it has not received yet. */
  static int received(RawPeer peer) throws IOException {
    int bytes = 0;
    for (ByteBuf datagram; (datagram = peer.receive(1)) != null; ) {
      bytes += datagram.readableBytes();
    }
    return bytes;
  }

  @Override
  public void close() {
    peers.forEach(RawPeer::close);
  }

  // Datagrams

  static ByteBuf push(int conv, int sn, int frg, ByteBuf payload) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, conv, Segment.PUSH, frg, 128, 1, sn, 0, payload.readableBytes());
    return out.writeBytes(payload);
  }

  static ByteBuf push(int conv, int sn, int frg, int bytes) {
    return push(conv, sn, frg, Unpooled.buffer(bytes).writeZero(bytes));
  }

  /** The first datagram of a session with lanes: a preface, and an offer. */
  static ByteBuf beginLanes(int conv) {
    ByteBuf offer = Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(LANES_OFFER));
    ByteBuf out = push(conv, 0, 0, 1);
    Segment.write(out, conv, Segment.WINS, 0, 128, 0, 0, 0, offer.readableBytes());
    return out.writeBytes(offer);
  }

  /** Protocol.md 15.1: OFFER with a token, and LANES with 1,024 lanes and 4 MiB. */
  private static final String LANES_OFFER =
      "4b01" + "0108008877665544332211" + "0f0600000400004000";

  /** Appends an empty ordered message; protocol.md 15.2. */
  static void emptyMessage(ByteBuf out, int lane, int number) {
    varInt(out.writeByte(1 | 0x60), lane).writeIntLE(number).writeByte(0);
  }

  /** Appends a byte of an ordered message of {@code total} bytes. */
  static void fragment(ByteBuf out, int lane, int total, int offset) {
    varInt(out.writeByte(1 | 0x70), lane).writeIntLE(0);
    varInt(varInt(out, total), offset).writeByte(1).writeByte(0);
  }

  private static ByteBuf varInt(ByteBuf out, int value) {
    int rest = value;
    for (; rest >= 128; rest >>>= 7) {
      out.writeByte(rest | 128);
    }
    return out.writeByte(rest);
  }
}
