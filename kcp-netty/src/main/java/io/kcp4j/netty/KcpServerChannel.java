package io.kcp4j.netty;

import io.kcp4j.CloseReason;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.admission.Incoming;
import io.kcp4j.netty.internal.ForwardingUnsafe;
import io.kcp4j.netty.internal.endpoint.EventLoopContext;
import io.kcp4j.netty.internal.endpoint.KcpEndpoint;
import io.kcp4j.netty.internal.endpoint.SessionChannel;
import io.kcp4j.netty.internal.options.ChildOptions;
import io.kcp4j.netty.internal.options.KcpSetting;
import io.kcp4j.netty.internal.udp.UdpTransport;
import io.netty.channel.AbstractServerChannel;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.RejectedExecutionException;

/**
 * Accepts KCP sessions on one UDP port, as {@link KcpChannel}s. Used in a {@code ServerBootstrap},
 * on event loops of NIO, epoll, io_uring or kqueue.
 *
 * <p>The children share the server's socket and therefore the event loop of that. It is the
 * server's own, and the child group of the bootstrap is not used, unless {@link
 * KcpServerChannelOption#SOCKET_GROUP} names another group for the socket, such as the child group.
 * For more than one core, {@link KcpServerChannelOption#SOCKETS} gives the server several sockets,
 * each with its own event loop. A child belongs to the socket that has received its first datagram.
 * If the system delivers a later datagram of its session to another socket, that socket forwards
 * the datagram. A peer whose address changes is a new peer, with several sockets as with one.
 *
 * <p>Closing the server ends accepting. Its children stay open, and the sockets and their address
 * are released when the last child has closed. While {@code autoRead} is off and no {@code read()}
 * is pending, attempts to begin a session are dropped silently, and the peers retransmit.
 *
 * <p><b>Accepting on several event loops.</b> The server's pipeline runs on the server's event loop
 * only, a child's pipeline on that of its socket. If the two are the same, the child has passed
 * through both pipelines before its first datagram is processed. If not, the peer's datagrams wait
 * in the backlog of the socket while three tasks run: the server's event loop passes the child
 * through its pipeline; the bootstrap's acceptor registers the child with the socket's event loop;
 * and that event loop then adds the session or refuses it. An event loop runs tasks in their order,
 * so that no further synchronization is needed.
 */
public final class KcpServerChannel extends AbstractServerChannel {

  private final KcpServerChannelConfig config = new KcpServerChannelConfig(this);
  private final KcpCounters counters = new KcpCounters();
  private final KcpSetting.Cache configs = new KcpSetting.Cache();

  private volatile KcpSockets sockets;
  private volatile InetSocketAddress localAddress;
  private volatile boolean closed;

  private final Promise<Void> termination = ImmediateEventExecutor.INSTANCE.newPromise();

  /** Written by the server's event loop only; those of other sockets read it. */
  private volatile boolean readPending;

  private boolean acceptedInBatch;

  /** The server's event loop; null if its only socket closes the server when that ends. */
  private EventLoopContext loop;

  /** Made on first use, which is by the superclass's constructor: no initializer may reset it. */
  private Unsafe unsafe;

  /** Makes a channel that is not registered yet. */
  public KcpServerChannel() {}

  @Override
  public KcpServerChannelConfig config() {
    return config;
  }

  /** The counters of the sockets and of all their sessions. From any thread. */
  public KcpCounters counters() {
    KcpSockets sockets = this.sockets;
    return sockets == null ? counters : sockets.counters();
  }

  /** The number of sessions. From any thread; may lag behind. */
  public int sessions() {
    KcpSockets sockets = this.sockets;
    return sockets == null ? 0 : sockets.sessions();
  }

  /**
   * The memory that all sessions hold, in bytes, and that of the nonces which the server remembers
   * under an AEAD, 1 MiB or less. From any thread; may lag behind.
   */
  public long usedMemoryBytes() {
    KcpSockets sockets = this.sockets;
    return sockets == null ? 0 : sockets.usedMemoryBytes();
  }

  /**
   * A future that succeeds when the last socket has closed. That is when the server and all of its
   * children have closed; {@link #closeFuture} does not wait for the children. Listeners are called
   * by an event loop.
   */
  public Future<Void> terminationFuture() {
    return termination;
  }

  void terminated() {
    termination.trySuccess(null);
  }

  /** The sockets, or null before registration. */
  KcpSockets sockets() {
    return sockets;
  }

  @Override
  public InetSocketAddress localAddress() {
    return localAddress;
  }

  @Override
  public InetSocketAddress remoteAddress() {
    return null;
  }

  @Override
  public boolean isOpen() {
    return !closed;
  }

  @Override
  public boolean isActive() {
    return !closed && localAddress != null;
  }

