package io.kcp4j.netty;

import io.kcp4j.CloseReason;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpStats;
import io.kcp4j.internal.session.Session;
import io.kcp4j.netty.internal.ConnectionMemory;
import io.kcp4j.netty.internal.SessionPipeline;
import io.kcp4j.netty.internal.StacklessClosedChannelException;
import io.kcp4j.netty.internal.endpoint.EventLoopContext;
import io.kcp4j.netty.internal.endpoint.KcpEndpoint;
import io.kcp4j.netty.internal.options.KcpSetting;
import io.kcp4j.netty.internal.udp.UdpTransport;
import io.netty.buffer.ByteBuf;
import io.netty.channel.AbstractChannel;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.DuplexChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.RejectedExecutionException;

/**
 * A channel with one KCP session: a client's, made by a {@code Bootstrap}, or one that a {@link
 * KcpServerChannel} has accepted. It reads and writes {@link ByteBuf}s, as a stream or as messages,
 * see {@link KcpChannelOption#DELIVERY}, and {@link UnreliableDatagram}s; with lanes it reads and
 * writes {@link LaneMessage}s. Methods may be called by any thread unless noted.
 *
 * <p>The future of a write succeeds when its bytes have been copied into the session's send queue.
 * While the send queue is full, writes wait in the channel's outbound buffer, and {@code
 * isWritable} becomes false by the channel's water marks. It is also false while the server's
 * memory limit leaves no room to send; each session then has one segment or message in flight at a
 * time. While {@code autoRead} is off, input fills the receive window, and the peer stops sending.
 *
 * <p>KCP has no handshake. A client is active as soon as its socket is connected, unless {@link
 * KcpChannelOption#CONNECT_PROBE} is set, and the first bytes begin the session at the peer. {@link
 * KcpChannelEvent}s tell what becomes known of the peer. {@code close()} waits until the peer has
 * acknowledged what was flushed, see {@link KcpChannelOption#LINGER}. If a session ends for another
 * reason than {@code close()}, the channel fires a {@link KcpSessionClosedException} and closes. A
 * server's channel whose peer has never shown that it receives what is sent to it only closes, and
 * exceptions that its handlers do not take are not logged: the peer's address may be forged.
 *
 * <p>KCP has no close notification. A peer that has kcp4j's extension is told of the end all the
 * same, see {@link io.kcp4j.KcpConfig#extension()}. Its channel then ends as one of TCP does: it
 * closes or, with {@code ALLOW_HALF_CLOSURE}, fires {@link
 * io.netty.channel.socket.ChannelInputShutdownEvent}, when everything before has been read. A read
 * takes that event as it takes input: while {@code autoRead} is off, the event waits for {@code
 * read()}, as on Netty's NIO sockets. Half-close works in the same way. {@link #abort}, and {@code
 * close()} without linger, end the peer's session at once.
 */
public final class KcpChannel extends AbstractChannel implements DuplexChannel {

  private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

  private enum State {
    OPEN,
    ACTIVE,
    CLOSED
  }

  private final KcpChannelConfig config;
  private final ChannelSession session = new ChannelSession(this);
  private final ChannelReader reader = new ChannelReader(this);
  private final ChannelClosure closure = new ChannelClosure(this);

  /** Null unless the session has lanes. */
  private volatile KcpLanes lanes;

  /** Null if a server has accepted the channel. */
  private final Connector connector;

  private volatile State state = State.OPEN;
  private volatile KcpEndpoint endpoint;
  private volatile InetSocketAddress localAddress;
  private volatile InetSocketAddress remoteAddress;
  private final KcpCounters endpointCounters;
  private volatile EndReason endReason;

  /** Made by the constructor of the superclass, so that it must have no initializer. */
  private KcpUnsafe unsafe;

  /** Whether the channel has joined the members of the endpoint, or is about to. */
  private boolean isMember;

  /** Makes a client's channel that is not registered yet. */
  public KcpChannel() {
    super(null);
    config = new KcpChannelConfig(this);
    connector = new Connector(this);
    endpointCounters = new KcpCounters();
  }

  /** Makes a child. Its session is made when it is registered, after its options are set. */
  KcpChannel(
      KcpServerChannel server,
      KcpEndpoint endpoint,
      KcpSetting.Cache configs,
      InetSocketAddress remote,
      int conv) {
    super(server);
    this.endpoint = endpoint;
    config = new KcpChannelConfig(this, configs, conv);
    connector = null;
    endpointCounters = server.counters();
    localAddress = server.localAddress();
    remoteAddress = remote;
  }

