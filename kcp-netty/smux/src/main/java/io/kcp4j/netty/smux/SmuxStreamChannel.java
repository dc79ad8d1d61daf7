package io.kcp4j.netty.smux;

import io.kcp4j.netty.internal.ConnectionMemory;
import io.kcp4j.netty.internal.SessionPipeline;
import io.kcp4j.netty.internal.StacklessClosedChannelException;
import io.kcp4j.smux.SmuxStream;
import io.netty.buffer.ByteBuf;
import io.netty.channel.AbstractChannel;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.ChannelOutputShutdownException;
import io.netty.channel.socket.DuplexChannel;
import io.netty.util.internal.StringUtil;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;

/**
 * A channel with one smux stream of a connection, which is its {@link #parent()}. Opened by a
 * {@link SmuxStreamChannelBootstrap}, or by the peer: see {@link SmuxHandler}. It reads and writes
 * {@link ByteBuf}s, as a stream of bytes, on the event loop of the connection. Methods may be
 * called by any thread.
 *
 * <p>Flushed writes wait in the channel's outbound buffer until the connection can send them and,
 * in version 2, the peer's window has room. So {@code isWritable} follows the stream, by the
 * channel's own water marks. The future of a write succeeds when its last byte has been passed to
 * the connection in a frame. While {@code autoRead} is off, input stays in the session's receive
 * buffer.
 *
 * <p>The directions end independently: {@link #shutdownOutput} sends FIN after what has been
 * written. At the peer's FIN, the channel closes, unless {@code ALLOW_HALF_CLOSURE} is set: then it
 * fires {@link io.netty.channel.socket.ChannelInputShutdownEvent}, which a read takes as it takes
 * input. While {@code autoRead} is off, the event waits for {@code read()}, as on Netty's NIO
 * sockets. The channel also closes when both directions have ended, the input by that event.
 *
 * <p>A peer that has closed the stream and receives more stops the output: pending writes fail with
 * a {@link io.kcp4j.smux.SmuxException}, {@link io.netty.channel.socket.ChannelOutputShutdownEvent}
 * is fired, and FIN follows. What the peer had sent can still be read.
 *
 * <p>{@code close()} waits until what was flushed and FIN have left, for {@link
 * io.kcp4j.smux.SmuxConfig#closeTimeoutMs()} at most. Meanwhile the channel is open, reads nothing
 * and fails further writes. A stream that was cut fires an {@link io.kcp4j.smux.SmuxException}, and
 * closes. If the connection ends, the channel closes when what was received has been read, or when
 * nothing is read for the same time, or for a second if other connections have no memory to
 * receive. Its pending writes fail at once.
 */
public final class SmuxStreamChannel extends AbstractChannel implements DuplexChannel {

  private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

  private enum State {
    OPEN,
    ACTIVE,
    CLOSED
  }

  private final SmuxConnection connection;
  private final SmuxStream stream;
  private final StreamEvents events;
  private final SmuxStreamChannelConfig config;
  private final StreamReader reader = new StreamReader(this);
  private final StreamWriter writer = new StreamWriter(this);
  private final StreamClosure closure;

  /** Whether the channel counts in the memory of the connection. */
  private final boolean isCharged;

  private volatile State state = State.OPEN;

  SmuxStreamChannel(
      Channel parent,
      SmuxConnection connection,
      SmuxStream stream,
      StreamEvents events,
      boolean isCharged) {
    super(parent, new SmuxStreamChannelId(parent.id(), stream.id()));
    this.connection = connection;
    this.stream = stream;
    this.events = events;
    this.isCharged = isCharged;
    config = new SmuxStreamChannelConfig(this);
    closure = new StreamClosure(this, events);
    events.attach(this);
    stream.source(writer);
  }

  /** The stream id, unsigned: odd if the client of the connection has opened the stream. */
  public int streamId() {
    return stream.id();
  }

  @Override
  public SmuxStreamChannelConfig config() {
    return config;
  }

  @Override
  public ChannelMetadata metadata() {
    return METADATA;
  }

  @Override
  public boolean isOpen() {
    return state != State.CLOSED;
  }

  @Override
  public boolean isActive() {
    return state == State.ACTIVE;
  }

  @Override
  protected boolean isCompatible(EventLoop loop) {
    return loop == parent().eventLoop();
  }

  @Override
  protected AbstractUnsafe newUnsafe() {
    return new StreamUnsafe();
  }

  @Override
  protected DefaultChannelPipeline newChannelPipeline() {
    return new SessionPipeline(this);
  }

  private StreamUnsafe streamUnsafe() {
    return (StreamUnsafe) unsafe();
  }

  /** The local address of the connection. */
  @Override
  protected SocketAddress localAddress0() {
    return parent().localAddress();
  }

  /** The remote address of the connection. */
  @Override
  protected SocketAddress remoteAddress0() {
    return parent().remoteAddress();
  }

  // Used by the parts of the channel.

  /** Whether the peer has opened the stream, so that the channel counts as its memory. */
  boolean isCharged() {
    return isCharged;
  }

  ConnectionMemory memory() {
    return connection.memory();
  }

  SmuxStream stream() {
    return stream;
  }

  StreamEvents events() {
    return events;
  }

  StreamReader reader() {
    return reader;
  }

  /** Whether handlers may receive input. */
  boolean isReading() {
    return isActive() && !closure.isInputShutdown() && !closure.isLingering();
  }

  /** Whether nothing but the end of the input is left to read. */
  boolean isInputEndUnreported() {
    return closure.isInputEndUnreported();
  }

  /** Whether anything that was flushed has not left as a frame, or its future is not complete. */
  boolean hasPendingOutput() {
    return writer.isPending();
  }