  @Override
  protected boolean isCompatible(EventLoop loop) {
    return UdpTransport.of(loop) != null;
  }

  @Override
  protected SocketAddress localAddress0() {
    return localAddress;
  }

  @Override
  protected void doRegister(ChannelPromise promise) {
    try {
      EventLoopContext context = EventLoopContext.of(eventLoop());
      context.checkRunning();
      sockets = new KcpSockets(this, counters);
      if (!sockets.isLocal()) {
        loop = context;
        loop.enter(this);
      }
      Future<?> registered = sockets.register();
      failOnClose(promise, registered);
      registered.addListener(done -> completeRegistration(registered, promise));
    } catch (Throwable e) { // Otherwise Netty's promise would never be done.
      promise.tryFailure(e); // No event loop is there for a socket.
    }
  }

  private void completeRegistration(Future<?> registered, ChannelPromise promise) {
    if (!registered.isSuccess()) {
      promise.tryFailure(registered.cause());
    } else if (!isOpen()) {
      promise.tryFailure(new ClosedChannelException()); // Closed meanwhile, with its socket.
    } else {
      promise.setSuccess();
    }
  }

  /**
   * Fails a promise if the channel closes before other event loops have done their part. If this
   * event loop ends, it never learns that they have.
   */
  private void failOnClose(ChannelPromise promise, Future<?> part) {
    closeFuture()
        .addListener(
            closed -> {
              if (!part.isDone()) {
                promise.tryFailure(new ClosedChannelException());
              }
            });
  }

  /** The key ring of the configuration has changed. From any thread. */
  void keyRingChanged() {
    if (sockets != null) {
      sockets.keyRingChanged();
    }
  }

  @Override
  public Unsafe unsafe() {
    if (unsafe == null) {
      unsafe = new SocketsUnsafe(super.unsafe());
    }
    return unsafe;
  }

  /**
   * For a server with sockets on other event loops: binds all of them before the channel becomes
   * active, and closes those without children before the channel is closed, as with one socket on
   * the server's event loop.
   */
  private final class SocketsUnsafe extends ForwardingUnsafe {

    SocketsUnsafe(Unsafe unsafe) {
      super(unsafe);
    }

    @Override
    public void bind(SocketAddress local, ChannelPromise promise) {
      IllegalArgumentException refusal = refusal();
      if (refusal != null) {
        promise.tryFailure(refusal);
      } else if (sockets.isLocal()) {
        super.bind(local, promise);
      } else if (promise.setUncancellable()) {
        Future<Void> bound = sockets.bind(local);
        failOnClose(promise, bound);
        bound.addListener(done -> bound(bound, local, promise));
      }
    }

    /** The reason why the options do not allow a bind, or null. */
    private IllegalArgumentException refusal() {
      IllegalArgumentException mistake = config.mistake();
      if (mistake != null) {
        return mistake;
      }
      InetSocketAddress unused = new InetSocketAddress(0);
      KcpChannel child = new KcpChannel(KcpServerChannel.this, sockets.first(), configs, unused, 0);
      IllegalArgumentException refusal = ChildOptions.refusal(pipeline(), child);
      IllegalArgumentException contradiction = child.config().mistake();
      return refusal == null && contradiction != null
          ? ChildOptions.refusal(contradiction)
          : refusal;
    }

    private void bound(Future<?> bound, SocketAddress local, ChannelPromise promise) {
      if (!bound.isSuccess()) {
        close(newPromise().addListener(closed -> promise.tryFailure(bound.cause())));
      } else if (sockets.hasLeft()) {
        promise.tryFailure(new ClosedChannelException());
      } else {
        super.bind(local, promise);
      }
    }

    @Override
    public void close(ChannelPromise promise) {
      if (sockets == null || sockets.isLocal() || eventLoop().isShuttingDown()) {
        super.close(promise);
      } else if (promise.setUncancellable()) {
        closeReleased(sockets.release(), promise);
      }
    }

    /** Closes when the sockets have, or when the event loop ends, which closes the channel. */
    private void closeReleased(Future<Void> released, ChannelPromise promise) {
      closeFuture()
          .addListener(
              closed -> {
                if (!released.isDone()) {
                  promise.trySuccess();
                }
              });
      released.addListener(
          done -> {
            if (!promise.isDone()) {
              super.close(promise);
            }
          });
    }

    /** Closes the channel first, see {@link KcpUnsafe#deregister}. */
    @Override
    public void deregister(ChannelPromise promise) {
      if (!isRegistered() || !isOpen()) {
        super.deregister(promise);
        return;
      }
      ChannelPromise closed = newPromise();
      closed.addListener(done -> eventLoop().execute(() -> super.deregister(promise)));
      close(closed);
    }
  }

  @Override
  protected void doBind(SocketAddress local) {
    KcpEndpoint first = sockets.first();
    if (sockets.isLocal()) {
      sockets.bindFirst(local);
    }
    localAddress = first.localAddress();
  }

