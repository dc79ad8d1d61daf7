package io.kcp4j.session;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.netty.buffer.ByteBuf;

/**
 * Hands packets that have arrived at one socket of a server to the table of another: protocol.md
 * 8.5. A packet that was forwarded is not forwarded again, so that two tables never pass it to each
 * other.
 */
final class PacketForwarder {

  private final SessionIndex index;
  private final KcpCounters counters;
  private boolean isForwarded;
  private long forwarded;

  PacketForwarder(SessionIndex index, KcpCounters counters) {
    this.index = index;
    this.counters = counters;
  }

  /** Sets whether another table has forwarded the packets that are taken in next. */
  void receivesForwarded(boolean isForwarded) {
    this.isForwarded = isForwarded;
  }

  /** How many packets have been for a session of another table. */
  long forwarded() {
    return forwarded;
  }

  /** The other table that a key belongs to, or null; null for a packet that was forwarded. */
  SessionTable otherHome(SessionKey key) {
    return isForwarded ? null : index.otherHome(key);
  }

  /**
   * Forwards a packet, with its nonce, to another table, or drops it if it was forwarded before.
   *
   * @param home the other table, or null
   * @param start where the packet begins
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   * @return false if there is no other table
   */
  boolean forward(SessionTable home, ByteBuf packet, int start, int nonceBytes) {
    if (home == null || isForwarded) {
      return home != null;
    }
    counters.add(KcpCounter.FORWARDED, 1);
    forwarded++;
    int bytes = nonceBytes + packet.writerIndex() - start;
    ByteBuf whole = packet.slice(start - nonceBytes, bytes);
    try {
      home.handler().forward(index.lastKey().remote(), whole, nonceBytes);
    } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
      counters.add(KcpCounter.ALLOCATION_FAILED, 1);
    }
    return true;
  }
}
