package io.kcp4j.netty;

import io.kcp4j.crypto.HashSeed;
import io.kcp4j.lanes.Lane;
import io.kcp4j.lanes.Lanes;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import java.nio.channels.ClosedChannelException;

/**
 * The {@link LaneMessage}s that were written to a channel, and their promises. They bypass the
 * channel's outbound buffer, where lanes would wait for each other. Each waits here until {@code
 * flush()}, then in its lane. Counts what waits on each lane, and tells when that exceeds the water
 * marks.
 */
final class LaneWrites {

  /** A user-defined writability bit that users are unlikely to set themselves. */
  private static final int WRITABILITY = 29;

  /** All lanes together may have so many times as much waiting as one of them. */
  private static final int LANES_AT_THE_MARK = 16;

  /** What a message counts beside its content, as in Netty's outbound buffer. */
  private static final int OVERHEAD_BYTES = 96;

  /** Secret, so that peers cannot choose lanes that collide. */
  private static final int KEY_FACTOR = (int) HashSeed.next() | 1;

  private final KcpLanes owner;
  private final KcpChannel channel;
  private final Lanes lanes;

  /** The table for so many lanes is kept when nothing waits. */
  private static final int KEPT = 64;

  /** Not flushed, linked. */
  private Write firstUnflushed;

  private Write lastUnflushed;

  /** The lanes on which something waits, by {@link #key}. */
  private IntObjectMap<Pending> pendingOf = new IntObjectHashMap<>();

  /** Whether its table has become large. */
  private boolean hasManyLanes;

  private long pendingBytes;
  private boolean isTotalUnwritable;

  LaneWrites(KcpLanes owner, KcpChannel channel, Lanes lanes) {
    this.owner = owner;
    this.channel = channel;
    this.lanes = lanes;
  }

  /** What waits on one lane. */
  private static final class Pending {
    long bytes;
    boolean isUnwritable;
  }

  private final class Write extends LaneWrite {

    private final int bytes;

    /** The one behind it that is not flushed. */
    private Write next;

    Write(LaneMessage message, ChannelPromise promise) {
      super(owner, message.lane(), message.content(), promise);
      bytes = message.content().readableBytes() + OVERHEAD_BYTES;
    }

    @Override
    protected void completed() {
      count(lane(), -bytes);
    }
  }

  /** Keeps a message until it is flushed. */
  void add(LaneMessage message, ChannelPromise promise) {
    Write write = new Write(message, promise);
    if (firstUnflushed == null) {
      firstUnflushed = write;
    } else {
      lastUnflushed.next = write;
    }
    lastUnflushed = write;
    count(write.lane(), write.bytes);
  }

  /** Passes the pending writes to their lanes; returns whether there were any. */
  boolean flush() {
    if (firstUnflushed == null) {
      return false;
    }
    for (Write write; (write = pollUnflushed()) != null; ) {
      write.send();
    }
    return true;
  }

  private Write pollUnflushed() {
    Write write = firstUnflushed;
    if (write != null) {
      firstUnflushed = write.next;
      write.next = null;
      lastUnflushed = firstUnflushed == null ? null : lastUnflushed;
    }
    return write;
  }

  /**
   * The key of a lane in a table whose slots follow from the lowest bits, by multiply-shift hashing
   * (Dietzfelbinger et al., 1997). Different lanes have different keys.
   *
   * @param factor odd
   */
  static int key(int lane, int factor) {
    return Integer.reverse(lane * factor);
  }

  /** Whether less waits on a lane than the water marks say. */
  boolean isWritable(int lane) {
    Pending pending = pendingOf.get(key(lane, KEY_FACTOR));
    return pending == null || !pending.isUnwritable;
  }

  /** How much waits on a lane, in bytes. */
  long pendingBytes(int lane) {
    Pending pending = pendingOf.get(key(lane, KEY_FACTOR));
    return pending == null ? 0 : pending.bytes;
  }

  /** More waits on a lane, or less. */
  private void count(int lane, int bytes) {
    Pending pending = pendingOf.get(key(lane, KEY_FACTOR));
    if (pending == null) {
      pending = new Pending();
      pendingOf.put(key(lane, KEY_FACTOR), pending);
      hasManyLanes |= pendingOf.size() > KEPT;
    }
    pending.bytes += bytes;
    pendingBytes += bytes;
    int high = channel.config().getWriteBufferHighWaterMark();
    int low = channel.config().getWriteBufferLowWaterMark();
    boolean wasUnwritable = pending.isUnwritable;
    pending.isUnwritable =
        wasUnwritable ? pending.bytes > 0 && pending.bytes >= low : pending.bytes > high;
    if (pending.bytes == 0) {
      pendingOf.remove(key(lane, KEY_FACTOR));
      shrink();
    }
    updateTotal(low, high);
    if (pending.isUnwritable != wasUnwritable) {
      fire(lane, wasUnwritable ? LaneEvent.Type.WRITABLE : LaneEvent.Type.UNWRITABLE);
    }
  }

  /** Gives back a large table in which nothing is. */
  private void shrink() {
    if (hasManyLanes && pendingOf.isEmpty()) {
      pendingOf = new IntObjectHashMap<>();
      hasManyLanes = false;
    }
  }

  private void updateTotal(int low, int high) {
    boolean isUnwritable =
        isTotalUnwritable
            ? pendingBytes >= (long) LANES_AT_THE_MARK * low
            : pendingBytes > (long) LANES_AT_THE_MARK * high;
    ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
    if (isUnwritable != isTotalUnwritable && buffer != null) {
      isTotalUnwritable = isUnwritable;
      buffer.setUserDefinedWritability(WRITABILITY, !isUnwritable);
    }
  }

  private void fire(int lane, LaneEvent.Type type) {
    if (channel.isActive()) {
      channel.pipeline().fireUserEventTriggered(new LaneEvent(lane, type));
    }
  }

  /** Fails the writes that were not flushed. */
  void close() {
    for (Write write; (write = pollUnflushed()) != null; ) {
      write.fail(new ClosedChannelException());
    }
  }

  /** Why a message cannot be sent on a lane, or null. */
  Exception refusal(LaneMessage message) {
    try {
      Lane lane = lanes.lane(message.lane());
      if (lane.attachment() != null) {
        return new IllegalStateException(lane + ": has a channel (expected: none)");
      }
      return lane.isOutputOpen()
          ? KcpLanes.sizeRefusal(lane, message.content())
          : new ClosedChannelException();
    } catch (IllegalArgumentException e) {
      return e;
    }
  }
}