  @Override
  protected void doBeginRead() {
    readPending = true;
  }

  void clearReadPending() {
    readPending = false;
  }

  @Override
  protected void doDeregister() {
    if (isOpen()) {
      unsafe().close(unsafe().voidPromise());
    }
  }

  @Override
  protected void doClose() {
    if (closed) {
      return;
    }
    closed = true;
    if (sockets == null) {
      terminated();
    } else {
      EventLoopContext.runAll(this::leaveLoop, sockets::leave, sockets::closed);
    }
  }

  private void leaveLoop() {
    if (loop != null) {
      loop.leave(this);
    }
  }

  /** Accepts the sessions of a socket on {@code loop}. */
  KcpEndpoint.Owner acceptorFor(EventLoop loop) {
    return loop == eventLoop() ? new Acceptor() : new CrossLoopAcceptor();
  }

  /** Passes a new child through the server's pipeline; returns null if no child is wanted. */
  private KcpChannel offerChild(KcpEndpoint endpoint, Incoming incoming) {
    boolean wanted = readPending || (acceptedInBatch && config.isAutoRead());
    if (!wanted || !isActive() || sockets.hasLeft()) {
      return null;
    }
    readPending = false;
    acceptedInBatch = true;
    InetSocketAddress remote = UdpTransport.withoutZeroScope(incoming.remote());
    KcpChannel child = new KcpChannel(this, endpoint, configs, remote, incoming.conv());
    pipeline().fireChannelRead(child);
    return child;
  }

  private static SessionChannel sessionOf(KcpChannel child) {
    return child == null ? null : child.session();
  }

  private void endOffering() {
    if (acceptedInBatch) {
      acceptedInBatch = false;
      pipeline().fireChannelReadComplete();
    }
  }

  /** For sockets on the server's event loop. */
  private class Acceptor implements KcpEndpoint.Owner {

    @Override
    public void incoming(KcpEndpoint endpoint, Incoming incoming) {
      if (isAccepted(endpoint, incoming.remote(), incoming.conv())) {
        offer(endpoint, incoming);
      } else {
        incoming.refuse(refusalOf(endpoint, incoming.remote(), incoming.conv()), endpoint.nowUs());
      }
    }

    @Override
    public CloseReason refusal(KcpEndpoint endpoint, InetSocketAddress remote, int conv) {
      return isAccepted(endpoint, remote, conv) ? null : refusalOf(endpoint, remote, conv);
    }

    private CloseReason refusalOf(KcpEndpoint endpoint, InetSocketAddress remote, int conv) {
      try {
        return config.acceptFilter().refusal(UdpTransport.withoutZeroScope(remote), conv);
      } catch (Throwable e) { // It is user code, which may throw anything.
        endpoint.unexpected(e);
        return null;
      }
    }

    void offer(KcpEndpoint endpoint, Incoming incoming) {
      endpoint.answer(incoming, sessionOf(offerChild(endpoint, incoming)));
    }

    private boolean isAccepted(KcpEndpoint endpoint, InetSocketAddress remote, int conv) {
      AcceptFilter filter = config.acceptFilter();
      try {
        return filter == AcceptFilter.ALL
            || filter.accepts(UdpTransport.withoutZeroScope(remote), conv);
      } catch (Throwable e) { // It is user code, which may throw anything.
        endpoint.unexpected(e);
        return false;
      }
    }

    @Override
    public boolean isAccepting(KcpEndpoint endpoint, InetSocketAddress remote, int conv) {
      return isActive()
          && !sockets.hasLeft()
          && (readPending || config.isAutoRead())
          && isAccepted(endpoint, remote, conv);
    }

    @Override
    public void batchRead() {
      endOffering();
    }

    @Override
    public void onFirstMember() {
      sockets.onFirstMember();
    }

    @Override
    public void onLastMemberLeft(KcpEndpoint endpoint) {
      sockets.onLastMemberLeft();
    }

    @Override
    public void closed() {
      sockets.closed();
    }
  }

  /** For sockets on other event loops, which call this. */
  private final class CrossLoopAcceptor extends Acceptor {

    @Override
    void offer(KcpEndpoint endpoint, Incoming incoming) {
      try {
        eventLoop().execute(() -> offerChildAndAnswer(endpoint, incoming));
      } catch (RejectedExecutionException e) {
        incoming.refuse(); // The server's event loop has ended.
      }
    }

    private void offerChildAndAnswer(KcpEndpoint endpoint, Incoming incoming) {
      KcpChannel child = null;
      try {
        child = offerChild(endpoint, incoming);
      } finally {
        endpoint.answerLater(incoming, sessionOf(child));
      }
      endOffering();
    }

    @Override
    public void batchRead() {}
  }
}