  /** Sends as much as the connection and the peer take now. */
  void sendNow() {
    connection.sendNow();
    writer.complete();
  }

  /** Whether the connection has ended, and nothing is kept any more of what it has received. */
  boolean isInputRevoked() {
    return connection.isEnded() && memory().isRevoked();
  }

  int closeTimeoutMs() {
    return connection.closeTimeoutMs();
  }

  /** Priority or weight have changed. From any thread. */
  void precedenceChanged() {
    EventLoop loop = parent().eventLoop();
    if (loop.inEventLoop()) {
      setPrecedence();
    } else {
      loop.execute(this::setPrecedence);
    }
  }

  private void setPrecedence() {
    stream.priority(config.priority());
    stream.weight(config.weight());
  }

  /** Acts on what the session has reported, or on a request to read. */
  void progressed() {
    if (!isActive()) {
      return;
    }
    try {
      writer.complete();
      boolean isReadRequested = reader.isPending();
      reader.readIfPending();
      if (isActive()) {
        closure.progressed(isReadRequested || reader.isPending());
      }
    } catch (RuntimeException | Error e) { // Such as of the user's RecvByteBufAllocator.
      pipeline().fireExceptionCaught(e);
      closeNow();
    }
  }

  // Registration.

  @Override
  protected void doRegister(ChannelPromise promise) {
    state = State.ACTIVE;
    events.enqueue(); // There may be input already.
    promise.setSuccess();
  }

  @Override
  protected void doBind(SocketAddress local) {
    throw new UnsupportedOperationException("bind: " + local + " (expected: not called)");
  }

  // Reading and writing.

  @Override
  protected void doBeginRead() {
    reader.begin();
  }

  @Override
  protected Object filterOutboundMessage(Object msg) throws IOException {
    if (closure.isLingering()) {
      throw new ClosedChannelException();
    }
    if (isActive() && closure.isOutputShutdown()) {
      throw new ChannelOutputShutdownException("output is shut down: " + this);
    }
    if (msg instanceof ByteBuf) {
      return msg;
    }
    throw new UnsupportedOperationException(
        "unsupported message type: " + StringUtil.simpleClassName(msg) + " (expected: ByteBuf)");
  }

  @Override
  protected void doWrite(ChannelOutboundBuffer in) {
    if (!events.isOutputEnded()) {
      writer.flushed(in);
    }
  }

  // Half-close.

  @Override
  public boolean isInputShutdown() {
    return closure.isInputShutdown();
  }

  /** Discards what the peer has sent and sends from now on. The peer is not told. */
  @Override
  public ChannelFuture shutdownInput() {
    return shutdownInput(newPromise());
  }

  @Override
  public ChannelFuture shutdownInput(ChannelPromise promise) {
    return closure.shutdownInput(promise);
  }

  @Override
  public boolean isOutputShutdown() {
    return closure.isOutputShutdown();
  }

  /**
   * Flushes, and tells the peer that nothing follows. Further writes fail. The future succeeds when
   * all of that has been passed to the connection.
   */
  @Override
  public ChannelFuture shutdownOutput() {
    return shutdownOutput(newPromise());
  }

  @Override
  public ChannelFuture shutdownOutput(ChannelPromise promise) {
    return closure.shutdownOutput(promise);
  }

  @Override
  public boolean isShutdown() {
    return isInputShutdown() && isOutputShutdown();
  }

  @Override
  public ChannelFuture shutdown() {
    return shutdown(newPromise());
  }

  @Override
  public ChannelFuture shutdown(ChannelPromise promise) {
    shutdownInput();
    return shutdownOutput(promise);
  }

  // Closing.

  /** The session ends, which releases what is not taken from it. */
  void keepInput() {
    closure.keepInput();
  }

  /** The connection's user ends the session: what was not read is released. */
  void discardInput() {
    closure.dropInput();
  }

  /** Closes without waiting for anything. */
  void closeNow() {
    streamUnsafe().closeNow();
  }

  /** Fails all writes; the channel stays open until its input has been read. */
  void failWrites() {
    streamUnsafe().failWrites();
  }

  /** Fails all writes, and ends the output. */
  void stopWrites(Throwable cause) {
    writer.fail(cause);
    failWrites();
  }

  /** Closes because of {@code cause}, which is reported unless it concerns the whole connection. */
  void end(Throwable cause) {
    if (!connection.isEnded() && SessionPipeline.isPeerErrorFired(this)) {
      pipeline().fireExceptionCaught(cause);
    }
    streamUnsafe().end(cause);
  }

  /** Called by {@link #failWrites}, and after an unexpected error while writing. */
  @Override
  protected void doShutdownOutput() {
    if (events.failure() == null && events.outputStop() == null) {
      closeNow();
    }
  }

  @Override
  protected void doDisconnect() {
    doClose();
  }

  /**
   * A stream cannot move to another event loop. Netty would fire {@code channelInactive} after it
   * has removed the handlers.
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
    if (isOpen()) {
      state = State.CLOSED;
      connection.remove(this);
      reader.release();
      stream.close();
      closure.closed();
    }
  }

  private final class StreamUnsafe extends AbstractUnsafe {

    @Override
    public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
      promise.tryFailure(
          new UnsupportedOperationException("connect: " + remote + " (expected: not called)"));
    }

    @Override
    public void close(ChannelPromise promise) {
      if (!closure.linger(promise)) {
        super.close(promise);
      }
    }

    void closeNow() {
      super.close(voidPromise());
    }

    void failWrites() {
      shutdownOutput(voidPromise());
    }

    void end(Throwable cause) {
      close(voidPromise(), cause, new StacklessClosedChannelException(cause));
    }
  }
}
