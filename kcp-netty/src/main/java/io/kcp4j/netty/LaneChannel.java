package io.kcp4j.netty;

import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.netty.internal.SessionPipeline;
import io.kcp4j.netty.internal.StacklessClosedChannelException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.AbstractChannel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.DefaultChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.ChannelOutputShutdownEvent;
import io.netty.channel.socket.ChannelOutputShutdownException;
import io.netty.util.internal.StringUtil;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;

/**
 * One lane of a {@link KcpChannel} as a channel. It reads and writes {@link ByteBuf}s, each of
 * which is a message. It lives on the event loop of the session's channel and closes with it.
 * Methods may be called by any thread.
 *
 * <p>Flushed messages wait in the queue of the lane, from where they leave when priorities, windows
 * and the peer's credit allow it; {@code isWritable} follows that by the water marks of the
 * channel. The future of a write completes as that of a {@link LaneMessage}, when all of the
 * message has been copied into segments, or when it is dropped. While {@code autoRead} is off,
 * messages count against the lane's part of the budget, and the peer stops sending on this lane; no
 * other lane notices that.
 *
 * <p>{@code close()} ends the lane behind what was flushed, which is sent after the channel has
 * closed, and discards what the peer sends. If the peer reads the lane no more, what waits and
 * further writes fail, {@link ChannelOutputShutdownEvent} is fired, and reading goes on. The
 * channel closes when the peer has ended the lane, and everything before has been read. The lane
 * may be begun again when both sides have ended it, as lane channels do when they close.
 */
public final class LaneChannel extends AbstractChannel {

  private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

  private final Config config = new Config(this);
  private final KcpLanes lanes;
  private final Lane lane;

  /** Made by the constructor of the superclass, so that it must have no initializer. */
  private LaneWriter writer;

  private final ChannelFutureListener closeWithSession = closed -> sessionClosed();

  private boolean isReadPending;
  private boolean isReadScheduled;

  /** Whether the peer reads the lane no more. */
  private boolean isOutputStopped;

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
  protected DefaultChannelPipeline newChannelPipeline() {
    return new SessionPipeline(this);
  }

  @Override
  public Unsafe unsafe() {
    if (writer == null) {
      writer = new LaneWriter(this, super.unsafe());
    }
    return writer;
  }

  KcpLanes lanes() {
    return lanes;
  }

  Lane laneOfSession() {
    return lane;
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
    lanes.attach(lane, this);
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

  /**
   * A lane cannot move to another event loop. Netty would fire {@code channelInactive} after it has
   * removed the handlers.
   */
  @Override
  protected void doDeregister() {
    if (isOpen()) {
      closeNow();
      pipeline().fireChannelInactive();
    }
  }

  @Override
  protected void doClose() {
    if (isOpen) {
      isOpen = false;
      isActive = false;
      writer.failUnflushed(new ClosedChannelException());
      endLane();
    }
  }

  /** Ends the lane, if it is this channel's, behind what was flushed. */
  private void endLane() {
    if (!equals(lane.attachment()) || !parent().isActive()) {
      return;
    }
    isOutputStopped |= lane.takeOutputStop();
    if (isOutputHeld()) {
      return; // Not before the peer has read the earlier end.
    }
    writer.send();
    parent().closeFuture().removeListener(closeWithSession);
    lanes.attach(lane, null);
    if (!isOutputStopped) { // Else it has ended already.
      lane.shutdownOutput();
    }
    lane.discardInput();
    lanes.inputRead();
  }

  private void sessionClosed() {
    close();
    writer.failFlushed(new StacklessClosedChannelException(null));
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
    progressed();
    if (parent().isActive()) {
      lanes.inputRead();
    }
  }

  /** Cancels the request because {@code autoRead} was switched off. From any thread. */
  private void autoReadCleared() {
    if (!isRegistered() || eventLoop().inEventLoop()) {
      isReadPending = false;
    } else {
      eventLoop().execute(() -> isReadPending = config.isAutoRead());
    }
  }

  /** Something has happened on the lane: see {@link io.kcp4j.internal.lanes.Lanes#nextNews}. */
  void progressed() {
    if (!isOpen) {
      endLane();
      return;
    }
    try {
      if (lane.takeOutputStop()) {
        outputStopped();
      }
      writer.send();
      if (isReadPending && isActive && lane.hasInput()) {
        readAvailable();
      }
    } catch (RuntimeException | Error e) { // Such as of the user's RecvByteBufAllocator.
      pipeline().fireExceptionCaught(e);
      closeNow();
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
      closeNow(); // Takes the end.
    }
  }

  private void closeNow() {
    unsafe().close(unsafe().voidPromise());
  }

  // Writing

  /** Why a message cannot be written, or null. */
  Exception refusal(Object message) {
    if (!isActive) {
      return isOpen ? new NotYetConnectedException() : new ClosedChannelException();
    }
    if (isOutputStopped || !lanes.isOutputOpen()) {
      writer.stop();
      return new ChannelOutputShutdownException("output is shut down: " + this);
    }
    if (!(message instanceof ByteBuf content)) {
      return new UnsupportedOperationException(
          "unsupported message type: "
              + StringUtil.simpleClassName(message)
              + " (expected: ByteBuf)");
    }
    return KcpLanes.sizeRefusal(lane, content);
  }

  /** Whether the peer has not read all that an earlier channel of the lane has sent. */
  boolean isOutputHeld() {
    return !isOutputStopped && !lane.isOutputOpen();
  }

  /** The peer reads the lane no more. */
  private void outputStopped() {
    isOutputStopped = true;
    writer.failFlushed(new StacklessClosedChannelException(null));
    writer.stop();
    pipeline().fireUserEventTriggered(ChannelOutputShutdownEvent.INSTANCE);
  }

  @Override
  protected void doWrite(ChannelOutboundBuffer in) {
    writer.flushed();
  }

  /** The configuration. {@code ALLOCATOR} is by default the session's. */
  private static final class Config extends DefaultChannelConfig {

    Config(LaneChannel channel) {
      super(channel);
      setAllocator(channel.parent().config().getAllocator());
    }

    @Override
    protected void autoReadCleared() {
      ((LaneChannel) channel).autoReadCleared();
    }
  }

  private final class LaneUnsafe extends AbstractUnsafe {

    @Override
    public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
      promise.setFailure(
          new UnsupportedOperationException("connect: " + remote + " (expected: none for a lane)"));
    }
  }
}
