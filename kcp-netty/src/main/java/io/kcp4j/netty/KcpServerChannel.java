package io.kcp4j.netty;

import io.kcp4j.KcpCounters;
import io.kcp4j.netty.udp.UdpTransport;
import io.kcp4j.session.Incoming;
import io.netty.channel.AbstractServerChannel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import io.netty.util.concurrent.PromiseNotifier;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.RejectedExecutionException;

/**
 * Accepts KCP sessions on one UDP port, as {@link KcpChannel}s. To be named in a {@code
 * ServerBootstrap}; runs on event loops of NIO, epoll, io_uring and kqueue.
 *
 * <p>The children share the server's socket and therefore its event loop: a child group is accepted
 * and not used. To use many cores, give the server several sockets by {@link
 * KcpServerChannelOption#SOCKETS}, each of which is on an event loop of its own, with the children
 * whose first datagram it has received. Should the system deliver a session's datagrams at another
 * socket later on, they are passed on. A peer whose own address changes is a stranger, with several
 * sockets as with one.
 *
 * <p>Closing the server ends accepting; its children live on, and the sockets and their address are
 * released with the last of them. While {@code autoRead} is off, and no {@code read()} was asked
 * for, new sessions are turned away unanswered, and their peers try again.
 *
 * <p><b>Accepting on several event loops.</b> The server's pipeline runs on the server's event loop
 * alone, a child's on its socket's. Where they are the same, a child has been through both before
 * its first datagram is taken in. Where not, the peer's datagrams wait in the backlog of the socket
 * while three tasks run: the server's loop passes the child through its pipeline; the bootstrap's
 * acceptor has the socket's loop register the child; and the socket's loop, when that is done, adds
 * the session or refuses it. Each loop runs what another gives it in order, so that nothing has to
 * be synchronized.
 */
public final class KcpServerChannel extends AbstractServerChannel {

  private final KcpServerChannelConfig config = new KcpServerChannelConfig(this);
  private final KcpCounters counters = new KcpCounters();
  private final KcpConfigCache configs = new KcpConfigCache();

  private volatile KcpSockets sockets;
  private volatile InetSocketAddress localAddress;
  private volatile boolean closed;

  private final Promise<Void> termination = new DefaultPromise<>(ImmediateEventExecutor.INSTANCE);

  private boolean readPending;
  private boolean acceptedInBatch;

  /** Made on first use, which is by the superclass's constructor: no initializer may reset it. */
  private Unsafe unsafe;

  /** Makes a channel, which is to be registered and bound. */
  public KcpServerChannel() {}

  @Override
  public KcpServerChannelConfig config() {
    return config;
  }

  /** What the sockets and all their sessions have counted, up to now. From any thread. */
  public KcpCounters counters() {
    KcpSockets sockets = this.sockets;
    return sockets == null ? counters : sockets.counters();
  }

  /** How many sessions there are. From any thread; may be a little old. */
  public int sessions() {
    KcpSockets sockets = this.sockets;
    return sockets == null ? 0 : sockets.sessions();
  }

  /** What all sessions hold, in bytes. From any thread; may be a little old. */
  public long heldBytes() {
    KcpSockets sockets = this.sockets;
    return sockets == null ? 0 : sockets.heldBytes();
  }

  /**
   * Succeeds when the last socket has closed, which is when the server and the last of its children
   * have: {@link #closeFuture} does not wait for these. Listeners are called by an event loop.
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
    ChannelFuture registered;
    try {
      sockets = new KcpSockets(this, counters);
      registered = sockets.register();
    } catch (Throwable e) { // Or Netty's promise would never be done.
      promise.setFailure(e); // No socket is to be had, or no cipher.
      return;
    }
    PromiseNotifier.cascade(false, registered, promise);
  }

  /** The configuration has other keys. From any thread. */
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
   * Where there are several sockets, binds all of them before the channel becomes active, and
   * closes all that nobody needs before it has closed, as one would be.
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
      } else if (!sockets.isShared()) {
        super.bind(local, promise);
      } else if (promise.setUncancellable()) {
        sockets.bind(local).addListener(bound -> bound(bound, local, promise));
      }
    }

    /** What is wrong with the options, or null. */
    private IllegalArgumentException refusal() {
      IllegalArgumentException mistake = config.keyRingMistake();
      if (mistake != null) {
        return mistake;
      }
      InetSocketAddress nobody = new InetSocketAddress(0);
      KcpChannel child = new KcpChannel(KcpServerChannel.this, sockets.first(), configs, nobody, 0);
      return ChildOptions.refusal(pipeline(), child);
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
      if (sockets == null || !sockets.isShared() || eventLoop().isShuttingDown()) {
        super.close(promise);
      } else {
        sockets.release().addListener(released -> super.close(promise));
      }
    }

    /** Closes the channel first, as {@link KcpChannel} does. */
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
    if (!sockets.isShared()) {
      first.bind(local);
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
      Steps.runAll(sockets::leave, sockets::closed);
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
    KcpChannel child = new KcpChannel(this, endpoint, configs, incoming.remote(), incoming.conv());
    pipeline().fireChannelRead(child);
    return child;
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
      endpoint.answer(incoming, offerChild(endpoint, incoming));
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

  /** For sockets on other event loops, which call it. */
  private final class CrossLoopAcceptor extends Acceptor {

    @Override
    public void incoming(KcpEndpoint endpoint, Incoming incoming) {
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
        endpoint.answerLater(incoming, child);
      }
      endOffering();
    }

    @Override
    public void batchRead() {}
  }
}
