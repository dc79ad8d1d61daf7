package io.kcp4j.netty.internal;

import io.kcp4j.internal.lanes.Lane;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;

/**
 * The messages of lanes that were written to a channel: counts those that wait on each lane, and
 * tells when they exceed the water marks. Used by the channel's event loop.
 */
public final class LaneWrites {

  /** A user-defined writability bit that users are unlikely to set themselves. */
  private static final int WRITABILITY = 29;

  /** All lanes together may have this many times as much waiting as one of them. */
  private static final int LANES_AT_THE_MARK = 16;

  /** What a message counts beside its content, as in Netty's outbound buffer. */
  private static final int OVERHEAD_BYTES = 96;

  private final Channel channel;
  private final Listener listener;
  private final PendingWrite.Queue queue;

  /** Is told when the writability of a lane changes. */
  public interface Listener {

    /** What waits on a lane has exceeded the high water mark, or fallen to the low one. */
    void writabilityChanged(int lane, boolean isWritable);
  }

  /** What waits on all lanes. */
  private long pendingBytes;

  private boolean isTotalUnwritable;

  public LaneWrites(Channel channel, Listener listener, PendingWrite.Queue queue) {
    this.channel = channel;
    this.listener = listener;
    this.queue = queue;
  }

  /** What waits on one lane: the lane's attachment while that is anything. */
  private final class Pending implements PendingWrite.Counter {

    private final Lane lane;
    private long bytes;
    private boolean isUnwritable;

    Pending(Lane lane) {
      this.lane = lane;
      lane.attachment(this);
    }

    @Override
    public void completed(PendingWrite write) {
      count(-(write.contentBytes() + OVERHEAD_BYTES));
    }

    /** More waits on the lane, or less. */
    private void count(int change) {
      bytes += change;
      pendingBytes += change;
      int high = channel.config().getWriteBufferHighWaterMark();
      int low = channel.config().getWriteBufferLowWaterMark();
      boolean wasUnwritable = isUnwritable;
      isUnwritable = wasUnwritable ? bytes > 0 && bytes >= low : bytes > high;
      if (bytes == 0 && equals(lane.attachment())) {
        lane.attachment(null);
      }
      updateTotal(low, high);
      if (isUnwritable != wasUnwritable && channel.isActive()) {
        listener.writabilityChanged(lane.id(), wasUnwritable);
      }
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

  /** Keeps a message of a lane that has no channel until it is flushed. */
  public void add(Lane lane, ByteBuf content, ChannelPromise promise) {
    Pending pending = pending(lane) == null ? new Pending(lane) : pending(lane);
    PendingWrite write = new PendingWrite(queue, pending, lane, content, promise);
    queue.add(write);
    pending.count(write.contentBytes() + OVERHEAD_BYTES);
  }

  private static Pending pending(Lane lane) {
    return lane != null && lane.attachment() instanceof Pending pending ? pending : null;
  }

  /**
   * Whether less waits on a lane than the water marks say.
   *
   * @param lane null if it has not been used
   */
  public boolean isWritable(Lane lane) {
    Pending pending = pending(lane);
    return pending == null || !pending.isUnwritable;
  }

  /**
   * How much waits on a lane, in bytes.
   *
   * @param lane null if it has not been used
   */
  public long pendingBytes(Lane lane) {
    Pending pending = pending(lane);
    return pending == null ? 0 : pending.bytes;
  }
}
