package io.kcp4j.netty;

import io.kcp4j.Delivery;
import io.kcp4j.Kcp;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpStats;
import io.kcp4j.MemoryBudget;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.netty.udp.UdpTransport;
import io.kcp4j.session.EndReason;
import io.kcp4j.session.Session;
import io.kcp4j.session.SessionDirectory;
import io.kcp4j.session.TimerWheel;
import io.netty.buffer.ByteBuf;
import io.netty.channel.AbstractChannel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.PromiseNotifier;
import io.netty.util.internal.StringUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.UnresolvedAddressException;
import java.security.SecureRandom;

/**
 * A KCP session: a client's, to be named in a {@code Bootstrap}, or one that a {@link
 * KcpServerChannel} has accepted. It reads and writes {@link ByteBuf}s, as a stream or as messages,
 * see {@link KcpChannelOption#DELIVERY}, and {@link UnreliableDatagram}s beside them.
 *
 * <p>A write's future succeeds when its bytes have been copied into the session's send queue. While
 * that is full, writes wait in the channel's outbound buffer, and {@code isWritable} turns false by
 * the channel's water marks; so it does while the server's memory limit leaves no room to send, and
 * each session has one segment or message under way at a time. While {@code autoRead} is off, what
 * arrives fills the receive window, and the peer stops.
 *
 * <p>KCP has no handshake: a client is active as soon as its socket is connected, unless {@link
 * KcpChannelOption#CONNECT_PROBE} is set, and the peer learns of a session from its first bytes. It
 * has no end either: {@code close()} waits for the peer to acknowledge what was flushed, see {@link
 * KcpChannelOption#LINGER}, and tells the peer nothing. A session that ends for another reason than
 * {@code close()} sends a {@link KcpEndException} through the pipeline and closes.
 */
public final class KcpChannel extends AbstractChannel {

