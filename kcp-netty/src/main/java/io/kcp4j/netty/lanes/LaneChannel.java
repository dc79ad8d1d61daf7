package io.kcp4j.netty.lanes;

import io.kcp4j.lanes.Lane;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneSend;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpLanes;
import io.kcp4j.netty.LaneListener;
import io.netty.buffer.ByteBuf;
import io.netty.channel.AbstractChannel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.util.internal.StringUtil;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;

/**
 * One lane of a {@link KcpChannel} as a channel. It reads and writes {@link ByteBuf}s, each of
 * which is a message. It lives on the event loop of the session's channel and closes with it.
 * Methods may be called by any thread.
 *
 * <p>The future of a write succeeds when the message is in the queue of the lane, from where it
 * leaves when priorities, windows and the peer's credit allow it. While that holds as much as the
 * high water mark of the channel, writes wait in the outbound buffer, and {@code isWritable}
 * becomes false by the water marks. While {@code autoRead} is off, messages count against the
 * lane's part of the budget, and the peer stops sending on this lane; no other lane notices that.
 *
 * <p>{@code close()} sends what was flushed, ends the lane and discards what the peer sends. The
 * peer's channel closes when it has read everything. The lane may be begun again when both sides
 * have ended it, as lane channels do when they close.
 */
public final class LaneChannel extends AbstractChannel implements LaneListener {

  private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

  private final LaneChannelConfig config = new LaneChannelConfig(this);
  private final KcpLanes lanes;
  private final Lane lane;

  private final ChannelFutureListener closeWithSession = closed -> close();

  private boolean isReadPending;
  private boolean isReadScheduled;
  private boolean isFlushScheduled;
  private volatile boolean isOpen = true;
  private volatile boolean isActive;

  LaneChannel(KcpChannel session, Lane lane) {
    super(session);
    this.lanes = session.lanes();
    this.lane = lane;
  }

  /** The channel of the session. */
  @Override
  public KcpChannel parent() {
    return (KcpChannel) super.parent();
  }

  /** The lane's id, which both sides know. */
  public int lane() {
    return lane.id();
  }

  /** How this side sends on the lane. */
  public LaneConfig laneConfig() {
    return lane.config();
  }

  /** The largest message that may be written, in bytes. */
  public int maxMessageBytes() {
    return lane.maxMessageBytes();
  }

  @Override
  public ChannelConfig config() {
    return config;
  }

  @Override
  public ChannelMetadata metadata() {
    return METADATA;
  }

  @Override
  public boolean isOpen() {
    return isOpen;
  }

  @Override
  public boolean isActive() {
    return isActive;
  }

  @Override
  protected boolean isCompatible(EventLoop loop) {
    return loop == parent().eventLoop();
  }

  @Override
  protected AbstractUnsafe newUnsafe() {
    return new LaneUnsafe();
  }

  @Override
  protected SocketAddress localAddress0() {
    return parent().localAddress();
  }

  @Override
  protected SocketAddress remoteAddress0() {
    return parent().remoteAddress();
  }

  @Override
  protected void doRegister(ChannelPromise promise) {
    if (!parent().isActive()) {
      promise.setFailure(new ClosedChannelException());
      return;
    }
    isActive = true;
    parent().closeFuture().addListener(closeWithSession);
    lanes.listener(lane, this);
    promise.setSuccess();
  }

  @Override
  protected void doBind(SocketAddress local) {
    throw new UnsupportedOperationException("bind: " + local + " (expected: none for a lane)");
  }

  @Override
  protected void doDisconnect() {
    doClose();
  }

  @Override
  protected void doClose() {
    if (isOpen) {
      isOpen = false;
      isActive = false;
      parent().closeFuture().removeListener(closeWithSession);
      if (equals(lane.attachment()) && parent().isActive()) {
        lanes.listener(lane, null);
        lane.shutdownOutput();
        lane.discardInput();
        lanes.flush();
      }
    }
  }

  // Reading

  @Override
  protected void doBeginRead() {
    isReadPending = true;
    if (!isReadScheduled && lane.hasInput()) {
      isReadScheduled = true;
      eventLoop().execute(this::readScheduled);
    }
  }

  private void readScheduled() {
    isReadScheduled = false;
    laneProgressed();
    if (parent().isActive()) {
      lanes.flush(); // The peer may wait for what was read.
    }
  }

