package io.kcp4j.session;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.netty.buffer.ByteBuf;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The attempts to begin a session that the driver has not answered yet, and copies of the packets
 * that their peers have sent. Bounded in attempts, in packets of each, and by the memory budget.
 * Packets that find no room are dropped; the peers retransmit them. Owns the copies.
 */
final class Backlog {

  static final int MAX_PENDING_ACCEPTS = 256;

  /** The first flight of a peer that knows no window yet: the reference assumes 128 segments. */
  static final int MAX_PACKETS = 128;

  private final KcpContext context;
  private final Map<SessionKey, Incoming> pending = new HashMap<>();

  Backlog(KcpContext context) {
    this.context = context;
  }

  boolean isFull() {
    return pending.size() == MAX_PENDING_ACCEPTS;
  }

  boolean contains(SessionKey key) {
    return pending.containsKey(key);
  }

  boolean contains(Incoming incoming) {
    return pending.get(incoming.key()) == incoming;
  }

  void add(Incoming incoming) {
    pending.put(incoming.key(), incoming);
  }

  /**
   * Keeps a copy of a packet, from {@code start} to its writer index, behind a copy of its nonce.
   *
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   * @return false if there is no attempt of that key, or no room
   */
  boolean keep(SessionKey key, ByteBuf packet, int start, int nonceBytes) {
    Incoming incoming = pending.get(key);
    int bytes = nonceBytes + packet.writerIndex() - start;
    if (incoming == null
        || incoming.packets().size() == MAX_PACKETS
        || !context.budget().tryReserveUnvalidated(bytes)) {
      return false;
    }
    ByteBuf copy = null;
    try {
      copy = context.allocator().buffer(bytes, bytes);
      incoming.packets().add(copy);
    } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
      context.total().add(KcpCounter.ALLOCATION_FAILED, 1);
      context.budget().releaseUnvalidated(bytes);
      if (copy != null) {
        copy.release();
      }
      return false;
    }
    copy.writeBytes(packet, start - nonceBytes, bytes).skipBytes(nonceBytes);
    return true;
  }

  /** Removes an attempt; {@link #release} its packets afterwards. */
  void remove(Incoming incoming) {
    pending.remove(incoming.key());
  }

  /** Releases the packets of an attempt that was removed. */
  void release(Incoming incoming) {
    for (ByteBuf packet : incoming.packets()) {
      context.budget().releaseUnvalidated(packet.maxCapacity());
      packet.release();
    }
    incoming.packets().clear();
  }

  /** Removes all attempts, releases their packets, and returns the attempts. */
  Collection<Incoming> clear() {
    List<Incoming> removed = List.copyOf(pending.values());
    pending.clear();
    removed.forEach(this::release);
    return removed;
  }
}
