package io.kcp4j.netty;

import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.session.Session;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneStats;
import io.kcp4j.netty.internal.LaneWrites;
import io.kcp4j.netty.internal.PendingWrite;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPromise;
import java.nio.channels.ClosedChannelException;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * The lanes of a {@link KcpChannel}: see {@link KcpChannel#lanes}. {@link LaneMessage}s are written
 * to and read from the channel. Used by the channel's event loop.
 */
public final class KcpLanes {

  /** The approximate memory of a channel that is made for a lane, with its pipeline. */
  private static final int CHANNEL_BYTES = 4 * 1024;

  private final KcpChannel channel;
  private final Lanes lanes;
  private final PendingWrite.Queue queue;
  private final LaneWrites writes;

  /** The lanes that the channel's pipeline has to read. */
  private final LaneSet readable = new LaneSet();

  /** The lanes without a channel that this side has ended, and whose end the peer has not read. */
  private final LaneSet ending = new LaneSet();

  /** Makes channels of the lanes on which the peer begins to send; null for none. */
  private LaneMultiplexHandler multiplexer;

  private boolean isOpenReported;

  KcpLanes(KcpChannel channel, Lanes lanes) {
    this.channel = channel;
    this.lanes = lanes;
    queue = new PendingWrite.Queue(channel.session());
    writes = new LaneWrites(channel, this::fireWritability, queue);
  }

  /**
   * Whether the peer has shown that it has lanes. A client's connect succeeds when it has; a server
   * may write before, and its messages wait for that.
   */
  public boolean isOpen() {
    return lanes.isOpen();
  }

  /** How this side sends on a lane. */
  public LaneConfig config(int lane) {
    return lanes.lane(lane).config();
  }

  /**
   * Changes how this side sends on a lane.
   *
   * @throws IllegalArgumentException if the peer takes no such lane
   * @throws IllegalStateException if the kind would change, though the lane was begun and has not
   *     ended
   */
  public void config(int lane, LaneConfig config) {
    lanes.lane(lane).config(config);
    channel.session().markBegun();
  }

  /**
   * The largest message that may be written to a lane, in bytes.
   *
   * @throws IllegalArgumentException if the peer takes no such lane
   */
  public int maxMessageBytes(int lane) {
    return lanes.lane(lane).maxMessageBytes();
  }

  /**
   * Whether less waits on a lane than the channel's {@code WRITE_BUFFER_WATER_MARK} says: see
   * {@link LaneEvent}. All lanes together may have 16 times as much waiting before {@code
   * channel.isWritable()} becomes false. Only {@link LaneMessage}s count: the channel of a lane has
   * water marks of its own.
   */
  public boolean isWritable(int lane) {
    return writes.isWritable(lanes.find(lane));
  }

  /**
   * How much waits on a lane without a channel, in bytes; messages count a little more than their
   * content.
   */
  public long pendingBytes(int lane) {
    return writes.pendingBytes(lanes.find(lane));
  }

  /**
   * What has been sent and received on a lane, and what waits. Of a lane that has been used, other
   * threads may ask, too, and see recent values.
   *
   * @throws IllegalArgumentException if the peer takes no such lane
   */
  public LaneStats stats(int lane) {
    return lanes.lane(lane).stats();
  }

  /**
   * Ends a lane in this direction, behind what has been flushed: the peer gets {@link
   * LaneEvent.Type#INPUT_ENDED}. The lane may be begun again when the peer has read all of it: see
   * {@link LaneEvent.Type#END_READ}.
   */
  public void shutdownOutput(int lane) {
    Lane ended = lanes.lane(lane);
    ended.shutdownOutput();
    outputEnded(ended);
  }

  /** The same, and drops what waits, of which a part may have been sent. */
  public void abortOutput(int lane) {
    Lane ended = lanes.lane(lane);
    ended.abortOutput();
    outputEnded(ended);
  }

  private void outputEnded(Lane lane) {
    if (channelOf(lane) == null && !lane.isOutputOpen()) {
      ending.add(lane);
    }
    flush();
  }

  /** Discards what the peer sends on a lane until it ends the lane, for which it is asked. */
  public void discardInput(int lane) {
    Lane discarded = lanes.lane(lane);
    discarded.discardInput();
    readable.remove(discarded);
    inputRead();
  }

  // For lane channels

  /**
   * The lanes of a session.
   *
   * @throws IllegalStateException if it has none
   */
  static KcpLanes of(KcpChannel session) {
    KcpLanes lanes = session.lanes();
    if (lanes == null) {
      throw missing(session);
    }
    return lanes;
  }

  static IllegalStateException missing(KcpChannel session) {
    return new IllegalStateException(
        KcpChannelOption.DELIVERY
            + ": "
            + session.config().kcp().delivery()
            + " (expected: LANES, and a session)");
  }

  /** Why a message of this size cannot be sent on a lane, or null. */
  static Exception sizeRefusal(Lane lane, ByteBuf content) {
    int max = lane.maxMessageBytes();
    return content.readableBytes() <= max
        ? null
        : new IllegalArgumentException(
            "message: " + content.readableBytes() + " bytes (expected: <= " + max + ")");
  }

  /**
   * A lane of the session. The caller calls {@link #flush} after it has sent, and {@link
   * #inputRead} after it has received.
   */
  Lane lane(int id) {
    return lanes.lane(id);
  }

  /** The channel of a lane, or null. */
  static LaneChannel channelOf(Lane lane) {
    return lane.attachment() instanceof LaneChannel laneChannel ? laneChannel : null;
  }

  /** Whether lanes may send: the session has not ended, nor its output. */
  boolean isOutputOpen() {
    return channel.isActive() && !channel.isLingering() && !channel.isOutputShutdown();
  }

  /** Sends what waits, at the end of the event loop's turn. */
  void flush() {
    if (channel.isActive()) {
      channel.session().markBegun();
      channel.session().scheduleFlush();
    }
  }

  /** Messages or ends of lanes have been taken: the peer may wait for that, or have closed. */
  void inputRead() {
    flush();
    channel.inputRead(false);
  }

  /** Has a channel read a lane; null for the channel of the session. */
  void attach(Lane lane, LaneChannel laneChannel) {
    channel.session().markBegun();
    lane.attachment(laneChannel);
    ending.remove(lane);
    if (laneChannel != null && readable.remove(lane)) {
      laneChannel.progressed();
    }
  }

  /** Sets what makes channels of lanes on which the peer begins to send; null for nothing. */
  void multiplexer(LaneMultiplexHandler multiplexer) {
    this.multiplexer = multiplexer;
    lanes.attachmentBytes(multiplexer == null ? 0 : CHANNEL_BYTES);
  }

  /** The writes to all lanes. */
  PendingWrite.Queue queue() {
    return queue;
  }

  // Used by the channel

  /** The lanes of a session that this one replaces, which has not begun. */
  void replace(KcpLanes before) {
    multiplexer(before.multiplexer);
    before.close();
  }

  /** Why a message cannot be written, or null. */
  Exception refusal(LaneMessage message) {
    try {
      Lane lane = lanes.lane(message.lane());
      if (channelOf(lane) != null) {
        return new IllegalStateException(lane + ": has a channel (expected: none)");
      }
      return lane.isOutputOpen()
          ? sizeRefusal(lane, message.content())
          : new ClosedChannelException();
    } catch (IllegalArgumentException e) {
      return e;
    }
  }

  void write(LaneMessage message, ChannelPromise promise) {
    channel.session().markBegun();
    writes.add(lanes.lane(message.lane()), message.content(), promise);
  }

  private void fireWritability(int lane, boolean isWritable) {
    LaneEvent.Type type = isWritable ? LaneEvent.Type.WRITABLE : LaneEvent.Type.UNWRITABLE;
    channel.pipeline().fireUserEventTriggered(new LaneEvent(lane, type));
  }

  /** Passes what was written to its lanes; returns whether there was anything. */
  boolean flushWrites() {
    return queue.flush();
  }

  /** The session was flushed: completes what has left. Returns whether that was anything. */
  boolean flushed() {
    return queue.complete();
  }

  /** The session may have received something: tells the channels of lanes. */
  void progressed() {
    if (!isOpenReported && lanes.isOpen() && channel.isActive()) {
      isOpenReported = true;
      channel.pipeline().fireUserEventTriggered(KcpChannelEvent.LANES_OPEN);
    }
    for (Lane lane; (lane = lanes.nextNews()) != null; ) {
      LaneChannel laneChannel = findOrMakeChannel(lane);
      if (laneChannel != null) {
        laneChannel.progressed();
        continue;
      }
      if (lane.takeOutputStop()) {
        ending.add(lane);
        fire(lane, LaneEvent.Type.STOP_SENDING);
      }
      if (lane.isOutputOpen() && ending.remove(lane)) {
        fire(lane, LaneEvent.Type.END_READ);
      }
      if (lane.hasInput()) {
        readable.add(lane);
      }
    }
  }

  /** An end without messages begins no channel. */
  private LaneChannel findOrMakeChannel(Lane lane) {
    LaneChannel laneChannel = channelOf(lane);
    if (laneChannel == null
        && multiplexer != null
        && lane.inputKind() != null
        && !lane.isInputDiscarded()) {
      laneChannel = multiplexer.accept(channel, lane);
      lane.attachment(laneChannel);
    }
    return laneChannel;
  }

  private void fire(Lane lane, LaneEvent.Type type) {
    channel.pipeline().fireUserEventTriggered(new LaneEvent(lane.id(), type));
  }

  /** Whether the channel's pipeline has something to read. */
  boolean hasInput() {
    return !readable.isEmpty() || session().isUnreliableReceivable();
  }

  private Session session() {
    return channel.session().get();
  }

  /** The next message for the channel's pipeline, of each lane in turn; or null. Fires ends. */
  Object read() {
    ByteBuf unreliable = session().receiveUnreliable();
    if (unreliable != null) {
      return new UnreliableDatagram(unreliable);
    }
    for (Lane lane; (lane = readable.poll()) != null; ) {
      ByteBuf message = lane.receive();
      if (message != null) {
        if (lane.hasInput()) {
          readable.add(lane);
        }
        return new LaneMessage(lane.id(), message);
      }
      if (lane.takeInputEnd()) {
        fire(lane, LaneEvent.Type.INPUT_ENDED);
      }
    }
    return null;
  }

  /** Discards what the pipeline has not read. */
  void discard() {
    for (Lane lane; (lane = readable.poll()) != null; ) {
      for (ByteBuf message; (message = lane.receive()) != null; message.release()) {}
      lane.takeInputEnd();
    }
  }

  /** Fails the writes that wait, after the session has been closed. */
  void close() {
    readable.clear();
    queue.close();
  }

  /**
   * Lanes in the order in which they were added, each once. When it becomes empty it gives back the
   * memory that many lanes have taken.
   */
  private static final class LaneSet {

    /** The table for this many lanes is kept. */
    private static final int KEPT = 64;

    private Set<Lane> lanes = new LinkedHashSet<>();
    private boolean isLarge;

    boolean isEmpty() {
      return lanes.isEmpty();
    }

    void add(Lane lane) {
      lanes.add(lane);
      isLarge |= lanes.size() > KEPT;
    }

    /** Returns whether it was there. */
    boolean remove(Lane lane) {
      boolean isRemoved = lanes.remove(lane);
      shrink();
      return isRemoved;
    }

    /** Removes the first; null if there is none. */
    Lane poll() {
      Iterator<Lane> first = lanes.iterator();
      if (!first.hasNext()) {
        return null;
      }
      Lane lane = first.next();
      first.remove();
      shrink();
      return lane;
    }

    void clear() {
      lanes.clear();
      shrink();
    }

    private void shrink() {
      if (isLarge && lanes.isEmpty()) {
        lanes = new LinkedHashSet<>();
        isLarge = false;
      }
    }
  }
}
