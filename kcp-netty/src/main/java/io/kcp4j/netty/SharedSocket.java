package io.kcp4j.netty;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.session.SessionDirectory;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * An unconnected socket that several clients use, each for a session with another remote address;
 * see {@link KcpChannelOption#SHARED_SOCKET}. It closes with the last of them. Used by its event
 * loop.
 */
final class SharedSocket implements KcpEndpoint.Owner {

  /** Limits the memory for addresses: a socket that has had so many takes no more clients. */
  static final int MAX_REMOTES = 10_000;

  private static final InetSocketAddress ANY = new InetSocketAddress(0);

  /**
   * What the clients of one socket have in common.
   *
   * @param socketOptions the options of the socket and their values
   */
  record Settings(
      Map<ChannelOption<?>, Object> socketOptions, KeyRing keyRing, ByteBufAllocator allocator) {

    static Settings of(KcpChannelConfig config) {
      return new Settings(config.socketOptions().values(), config.keyRing(), config.getAllocator());
    }
  }

  private final SharedSockets sockets;
  private final Settings settings;
  private final SocketAddress local;
  private final KcpEndpoint endpoint;
  private final Promise<Void> opened;

  /** The remote addresses of all sessions up to now, open or closed. */
  private final Set<InetSocketAddress> remotes = new HashSet<>();

  /**
   * Makes a socket.
   *
   * @param client the first client
   * @param local the address to bind to, or null for any
   */
  SharedSocket(SharedSockets sockets, Settings settings, SocketAddress local, KcpChannel client) {
    this.sockets = sockets;
    this.settings = settings;
    this.local = local;
    KcpChannelConfig config = client.config();
    EventLoopContext shared = EventLoopContext.of(client.eventLoop());
    endpoint =
        new KcpEndpoint(
            client.eventLoop(),
            this,
            config.socketOptions().copy(),
            new KcpContext(
                config.getAllocator(), shared.clientBudget(), new KcpCounters(), shared.rings()),
            config.keyRing(),
            SessionDirectory.ofOne(0),
            KcpEndpoint.DEFAULT_MAX_DATAGRAM_BYTES,
            false);
    opened = client.eventLoop().newPromise();
  }

  /** Registers and binds the socket. */
  void open(KcpChannel client) {
    endpoint.register(client).addListener(this::registered);
  }

  private void registered(Future<?> registered) {
    if (registered.isSuccess()) {
      endpoint.channel().bind(local == null ? ANY : local).addListener(this::bound);
    } else {
      bound(registered);
    }
  }

  private void bound(Future<?> bound) {
    if (bound.isSuccess()) {
      opened.setSuccess(null);
    } else {
      sockets.remove(this);
      opened.setFailure(bound.cause()); // The clients close, and the socket with the last of them.
    }
  }

  Settings settings() {
    return settings;
  }

  KcpEndpoint endpoint() {
    return endpoint;
  }

  /** Succeeds when the socket is bound. */
  Future<Void> opened() {
    return opened;
  }

  /**
   * Adds the remote address of a client, if the client can use this socket.
   *
   * <p>An address is never taken a second time, even if its session is closed: the peer may still
   * have that session, and would mistake the next one for it.
   *
   * @param local the address that the client asks for, or null
   * @return whether it can
   */
  boolean add(InetSocketAddress remote, SocketAddress local) {
    return endpoint.isOpen()
        && isBoundTo(local)
        && remotes.size() < MAX_REMOTES
        && remotes.add(remote);
  }

  private boolean isBoundTo(SocketAddress address) {
    return address == null ? local == null : address.equals(local) || isLocal(address);
  }

  private boolean isLocal(SocketAddress address) {
    return address.equals(endpoint.localAddress());
  }

  @Override
  public void onLastMemberLeft(KcpEndpoint endpoint) {
    sockets.remove(this);
    endpoint.close();
  }

  @Override
  public void closed() {
    sockets.remove(this);
  }
}