  @Override
  public KcpServerChannel parent() {
    return (KcpServerChannel) super.parent();
  }

  @Override
  public KcpChannelConfig config() {
    return config;
  }

  @Override
  public ChannelMetadata metadata() {
    return METADATA;
  }

  /** The conversation id; 0 before connecting, unless {@link KcpChannelOption#CONV} is set. */
  public int conv() {
    Session session = this.session.get();
    return session == null ? config.conv() : session.conv();
  }

  /**
   * The state of the session, or its last state if it is closed; all values are 0 before it begins.
   * Only on the event loop are all values of one moment.
   */
  public KcpStats stats() {
    return session.stats();
  }

  /**
   * The counters of the socket and of all its sessions: those of the server that has accepted this
   * channel, or those of the client's socket.
   */
  public KcpCounters endpointCounters() {
    return endpointCounters;
  }

  /**
   * The largest {@link UnreliableDatagram} that can be sent, in bytes of payload. 0 if none can,
   * because {@link io.kcp4j.KcpConfig#datagramQueue()} is 0, or the peer does not have the
   * extension and FEC is off. From any thread.
   */
  public int maxUnreliableBytes() {
    Session session = this.session.get();
    return session == null ? 0 : session.maxUnreliableBytes();
  }

  /**
   * The lanes of the session; null before it is made, and unless {@link KcpChannelOption#DELIVERY}
   * is {@link io.kcp4j.Delivery#LANES}. To be used on the event loop.
   */
  public KcpLanes lanes() {
    return lanes;
  }

  /** Why the session has ended; null before that, and after a {@code close()} that succeeded. */
  public EndReason endReason() {
    return endReason;
  }

  /**
   * What the peer's application has said about the end of the session: by {@link #close(int,
   * String)}, {@link #abort} or {@link AcceptFilter#refusal}; null if nothing. Of a close it is
   * known when everything before has been received, and so when the channel's input has ended. To
   * be used on the event loop.
   */
  public CloseReason peerReason() {
    Session session = this.session.get();
    return session == null ? null : session.peerReason();
  }

  @Override
  public InetSocketAddress localAddress() {
    return localAddress;
  }