  /** Cancels the request because {@code autoRead} was switched off. From any thread. */
  void autoReadCleared() {
    if (!isRegistered() || eventLoop().inEventLoop()) {
      isReadPending = false;
    } else {
      eventLoop().execute(() -> isReadPending = config.isAutoRead());
    }
  }

  @Override
  public void laneProgressed() {
    try {
      if (lane.takeOutputStop()) {
        closeForPeer();
      } else if (isReadPending && isActive && lane.hasInput()) {
        readAvailable();
      }
    } catch (RuntimeException | Error e) { // Such as of the user's RecvByteBufAllocator.
      pipeline().fireExceptionCaught(e);
      closeForPeer();
    }
  }

  private void readAvailable() {
    var handle = unsafe().recvBufAllocHandle();
    handle.reset(config);
    boolean isAny = false;
    while (isActive && lane.isReadable() && (!isAny || handle.continueReading())) {
      ByteBuf message = lane.receive();
      handle.attemptedBytesRead(message.readableBytes());
      handle.lastBytesRead(message.readableBytes());
      handle.incMessagesRead(1);
      isAny = true;
      isReadPending = false;
      pipeline().fireChannelRead(message);
    }
    if (isAny) {
      handle.readComplete();
      pipeline().fireChannelReadComplete();
    }
    if (isActive && lane.hasInput() && !lane.isReadable()) {
      closeForPeer(); // Takes the end.
    }
  }

  /** The peer has ended the lane, or reads it no more. */
  private void closeForPeer() {
    unsafe().close(voidPromise());
  }

  // Writing

  @Override
  protected Object filterOutboundMessage(Object message) {
    if (message instanceof ByteBuf content) {
      int max = lane.maxMessageBytes();
      if (content.readableBytes() <= max) {
        return message;
      }
      throw new IllegalArgumentException(
          "message: " + content.readableBytes() + " bytes (expected: <= " + max + ")");
    }
    throw new UnsupportedOperationException(
        "unsupported message type: "
            + StringUtil.simpleClassName(message)
            + " (expected: ByteBuf)");
  }

  @Override
  protected void doWrite(ChannelOutboundBuffer in) throws ClosedChannelException {
    if (in.current() != null && !isOutputOpen()) {
      throw new ClosedChannelException(); // The peer reads it no more, or the session has ended.
    }
    moveToLane(in, config.getWriteBufferHighWaterMark());
  }

  private boolean isOutputOpen() {
    return lane.isOutputOpen() && parent().isActive();
  }

  /** Moves messages to the lane, as long as less than so many bytes wait there. */
  private void moveToLane(ChannelOutboundBuffer in, int most) {
    boolean isAny = false;
    while (lane.queuedBytes() < most && in.current() instanceof ByteBuf content) {
      try {
        lane.send(new Write(content.retain()));
        in.remove();
        isAny = true;
      } catch (IllegalArgumentException e) { // The peer's limits are known since it was written.
        content.release();
        in.remove(e);
      }
    }
    if (isAny) {
      lanes.flush();
    }
  }

  /** A message in the lane's queue. */
  private final class Write extends LaneSend {

    Write(ByteBuf content) {
      super(content);
    }

    @Override
    protected void sent() {
      ChannelOutboundBuffer buffer = unsafe().outboundBuffer();
      boolean hasMore = isActive && buffer != null && !buffer.isEmpty();
      if (hasMore && !isFlushScheduled) {
        isFlushScheduled = true;
        eventLoop().execute(LaneChannel.this::flushMore);
      }
    }

    @Override
    protected void dropped(Drop reason) {}
  }

  private void flushMore() {
    isFlushScheduled = false;
    if (isActive) {
      unsafe().flush();
    }
  }

  private final class LaneUnsafe extends AbstractUnsafe {

    @Override
    public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
      promise.setFailure(
          new UnsupportedOperationException("connect: " + remote + " (expected: none for a lane)"));
    }

    /** What was flushed is sent before the end, however much it is. */
    @Override
    public void close(ChannelPromise promise) {
      ChannelOutboundBuffer flushed = outboundBuffer();
      if (isActive && flushed != null && isOutputOpen()) {
        moveToLane(flushed, Integer.MAX_VALUE);
      }
      super.close(promise);
    }
  }
}
