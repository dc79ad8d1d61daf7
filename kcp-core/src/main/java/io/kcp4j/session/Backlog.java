package io.kcp4j.session;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Strangers who wait to be accepted on another thread, and copies of what they have sent so far.
 * Bounded in strangers, in packets of each, and by the memory budget: what finds no room is
 * dropped, and its peer sends it again. Owns the copies; used by the table's thread.
 */
final class Backlog {

  static final int MAX_PENDING_ACCEPTS = 256;

  /** The first flight of a peer that knows no window yet: the reference assumes 128 segments. */
  static final int MAX_PACKETS = 128;

  private final KcpContext context;
  private final Map<SessionKey, List<ByteBuf>> waiting = new HashMap<>();

  Backlog(KcpContext context) {
    this.context = context;
  }

  boolean isFull() {
    return waiting.size() == MAX_PENDING_ACCEPTS;
  }

  boolean contains(SessionKey key) {
    return waiting.containsKey(key);
  }

  void add(SessionKey key) {
    waiting.put(key, new ArrayList<>(1));
  }

  /**
   * Keeps a copy of what stands at {@code index} and after.
   *
   * @return false if nobody of that name waits, or there is no room
   */
  boolean keep(SessionKey key, ByteBuf packet, int index) {
    List<ByteBuf> packets = waiting.get(key);
    int bytes = packet.writerIndex() - index;
    if (packets == null
        || packets.size() == MAX_PACKETS
        || !context.budget().tryReserveSpare(bytes)) {
      return false;
    }
    ByteBuf copy = null;
    try {
      copy = context.allocator().buffer(bytes, bytes);
      packets.add(copy);
    } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
      context.total().add(KcpCounter.ALLOCATION_FAILED, 1);
      context.budget().release(bytes);
      if (copy != null) {
        copy.release();
      }
      return false;
    }
    copy.writeBytes(packet, index, bytes);
    return true;
  }

  /** Takes out a stranger: its packets, to be given to {@link #release}, or null if unknown. */
  List<ByteBuf> remove(SessionKey key) {
    return waiting.remove(key);
  }

  void release(List<ByteBuf> packets) {
    for (ByteBuf packet : packets) {
      context.budget().release(packet.maxCapacity());
      packet.release();
    }
  }

  /** Forgets everybody, and returns who there was. */
  List<SessionKey> clear() {
    List<SessionKey> strangers = List.copyOf(waiting.keySet());
    waiting.values().forEach(this::release);
    waiting.clear();
    return strangers;
  }
}