  @Override
  public InetSocketAddress remoteAddress() {
    return remoteAddress;
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
  protected SocketAddress localAddress0() {
    return localAddress;
  }

  @Override
  protected SocketAddress remoteAddress0() {
    return remoteAddress;
  }

  @Override
  protected boolean isCompatible(EventLoop loop) {
    return UdpTransport.of(loop) != null;
  }

  @Override
  protected AbstractUnsafe newUnsafe() {
    return new BaseUnsafe();
  }

  @Override
  public Unsafe unsafe() {
    if (unsafe == null) {
      unsafe = new KcpUnsafe(this, super.unsafe());
    }
    return unsafe;
  }

  private BaseUnsafe baseUnsafe() {
    return (BaseUnsafe) super.unsafe();
  }

  @Override
  protected DefaultChannelPipeline newChannelPipeline() {
    return new Pipeline(this);
  }

  // Used by the parts of the channel.

  /** The socket, or null before registration. */
  KcpEndpoint endpoint() {
    return endpoint;
  }

  ChannelSession session() {
    return session;
  }

  ChannelReader reader() {
    return reader;
  }

  ChannelClosure closure() {
    return closure;
  }

  /** The session has been made, with these lanes or null. */
  void useLanes(KcpLanes lanes) {
    KcpLanes before = this.lanes;
    this.lanes = lanes;
    reader.useLanes(lanes);
    if (before == null) {
      return;
    }
    if (lanes == null) {
      before.close();
    } else {
      lanes.replace(before);
    }
  }

  /** Whether the channel is closing and waits for the peer. */
  boolean isLingering() {
    return closure.isLingering();
  }

  /** The exception of writes to a closed channel. */
  Exception closedBy() {
    return endReason == null ? new ClosedChannelException() : endException(endReason);
  }

  private KcpSessionClosedException endException(EndReason reason) {
    Session session = this.session.get();
    String detail = session == null ? "" : detail(reason, session);
    boolean isPeers = reason == EndReason.RESET || reason == EndReason.REFUSED;
    return new KcpSessionClosedException(
        reason, isPeers ? peerReason() : null, remoteAddress, detail);
  }

  private String detail(EndReason reason, Session session) {
    return switch (reason) {
      case HANDSHAKE_TIMEOUT -> parent() == null ? endpoint.unansweredDetail(session) : "";
      case DELIVERY_MISMATCHED -> session.deliveryMismatch();
      case RESET, REFUSED -> String.valueOf(session.peerReason());
      case LANES_UNSUPPORTED ->
          "DELIVERY is LANES here, which needs a kcp4j peer with LANES and the extension";
      default -> session.kcp().lossDetail();
    };
  }

  // Opening.

  @Override
  protected void doRegister(ChannelPromise promise) {
    // Any exception must fail the promise: Netty does not handle it.
    try {
      if (connector == null) {
        registerChild();
        promise.setSuccess();
      } else {
        connector.register(promise);
      }
    } catch (Throwable e) {
      promise.setFailure(e); // No socket or no cipher, or the user's congestion control throws.
    }
  }

  private void registerChild() throws ClosedChannelException {
    if (!endpoint.isOpen()) {
      throw new ClosedChannelException(); // The server has closed since.
    }
    isMember = true;
    endpoint.join(this);
    session.open(remoteAddress, config.conv());
    state = State.ACTIVE;
  }

  @Override
  protected void doBind(SocketAddress local) {
    if (config.mistake() != null) {
      throw config.mistake();
    }
    endpoint.bind(local);
    localAddress = endpoint.localAddress();
  }

  /** A client has its socket. */
  void socketOpened(KcpEndpoint endpoint) {
    this.endpoint = endpoint;
    isMember = true;
  }

  /** A client's socket is ready: makes the session. */
  void openSession(InetSocketAddress remote) {
    localAddress = endpoint.localAddress();
    remoteAddress = remote;
    int conv = config.conv() != 0 ? config.conv() : ChannelSession.randomConv();
    session.open(remoteAddress, conv);
    session.markBegun();
    endpoint.add(session.get());
  }

  /** A client is connected. */
  void activate() {
    state = State.ACTIVE;
  }

  private boolean isConnecting() {
    return connector != null && connector.isConnecting();
  }

  // The session's events.

  /** Completes connecting, if the peer has shown what that waits for. */
  void connectIfAnswered() {
    if (isConnecting() && hasConnected()) {
      connector.succeed();
    }
  }

  private boolean hasConnected() {
    return lanes == null
        ? session.kcp().counters().get(KcpCounter.SEGMENTS_IN) > 0
        : lanes.isOpen();
  }

  /** Writes what waits in the outbound buffer: the session may have room for it. */
  void writePending() {
    baseUnsafe().flush0();
  }

  /**
   * Input has been read, outside of a batch of input.
   *
   * @param isReadRequested whether handlers of this channel may learn of the end of its input
   */
  void inputRead(boolean isReadRequested) {
    closure.progressed(isReadRequested || reader.isPending());
  }

  /** Whether nothing but the end of the input is left to read. */
  boolean isInputEndUnreported() {
    return closure.isInputEndUnreported();
  }

  /** The peer has shown that it is at another address. */
  void moved(InetSocketAddress remote) {
    remoteAddress = remote;
  }

  /** Nobody listens at the peer's port, as the system reports. */
  void portUnreachable() {
    Session session = this.session.get();
    if (session == null || !isOpen()) {
      return;
    }
    switch (config.socketOptions().config().portUnreachable()) {
      case IGNORE -> {}
      case PROBE -> endpoint.portUnreachable(session);
      case END -> {
        endpoint.remove(session);
        ended(EndReason.PORT_UNREACHABLE);
      }
    }
  }

  /** The session cannot go on. */
  void ended(EndReason reason) {
    closure.ended(reason);
    KcpSessionClosedException cause = endException(reason);
    endReason = reason;
    if (isConnecting()) {
      connector.sessionEnded(cause);
      return;
    }
    if (!isLingering() && isReported(reason)) {
      pipeline().fireExceptionCaught(cause);
    }
    baseUnsafe().end(cause);
  }

  /** A flood of forged peers must not fill the log with exceptions. */
  private boolean isReported(EndReason reason) {
    boolean isMistakeOfPeer =
        reason == EndReason.LANES_UNSUPPORTED || reason == EndReason.DELIVERY_MISMATCHED;
    return !mayBeForged() && (parent() == null || !isMistakeOfPeer);
  }

  /** Whether the peer has not shown that it receives at its address, which may be forged. */
  boolean mayBeForged() {
    Session session = this.session.get();
    return parent() != null && session != null && !session.path().isValidated();
  }

  /** The pipeline of the channel. Of a server's channel, it logs at a limited rate. */
  private static final class Pipeline extends SessionPipeline {

    Pipeline(KcpChannel channel) {
      super(channel);
    }

    private KcpChannel session() {
      return (KcpChannel) channel();
    }

    @Override
    protected boolean isPeerErrorFired() {
      return !session().mayBeForged();
    }

    @Override
    protected ConnectionMemory memory() {
      return session().session.memory();
    }

    @Override
    protected boolean takeUnhandled(Channel source, Throwable cause) {
      if (session().parent() == null) {
        return false; // A client's user has chosen the peer.
      }
      if (!session().mayBeForged()) {
        session().endpoint.unhandled(source, cause);
      }
      return true;
    }
  }

  // Reading and writing.

  @Override
  protected void doBeginRead() {
    reader.begin();
  }

  @Override
  protected Object filterOutboundMessage(Object msg) throws IOException {
    return unsafe.filter(msg);
  }

  @Override
  protected void doWrite(ChannelOutboundBuffer in) {
    unsafe.write(in);
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
   * Tells the peer that nothing follows what has been written. The future succeeds when all of that
   * is in the session's send queue. It fails with {@link UnsupportedOperationException} if the peer
   * is known not to have the extension; see {@link io.kcp4j.KcpConfig#extension()}.
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

  /**
   * Closes the channel without waiting for the peer, and tells the peer, if it has the extension,
   * that the session was aborted: its channel fires a {@link KcpSessionClosedException} with this
   * code.
   *
   * @param code any number, for the peer's application
   */
  public ChannelFuture abort(int code) {
    if (eventLoop().inEventLoop()) {
      closure.abort(code);
    } else {
      eventLoop().execute(() -> closure.abort(code));
    }
    return closeFuture();
  }

  /**
   * Closes the channel like {@code close()}, and tells the peer why. From any thread. A peer that
   * has the extension gets everything that was flushed before, and then {@link #peerReason}; or it
   * learns that the close has failed, and gets no reason. No reason is sent in these cases: {@link
   * KcpChannelOption#LINGER} is 0; the channel is not active, or {@code close()} has been called;
   * the peer has closed; segments have room for less than 154 bytes.
   *
   * @param code any number, for the peer's application
   * @param text for people to read, at most {@value CloseReason#MAX_TEXT_BYTES} bytes in UTF-8
   * @return completes as that of {@code close()}; fails if the event loop has ended
   * @throws IllegalArgumentException if the text is longer
   */
  public ChannelFuture close(int code, String text) {
    CloseReason reason = new CloseReason(code, text);
    ChannelPromise promise = newPromise();
    try {
      if (eventLoop().inEventLoop()) {
        close(reason, promise);
      } else {
        eventLoop().execute(() -> close(reason, promise));
      }
    } catch (RejectedExecutionException e) {
      promise.tryFailure(e);
    }
    return promise;
  }

  private void close(CloseReason reason, ChannelPromise promise) {
    if (isActive()) {
      session.get().closeReason(reason);
    }
    close(promise);
  }

  /** Closes without waiting for the peer. */
  void closeNow() {
    baseUnsafe().closeNow();
  }

  @Override
  protected void doDisconnect() {
    doClose();
  }

  /** Aborts after an unexpected error while writing. */
  @Override
  protected void doShutdownOutput() {
    closeNow();
  }

  @Override
  protected void doDeregister() {
    if (isOpen()) {
      closeNow();
    }
  }

  @Override
  protected void doClose() {
    if (isOpen()) {
      state = State.CLOSED;
      EventLoopContext.runAll(
          reader::close,
          this::closeConnector,
          () -> session.close(endReason == null),
          closure::closed,
          unsafe::closeWrites,
          this::closeLanes,
          this::leave);
    }
  }

  private void closeLanes() {
    if (lanes != null) {
      lanes.close();
    }
  }

  private void closeConnector() {
    if (connector != null) {
      connector.close();
    }
  }

  private void leave() {
    if (isMember) {
      endpoint.leave(this);
    }
  }

  /** Netty's {@code Unsafe}, below {@link KcpUnsafe}. */
  private final class BaseUnsafe extends AbstractUnsafe {

    @Override
    public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
      if (promise.isDone() || !ensureOpen(promise)) {
        return;
      }
      Exception refusal =
          connector == null ? new AlreadyConnectedException() : connector.refusal(remote);
      if (refusal != null) {
        safeSetFailure(promise, refusal);
      } else {
        connector.connect(remote, local, promise);
      }
    }

    void closeNow() {
      super.close(voidPromise());
    }

    /** Closes, and fails pending writes with {@code cause}. */
    void end(KcpSessionClosedException cause) {
      close(voidPromise(), cause, new StacklessClosedChannelException(cause));
    }

    @Override
    protected void flush0() {
      super.flush0();
    }
  }
}
