package io.kcp4j.netty;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryBudget;
import io.kcp4j.session.SessionDirectory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.netty.util.concurrent.PromiseCombiner;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The sockets of a server: one, or several that share its port by SO_REUSEPORT. The first is on the
 * server's event loop and the others on the loops that come after it in its group.
 *
 * <p>The system chooses a peer's socket by the peer's address and the number of sockets: were one
 * of them closed, the peers of the others would move. So all stay open until the server and the
 * last child on any of them have left.
 *
 * <p>What is touched with every packet is not shared: each socket has counters of its own, which
 * are added up on reading, and an equal part of the memory limit. Only the number of sessions is
 * counted together.
 *
 * <p>The server's event loop makes, registers and binds; each endpoint belongs to its own loop.
 */
final class KcpSockets {

  private final KcpServerChannel server;
  private final KcpServerChannelConfig config;
  private final SessionDirectory limit;
  private final List<KcpContext> contexts;
  private final KcpCounters counters;

  /** Those that there are so far. */
  private final List<KcpEndpoint> endpoints = new CopyOnWriteArrayList<>();

  /** How many have a member. */
  private final AtomicInteger occupied = new AtomicInteger();

  KcpSockets(KcpServerChannel server, KcpCounters first) {
    this.server = server;
    config = server.config();
    limit = SessionDirectory.ofOne(config.maxSessions());
    contexts = contexts(config, first);
    counters =
        isShared() ? KcpCounters.sumOf(contexts.stream().map(KcpContext::total).toList()) : first;
  }

  private static List<KcpContext> contexts(KcpServerChannelConfig config, KcpCounters first) {
    int sockets = config.sockets();
    long memoryBytes = Math.max(1, config.memoryLimitBytes() / sockets);
    List<KcpContext> contexts = new ArrayList<>();
    for (int i = 0; i < sockets; i++) {
      KcpCounters counters = i == 0 ? first : new KcpCounters();
      contexts.add(new KcpContext(config.getAllocator(), new MemoryBudget(memoryBytes), counters));
    }
    return contexts;
  }

  /** Whether there are several. */
  boolean isShared() {
    return contexts.size() > 1;
  }

  KcpEndpoint first() {
    return endpoints.get(0);
  }

  boolean isOpen() {
    return endpoints.stream().anyMatch(KcpEndpoint::isOpen);
  }

  KcpCounters counters() {
    return counters;
  }

  int sessions() {
    return endpoints.stream().mapToInt(KcpEndpoint::sessions).sum();
  }

  long heldBytes() {
    return contexts.stream().mapToLong(context -> context.budget().usedBytes()).sum();
  }

  // Opening.

  /** Makes and registers the first. */
  ChannelFuture register() {
    return newEndpoint(server.eventLoop(), contexts.get(0)).register(server);
  }

  private KcpEndpoint newEndpoint(EventLoop loop, KcpContext context) {
    KcpEndpoint endpoint =
        new KcpEndpoint(
            loop,
            server.acceptorFor(loop),
            config.socketOptions(),
            context,
            config.keyRing(),
            limit,
            config.maxDatagramBytes(),
            config.isAcceptOnProbe());
    endpoints.add(endpoint);
    return endpoint;
  }

  /**
   * Binds the first of several, and then opens the others at its port, each on its event loop: none
   * waits for another, or two servers could wait for each other. What was opened before one of them
   * failed stays open until the server closes.
   */
  Future<Void> bind(SocketAddress local) {
    Promise<Void> bound = server.eventLoop().newPromise();
    PromiseCombiner others = new PromiseCombiner(server.eventLoop());
    try {
      first().bindShared(local);
      List<EventLoop> loops = loops(server.eventLoop());
      for (int i = 1; i < contexts.size(); i++) {
        others.add(open(loops.get(i % loops.size()), contexts.get(i)));
      }
    } catch (Throwable e) { // Netty throws what is declared nowhere.
      return bound.setFailure(e);
    }
    others.finish(bound);
    return bound;
  }

  /** The event loops of a group, beginning with this one. */
  private static List<EventLoop> loops(EventLoop own) {
    if (own.parent() == null) {
      return List.of(own);
    }
    List<EventLoop> loops = new ArrayList<>();
    for (EventExecutor executor : own.parent()) {
      loops.add((EventLoop) executor);
    }
    Collections.rotate(loops, -loops.indexOf(own));
    return loops;
  }

  private Future<Void> open(EventLoop loop, KcpContext context) {
    Promise<Void> opened = server.eventLoop().newPromise();
    SocketAddress local = first().localAddress();
    loop.execute(
        () -> {
          try {
            KcpEndpoint endpoint = newEndpoint(loop, context);
            ChannelFuture registered = endpoint.register(server);
            endpoint.keyRing(config.keyRing()); // Those of before the endpoint was listed are old.
            registered.addListener(future -> bind(endpoint, future, local, opened));
          } catch (Throwable e) {
            opened.setFailure(e);
          }
        });
    return opened;
  }

  private void bind(
      KcpEndpoint endpoint, Future<?> registered, SocketAddress local, Promise<Void> opened) {
    try {
      registered.get();
      endpoint.bindShared(local);
      opened.setSuccess(null);
    } catch (Throwable e) {
      opened.setFailure(e);
    }
    if (!server.isOpen()) {
      endpoint.leave(server); // It may have closed before the endpoint was listed.
    }
  }

  // Changing and closing.

  /** The configuration has other keys. From any thread. */
  void keyRingChanged() {
    for (KcpEndpoint endpoint : endpoints) {
      endpoint.execute(() -> endpoint.keyRing(config.keyRing()));
    }
  }

  /** The server has closed; the children live on. */
  void leave() {
    for (KcpEndpoint endpoint : endpoints) {
      if (endpoint.inEventLoop()) {
        endpoint.leave(server);
      } else {
        endpoint.execute(() -> endpoint.leave(server));
      }
    }
  }

  /** A socket has got its first member. From its thread. */
  void occupied() {
    occupied.incrementAndGet();
  }

  /** A socket has lost its last member. From its thread. */
  void vacated() {
    if (occupied.decrementAndGet() == 0) {
      endpoints.forEach(KcpEndpoint::close);
    }
  }
}
