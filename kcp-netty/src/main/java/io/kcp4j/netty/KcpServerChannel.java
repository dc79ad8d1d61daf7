package io.kcp4j.netty;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryBudget;
import io.kcp4j.session.Session;
import io.kcp4j.session.SessionDirectory;
import io.netty.channel.AbstractServerChannel;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.PromiseNotifier;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/**
 * Accepts KCP sessions on one UDP socket, as {@link KcpChannel}s. To be named in a {@code
 * ServerBootstrap}; runs on event loops of NIO, epoll, io_uring and kqueue.
 *
 * <p>The children share the server's socket and therefore its event loop: a child group is accepted
 * and not used. To use many cores, bind as many server channels to one port with {@code
 * SO_REUSEPORT}.
 *
 * <p>Closing the server ends accepting; its children live on, and the socket and its address are
 * released with the last of them. While {@code autoRead} is off, and no {@code read()} was asked
 * for, new sessions are turned away unanswered, and their peers try again.
 */
public final class KcpServerChannel extends AbstractServerChannel {

  private final KcpServerChannelConfig config = new KcpServerChannelConfig(this);
  private final KcpCounters counters = new KcpCounters();
  private final KcpConfigCache configs = new KcpConfigCache();

  private volatile KcpEndpoint endpoint;
  private volatile InetSocketAddress localAddress;
  private volatile boolean closed;

  private boolean readPending;
  private boolean acceptedInBatch;

  /** Makes a channel, which is to be registered and bound. */
  public KcpServerChannel() {}

  @Override
  public KcpServerChannelConfig config() {
    return config;
  }

  /** What the endpoint and all its sessions have counted, up to now. From any thread. */
  public KcpCounters counters() {
    return counters;
  }

  /** How many sessions there are. From any thread; may be a little old. */
  public int sessions() {
    KcpEndpoint endpoint = this.endpoint;
    return endpoint == null ? 0 : endpoint.sessions();
  }

  /** What all sessions hold, in bytes. From any thread; may be a little old. */
  public long heldBytes() {
    KcpEndpoint endpoint = this.endpoint;
    return endpoint == null ? 0 : endpoint.context().budget().usedBytes();
  }

  /** The socket, or null before registration. */
  KcpEndpoint endpoint() {
    return endpoint;
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
    return Transport.of(loop) != null;
  }

  @Override
  protected SocketAddress localAddress0() {
    return localAddress;
  }

  @Override
  protected void doRegister(ChannelPromise promise) {
    try {
      endpoint = newEndpoint();
    } catch (RuntimeException e) {
      promise.setFailure(e); // No socket is to be had, or no cipher.
      return;
    }
    PromiseNotifier.cascade(false, endpoint.register(this), promise);
  }

  private KcpEndpoint newEndpoint() {
    MemoryBudget budget = new MemoryBudget(config.memoryLimitBytes());
    return new KcpEndpoint(
        eventLoop(),
        new Acceptor(),
        config.socketOptions(),
        new KcpContext(config.getAllocator(), budget, counters),
        config.keyRing(),
        new SessionDirectory(config.maxSessions()),
        config.maxDatagramBytes(),
        config.isAcceptOnProbe());
  }

  /** The configuration has other keys. From any thread. */
  void keyRingChanged() {
    if (endpoint != null) {
      eventLoop().execute(() -> endpoint.keyRing(config.keyRing()));
    }
  }

  @Override
  protected void doBind(SocketAddress local) {
    endpoint.bind(local);
    localAddress = endpoint.localAddress();
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
    if (endpoint != null) {
      endpoint.leave(this);
    }
  }

  private final class Acceptor implements KcpEndpoint.Owner {

    @Override
    public Session accept(InetSocketAddress remote, int conv) {
      boolean wanted = readPending || (acceptedInBatch && config.isAutoRead());
      if (!wanted || !isActive()) {
        return null;
      }
      readPending = false;
      acceptedInBatch = true;
      KcpChannel child = new KcpChannel(KcpServerChannel.this, endpoint, configs, remote, conv);
      pipeline().fireChannelRead(child);
      return child.accepted();
    }

    @Override
    public void batchRead() {
      if (acceptedInBatch) {
        acceptedInBatch = false;
        pipeline().fireChannelReadComplete();
      }
    }
  }
}
