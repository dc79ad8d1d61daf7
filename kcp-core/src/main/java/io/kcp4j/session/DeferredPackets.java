package io.kcp4j.session;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Sealed packets from the addresses of validated sessions that are opened at the end of their
 * batch, behind those of all others, since too many packets from there could not be opened. Bounded
 * in packets, and by the memory budget. Owns the copies.
 */
final class DeferredPackets {

  /** The socket receives no more than about this many datagrams in a batch. */
  static final int MAX_PACKETS = 128;

  /** A packet and the address that it has come from. */
  record Packet(InetSocketAddress remote, ByteBuf sealed) {}

  private final KcpContext context;
  private final Deque<Packet> packets = new ArrayDeque<>(0);

  DeferredPackets(KcpContext context) {
    this.context = context;
  }

  /** Adds a copy of a packet; returns false if there is no room for it. */
  boolean add(InetSocketAddress remote, ByteBuf packet) {
    int bytes = packet.readableBytes();
    if (packets.size() == MAX_PACKETS || !context.budget().tryReserveUnvalidated(bytes)) {
      return false;
    }
    ByteBuf copy = null;
    try {
      copy = context.allocator().buffer(bytes, bytes);
      packets.add(new Packet(remote, copy.writeBytes(packet, packet.readerIndex(), bytes)));
      return true;
    } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
      context.total().add(KcpCounter.ALLOCATION_FAILED, 1);
      context.budget().releaseUnvalidated(bytes);
      if (copy != null) {
        copy.release();
      }
      return false;
    }
  }

  /** Removes the oldest packet, to be {@linkplain #release released}; null if there is none. */
  Packet poll() {
    return packets.poll();
  }

  void release(Packet packet) {
    context.budget().releaseUnvalidated(packet.sealed.maxCapacity());
    packet.sealed.release();
  }

  /** Drops all. */
  void clear() {
    for (Packet packet; (packet = poll()) != null; ) {
      release(packet);
    }
  }
}