  private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);

  private static final InternalLogger logger = InternalLoggerFactory.getInstance(KcpChannel.class);

  private static final SecureRandom RANDOM = new SecureRandom();

  private static final KcpStats NO_STATS = new KcpStats(0, 0, 0, 0, 0, 0, 0, 0, new KcpCounters());

  /** Of the user-defined bits of a channel's writability the one that users least expect. */
  private static final int LINGER_WRITABILITY = 31;

  private static final int MEMORY_WRITABILITY = 30;

  private static final int CONNECT_PROBE_INTERVAL_MS = 200;

  private enum State {
    OPEN,
    ACTIVE,
    CLOSED
  }

  private final KcpChannelConfig config;
  private final KcpCounters endpointCounters;
  private final Runnable readTask = this::readLater;

  private volatile State state = State.OPEN;
  private volatile KcpEndpoint endpoint;
  private volatile InetSocketAddress localAddress;
  private volatile InetSocketAddress remoteAddress;
  private volatile Session session;

  /** Set when the session is closed. */
  private volatile KcpStats lastStats;

  private volatile EndReason endReason;

  /** Whether anything has been sent or received, so that the delivery is fixed. */
  private volatile boolean begun;

  /** Made on first use, which is by the superclass's constructor: no initializer may reset it. */
  private Unsafe unsafe;

  /** What an accepted channel shows as its unsafe until it is registered. */
  private Unsafe redirected;

  /** Null until the first unreliable datagram is written. */
  private UnreliableWrites unreliableWrites;

  private ChannelPromise connectPromise;

  /** The one deadline of its own that a channel has at a time: for connecting or for closing. */
  private TimerWheel.Entry timer;

  private boolean lingering;

  /** Whether the memory limit keeps the first write that waits from the send queue. */
  private boolean shortOfMemory;

  private boolean readPending;
  private boolean readScheduled;

  /** What a read has left of a buffer because it was larger than the reader's limit. */
  private ByteBuf leftover;

  /** Makes a client's channel, which is to be registered and connected. */
  public KcpChannel() {
    super(null);
    config = new KcpChannelConfig(this);
    endpointCounters = new KcpCounters();
  }

  /** Makes a child. Its settings come before its session, which is made on registration. */
  KcpChannel(
      KcpServerChannel server,
      KcpEndpoint endpoint,
      KcpConfigCache configs,
      InetSocketAddress remote,
      int conv) {
    super(server);
    this.endpoint = endpoint;
    config = new KcpChannelConfig(this, configs, conv);
    endpointCounters = server.counters();
    localAddress = server.localAddress();
    remoteAddress = remote;
    redirected = new RedirectedUnsafe(super.unsafe(), endpoint.eventLoop());
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

  /** The conversation id; 0 while a client that chooses its own has not connected. */
  public int conv() {
    Session session = this.session;
    return session == null ? config.conv() : session.conv();
  }

  /**
   * The session's state, after closing its last; all zero before it has begun. From any thread, but
   * only on the event loop are all values of the same moment.
   */
  public KcpStats stats() {
    KcpStats last = lastStats;
    Session session = this.session;
    if (last != null) {
      return last;
    }
    return session == null ? NO_STATS : session.kcp().stats();
  }

  /**
   * What the socket and all its sessions have counted: a client's own, or the server's that has
   * accepted this channel. From any thread.
   */
  public KcpCounters endpointCounters() {
    return endpointCounters;
  }

  /**
   * The largest {@link UnreliableDatagram} that can be sent, in bytes of payload; 0 while none can,
   * because {@link KcpChannelOption#UNRELIABLE_QUEUE} is not set or FEC is off. From any thread.
   */
  public int maxUnreliableBytes() {
    Session session = this.session;
    return session == null ? 0 : session.maxUnreliableBytes();
  }

  /** Why the session ended, or null while it has not or if its user has closed it. */
  public EndReason endReason() {
    return endReason;
  }

  /** The socket, or null before registration. */
  KcpEndpoint endpoint() {
    return endpoint;
  }

  /** When the session has to be flushed at the latest; see {@link Kcp#nextDeadline}. */
  long nextDeadline() {
    return session.kcp().nextDeadline();
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
    return new KcpUnsafe();
  }

  @Override
  public Unsafe unsafe() {
    if (redirected != null) {
      return redirected;
    }
    if (unsafe == null) {
      unsafe = new DatagramUnsafe(super.unsafe());
    }
    return unsafe;
  }

  private KcpUnsafe kcpUnsafe() {
    return (KcpUnsafe) super.unsafe();
  }

  // Beginning.

  @Override
  protected void doRegister(ChannelPromise promise) {
    // Whatever is thrown has to reach the promise: that of Netty's caller would never be done.
    if (parent() != null) {
      redirected = null;
      try {
        registerChild();
      } catch (Throwable e) {
        promise.setFailure(e); // The user's congestion control may throw.
        return;
      }
      promise.setSuccess();
      return;
    }
    ChannelFuture registered;
    try {
      endpoint = newEndpoint();
      registered = endpoint.register(this);
    } catch (Throwable e) {
      promise.setFailure(e); // No socket is to be had, or no cipher.
      return;
    }
    PromiseNotifier.cascade(false, registered, promise);
  }

  private void registerChild() throws ClosedChannelException {
    if (!endpoint.isOpen()) {
      throw new ClosedChannelException(); // The server has closed meanwhile.
    }
    endpoint.join(this);
    begin(remoteAddress, config.conv());
    state = State.ACTIVE;
  }

  private KcpEndpoint newEndpoint() {
    return new KcpEndpoint(
        eventLoop(),
        new Dialler(),
        config.socketOptions(),
        new KcpContext(config.getAllocator(), MemoryBudget.unlimited(), endpointCounters),
        config.keyRing(),
        SessionDirectory.ofOne(0),
        KcpEndpoint.DEFAULT_MAX_DATAGRAM_BYTES,
        false);
  }

  /** Makes the session; if that fails, the one that there was before stays. */
  private void begin(InetSocketAddress remote, int conv) {
    Session before = session;
    Kcp kcp = new Kcp(conv, config.kcp(), endpoint.context(), RANDOM.nextInt());
    session = endpoint.newSession(remote, kcp, this);
    try {
      applyConfig();
    } catch (RuntimeException | Error e) {
      session.close();
      session = before;
      throw e;
    }
    if (before != null) {
      before.close();
    }
  }

  /**
   * The session of a child that has been through the server's pipeline, for the table to add, or
   * null if nobody wanted it.
   */
  Session accepted() {
    if (session == null) {
      unsafe().closeForcibly();
      return null;
    }
    begun = true;
    if (!isOpen()) {
      endpoint.rememberClosed(session);
      return null;
    }
    return session;
  }

  @Override
  protected void doBind(SocketAddress local) {
    if (config.keyRingMistake() != null) {
      throw config.keyRingMistake();
    }
    endpoint.bind(local);
    localAddress = endpoint.localAddress();
  }

  private void connected(Future<?> future) {
    if (!isOpen()) {
      return;
    }
    if (!future.isSuccess()) {
      failConnect(future.cause());
      return;
    }
    localAddress = endpoint.localAddress();
    remoteAddress = endpoint.remoteAddress();
    try {
      begin(remoteAddress, config.conv() != 0 ? config.conv() : randomConv());
      begun = true;
      endpoint.add(session);
    } catch (Throwable e) { // The user's congestion control may throw.
      failConnect(e);
      return;
    }
    if (config.isConnectProbe()) {
      ConnectProbe probe = new ConnectProbe();
      timer = probe;
      probe.expire(endpoint.nowMs());
    } else {
      activate();
    }
  }

  private static int randomConv() {
    int conv;
    do {
      conv = RANDOM.nextInt();
    } while (conv == 0);
    return conv;
  }

  private void activate() {
    cancelTimer();
    state = State.ACTIVE;
    ChannelPromise promise = connectPromise;
    connectPromise = null;
    boolean wanted = promise.trySuccess();
    pipeline().fireChannelActive();
    if (!wanted) {
      unsafe().close(unsafe().voidPromise());
    }
  }

  private void failConnect(Throwable cause) {
    ChannelPromise promise = connectPromise;
    connectPromise = null;
    promise.tryFailure(cause);
    kcpUnsafe().closeNow();
  }

  /** Asks the peer for a sign of life until it gives one or the time is up. */
  private final class ConnectProbe extends TimerWheel.Entry {

    private final int timeoutMs = config.getConnectTimeoutMillis();
    private final long startMs = endpoint.nowMs();

    @Override
    protected void expire(long nowMs) {
      long leftMs = timeoutMs == 0 ? Long.MAX_VALUE : startMs + timeoutMs - nowMs;
      if (leftMs <= 0) {
        failConnect(
            new ConnectTimeoutException("no answer within " + timeoutMs + " ms: " + remoteAddress));
        return;
      }
      session.kcp().probe();
      endpoint.touch(session);
      endpoint.arm(this, Math.min(CONNECT_PROBE_INTERVAL_MS, leftMs));
    }
  }

  /** What a client's socket reports. */
  private final class Dialler implements KcpEndpoint.Owner {
    @Override
    public void failed(IOException cause) {
      // Once connected, a peer that cannot be reached now may well come back.
      if (connectPromise != null && cause instanceof PortUnreachableException) {
        failConnect(kcpUnsafe().refused(cause));
      }
    }
  }

  // Settings.

  /** Whether it is too late to change what both sides must agree upon. */
  boolean hasBegun() {
    return begun;
  }

  /** The configuration has changed. From any thread. */
  void reconfigured() {
    if (session == null) {
      return;
    }
    if (eventLoop().inEventLoop()) {
      applyConfig();
    } else {
      eventLoop().execute(this::applyConfigLater);
    }
  }

  /** Whoever has changed the configuration is on another thread, and cannot be told. */
  private void applyConfigLater() {
    KcpConfig settings = config.kcp();
    FecConfig fec = config.fec();
    try {
      applyConfig();
    } catch (Throwable e) { // The user's congestion control may throw.
      logger.warn("{} goes on with settings that it had", this, e);
      config.refused(settings, session.kcp().config());
      config.fecRefused(fec, session.fecConfig());
    }
  }

  private void applyConfig() {
    Session session = this.session;
    if (!isOpen()) {
      return;
    }
    KcpConfig settings = config.kcp();
    if (!begun && session.kcp().config() != settings) {
      begin(session.remote(), session.conv());
      return;
    }
    session.keepAliveIntervalMs(config.keepAliveIntervalMs());
    session.idleTimeoutMs(config.idleTimeoutMs());
    session.unreliableLimit(config.unreliableQueue());
    if (session.kcp().config() != settings || session.fecConfig() != config.fec()) {
      applySettings(settings, config.fec());
    }
    if (parent() == null) {
      endpoint.keyRing(config.keyRing());
    }
  }

  /** FEC may refuse another ratio; the rest changes nevertheless. */
  private void applySettings(KcpConfig settings, FecConfig fec) {
    FecConfig inForce = session.fecConfig();
    try {
      session.reconfigure(settings, fec);
    } catch (IllegalStateException e) {
      config.fecRefused(fec, inForce);
      session.reconfigure(settings, inForce);
      throw e;
    } finally {
      endpoint.touch(session);
    }
  }

  // The session's events.

  /** The session may have something to read, or room for what waits to be written. */
  void progressed() {
    if (connectPromise != null && session.kcp().counters().get(KcpCounter.SEGMENTS_IN) > 0) {
      activate();
    }
    if (readPending) {
      readAvailable();
    }
    if (isActive()) {
      kcpUnsafe().flush0();
    }
    if (lingering && isDrained()) {
      kcpUnsafe().closeNow();
    }
  }

  /** The session cannot go on, and the table has dropped it. */
  void ended(EndReason reason) {
    KcpEndException cause = new KcpEndException(reason, remoteAddress);
    if (connectPromise != null) {
      endReason = reason;
      failConnect(cause);
    } else if (lingering) {
      kcpUnsafe().closeNow();
    } else {
      endReason = reason;
      pipeline().fireExceptionCaught(cause);
      kcpUnsafe().end(cause);
    }
  }

  // Reading.

  @Override
  protected void doBeginRead() {
    readPending = true;
    if (!readScheduled && isReadable()) {
      readScheduled = true;
      eventLoop().execute(readTask);
    }
  }

  void clearReadPending() {
    if (!isRegistered() || eventLoop().inEventLoop()) {
      readPending = false;
    } else {
      eventLoop().execute(() -> readPending = config.isAutoRead());
    }
  }

  private boolean isReadable() {
    return isActive()
        && !lingering
        && (leftover != null || session.kcp().isReceivable() || session.isUnreliableReceivable());
  }

  private void readLater() {
    readScheduled = false;
    if (readPending && isReadable()) {
      readAvailable();
      endpoint.touch(session); // The peer may wait for the window to open.
    }
  }

  private void readAvailable() {
    if (!isReadable()) {
      return;
    }
    var handle = unsafe().recvBufAllocHandle();
    handle.reset(config);
    do {
      ByteBuf unreliable = session.receiveUnreliable();
      ByteBuf read = unreliable != null ? unreliable : nextBuffer(handle.guess());
      int bytes = read.readableBytes();
      handle.attemptedBytesRead(bytes);
      handle.lastBytesRead(bytes);
      handle.incMessagesRead(1);
      readPending = false;
      pipeline().fireChannelRead(unreliable != null ? new UnreliableDatagram(read) : read);
    } while (isReadable() && handle.continueReading());
    handle.readComplete();
    pipeline().fireChannelReadComplete();
  }

  private ByteBuf nextBuffer(int limit) {
    ByteBuf next = leftover != null ? leftover : session.kcp().receive();
    if (next.readableBytes() > limit && config.kcp().delivery() == Delivery.STREAM) {
      leftover = next;
      return next.readRetainedSlice(limit);
    }
    leftover = null;
    return next;
  }

  // Writing.

  @Override
  protected Object filterOutboundMessage(Object msg) throws ClosedChannelException {
    if (lingering) {
      throw new ClosedChannelException();
    }
    if (msg instanceof ByteBuf) {
      return msg;
    }
    throw new UnsupportedOperationException(
        "unsupported message type: "
            + StringUtil.simpleClassName(msg)
            + " (expected: ByteBuf, UnreliableDatagram)");
  }

  @Override
  protected void doWrite(ChannelOutboundBuffer in) {
    begun = true;
    Kcp kcp = session.kcp();
    boolean sent = false;
    for (Object message = in.current(); message != null; message = in.current()) {
      if (message instanceof ByteBuf data) {
        int before = data.readableBytes();
        boolean all;
        try {
          all = kcp.send(data);
        } catch (IllegalArgumentException e) {
          in.remove(e); // Larger than any message can be.
          continue;
        }
        sent |= all || data.readableBytes() < before;
        in.progress(before - data.readableBytes());
        if (!all) {
          break;
        }
      }
      in.remove();
    }
    boolean isShort = kcp.isSendShort();
    if (isShort != shortOfMemory) {
      shortOfMemory = isShort;
      in.setUserDefinedWritability(MEMORY_WRITABILITY, !isShort);
    }
    if (sent || kcp.isSendHeldUp()) {
      endpoint.touch(session); // If the allocator had no memory, it will be asked again.
    }
  }

  /** Takes unreliable datagrams past the outbound buffer, see {@link UnreliableWrites}. */
  private final class DatagramUnsafe extends ForwardingUnsafe {

    DatagramUnsafe(Unsafe unsafe) {
      super(unsafe);
    }

    @Override
    public void write(Object msg, ChannelPromise promise) {
      if (!(msg instanceof UnreliableDatagram datagram)) {
        super.write(msg, promise);
        return;
      }
      Exception refusal = unreliableRefusal(datagram.content());
      if (refusal != null) {
        datagram.release();
        if (!promise.isVoid()) {
          promise.tryFailure(refusal);
        }
        return;
      }
      if (unreliableWrites == null) {
        unreliableWrites = new UnreliableWrites(eventLoop(), KcpChannel.this::closedBy);
      }
      int dropped = unreliableWrites.add(datagram.content(), promise, config.unreliableQueue());
      session.kcp().counters().add(KcpCounter.UNRELIABLE_DROPPED, dropped);
    }

    @Override
    public void flush() {
      if (unreliableWrites != null && isActive() && unreliableWrites.flush(session)) {
        begun = true;
        endpoint.touch(session);
      }
      super.flush();
    }
  }

  /** Why an unreliable datagram cannot be sent, or null. */
  private Exception unreliableRefusal(ByteBuf content) {
    if (!isOpen() || lingering) {
      return closedBy();
    }
    if (!isActive()) {
      return new NotYetConnectedException();
    }
    if (config.unreliableQueue() == 0) {
      return new IllegalStateException(
          KcpChannelOption.UNRELIABLE_QUEUE
              + ": 0 (expected: >= 1, to send an UnreliableDatagram)");
    }
    if (!session.fecConfig().isEncoding()) {
      return new IllegalStateException(
          KcpChannelOption.FEC + ": off (expected: on, to send an UnreliableDatagram)");
    }
    int max = session.maxUnreliableBytes();
    return content.readableBytes() <= max
        ? null
        : new IllegalArgumentException(
            "datagram: " + content.readableBytes() + " bytes (expected: <= " + max + ")");
  }

  /** What writes fail with that come after the end. */
  private Exception closedBy() {
    return endReason == null
        ? new ClosedChannelException()
        : new KcpEndException(endReason, remoteAddress);
  }

  /** Whether the peer has everything that was flushed. */
  private boolean isDrained() {
    ChannelOutboundBuffer waiting = unsafe().outboundBuffer();
    return (waiting == null || waiting.isEmpty()) && session.kcp().isDrained();
  }

  // Closing.

  private void cancelTimer() {
    if (timer != null) {
      endpoint.cancel(timer);
      timer = null;
    }
  }

  @Override
  protected void doDisconnect() {
    doClose();
  }

  /** An unexpected error while writing: there is no half of a session that could go on. */
  @Override
  protected void doShutdownOutput() {
    kcpUnsafe().closeNow();
  }

  @Override
  protected void doDeregister() {
    if (isOpen()) {
      kcpUnsafe().closeNow();
    }
  }

  @Override
  protected void doClose() {
    if (!isOpen()) {
      return;
    }
    state = State.CLOSED;
    Steps.runAll(
        this::releaseLeftover,
        this::abandonConnect,
        this::closeSession,
        this::closeUnreliableWrites,
        this::leave);
  }

  private void closeUnreliableWrites() {
    if (unreliableWrites != null) {
      unreliableWrites.close();
    }
  }

  private void releaseLeftover() {
    if (leftover != null) {
      leftover.release();
      leftover = null;
    }
  }

  private void abandonConnect() {
    ChannelPromise promise = connectPromise;
    if (promise != null) {
      connectPromise = null;
      promise.tryFailure(new ClosedChannelException());
    }
  }

  private void closeSession() {
    if (session == null) {
      return;
    }
    Steps.runAll(
        this::cancelTimer,
        this::flushLast,
        () -> endpoint.remove(session),
        () -> lastStats = session.kcp().stats(),
        session::close);
  }

  private void flushLast() {
    if (endReason == null) {
      endpoint.flush(session);
    }
  }

  private void leave() {
    if (endpoint != null && redirected == null) { // A child that is not registered has not joined.
      endpoint.leave(this);
    }
  }

  /** Lets a closing channel go when its time is up. */
  private final class Linger extends TimerWheel.Entry {
    @Override
    protected void expire(long nowMs) {
      kcpUnsafe().closeNow();
    }
  }

  private final class KcpUnsafe extends AbstractUnsafe {

    @Override
    public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
      if (promise.isDone() || !ensureOpen(promise)) {
        return;
      }
      Exception refusal = refusal(remote);
      if (refusal != null) {
        safeSetFailure(promise, refusal);
        return;
      }
      connectPromise = promise;
      promise.addListener(
          future -> {
            if (future.isCancelled()) {
              close(voidPromise());
            }
          });
      endpoint.connect(remote, local).addListener(KcpChannel.this::connected);
    }

    private Exception refusal(SocketAddress remote) {
      if (session != null) {
        return new AlreadyConnectedException();
      }
      if (connectPromise != null) {
        return new ConnectionPendingException();
      }
      if (remote instanceof InetSocketAddress address && address.isUnresolved()) {
        return new UnresolvedAddressException();
      }
      return config.keyRingMistake();
    }

    Throwable refused(IOException cause) {
      ConnectException refused = new ConnectException("Connection refused");
      refused.initCause(cause);
      return annotateConnectException(refused, remoteAddress);
    }

    /** Waits until the peer has what was flushed, as long as the linger time allows. */
    @Override
    public void close(ChannelPromise promise) {
      boolean wait = lingering ? endpoint.isOpen() : lingers();
      if (!wait) {
        super.close(promise);
        return;
      }
      if (!promise.setUncancellable()) {
        return;
      }
      if (!promise.isVoid()) {
        closeFuture().addListener(future -> promise.trySuccess());
      }
      if (!lingering) {
        lingering = true;
        readPending = false;
        // Or a loop that writes while the channel is writable would fail its writes for ever.
        outboundBuffer().setUserDefinedWritability(LINGER_WRITABILITY, false);
        timer = new Linger();
        endpoint.arm(timer, config.lingerMs());
      }
    }

    private boolean lingers() {
      return isActive()
          && config.lingerMs() > 0
          && endpoint.isOpen()
          && session.kcp().failure() == null
          && !isDrained();
    }

    void closeNow() {
      super.close(voidPromise());
    }

    /**
     * Closes the channel first. Netty would do both at once, and remove the handlers before they
     * are told that the channel is inactive.
     */
    @Override
    public void deregister(ChannelPromise promise) {
      if (!isRegistered() || !isOpen()) {
        super.deregister(promise);
        return;
      }
      closeNow();
      eventLoop().execute(() -> super.deregister(promise));
    }

    /** Closes for a reason with which pending writes fail. */
    void end(KcpEndException cause) {
      ClosedChannelException closed = new ClosedChannelException();
      closed.initCause(cause);
      close(voidPromise(), cause, closed);
    }

    @Override
    protected void flush0() {
      super.flush0();
    }
  }
}
