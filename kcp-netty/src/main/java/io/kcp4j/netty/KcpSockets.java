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
 * last child on any of them have left. Where peers move nevertheless, since another process joins
 * the port or a socket fails, and in the moment of binding, the {@link SessionDirectory} knows
 * where their sessions are.
 *
 * <p>What is touched with every packet is not shared: each socket has counters of its own, which
 * are added up on reading, and an equal part of the memory limit.
 *
 * <p>The server's event loop makes, registers and binds; each endpoint belongs to its own loop.
 */
final class KcpSockets {

  private final KcpServerChannel server;
  private final KcpServerChannelConfig config;
  private final SessionDirectory directory;
  private final List<KcpContext> contexts;
  private final KcpCounters counters;

  /** Those that there are so far. */
  private final List<KcpEndpoint> endpoints = new CopyOnWriteArrayList<>();

  /** How many have a member. */
  private final AtomicInteger occupied = new AtomicInteger();

  /** How many have not closed, and the server while it has not. */
  private final AtomicInteger unclosed = new AtomicInteger(1);

  /** The server is about to close. */
  private volatile boolean left;

  KcpSockets(KcpServerChannel server, KcpCounters first) {
    this.server = server;
    config = server.config();
    contexts = contexts(config, first);
    directory =
        isShared()
            ? SessionDirectory.ofSeveral(config.maxSessions())
            : SessionDirectory.ofOne(config.maxSessions());
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
            directory,
            config.maxDatagramBytes(),
            config.isAcceptOnProbe());
    endpoints.add(endpoint);
    unclosed.incrementAndGet();
    return endpoint;
  }

  /**
   * Binds the first of several, and then opens the others at its port, each on its event loop: none
   * waits for another, or two servers could wait for each other. What was opened before one of them
   * failed stays open until the server closes.
   *
   * <p>The first lets others in only when it has the port: else it would join whoever has that
   * already, and take half of his peers. A user who wants that sets {@code SO_REUSEPORT} himself.
   */
  Future<Void> bind(SocketAddress local) {
    Promise<Void> bound = server.eventLoop().newPromise();
    PromiseCombiner others = new PromiseCombiner(server.eventLoop());
    try {
      first().bind(local);
      first().shareAddress();
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
      endpoint.shareAddress();
      endpoint.bind(local);
      opened.setSuccess(null);
    } catch (Throwable e) {
      opened.setFailure(e);
    }
    if (left) {
      endpoint.leave(server); // The server may have left before the endpoint was listed.
    }
  }

  // Changing and closing.

  /** The configuration has other keys. From any thread. */
  void keyRingChanged() {
    for (KcpEndpoint endpoint : endpoints) {
      endpoint.execute(() -> endpoint.keyRing(config.keyRing()));
    }
  }

  /** Whether no more children are wanted. */
  boolean hasLeft() {
    return left;
  }

  /** The server closes; the children live on. */
  void leave() {
    left = true;
    for (KcpEndpoint endpoint : endpoints) {
      if (endpoint.inEventLoop()) {
        endpoint.leave(server);
      } else {
        endpoint.execute(() -> endpoint.leave(server));
      }
    }
  }

  /**
   * The same, done when the sockets have closed, if they do: whoever was the last to leave has had
   * the event loops close them, before these are asked a second time.
   */
  Future<Void> release() {
    Promise<Void> released = server.eventLoop().newPromise();
    leave();
    passThroughAll()
        .addListener(all -> passThroughAll().addListener(again -> released.setSuccess(null)));
    return released;
  }

  /** Done when each event loop has done what it was given before, or has ended. */
  private Future<Void> passThroughAll() {
    PromiseCombiner all = new PromiseCombiner(server.eventLoop());
    for (KcpEndpoint endpoint : endpoints) {
      Promise<Void> passed = server.eventLoop().newPromise();
      all.add((Future<Void>) passed);
      if (!endpoint.execute(() -> passed.setSuccess(null))) {
        passed.setSuccess(null);
      }
    }
    Promise<Void> allPassed = server.eventLoop().newPromise();
    all.finish(allPassed);
    return allPassed;
  }

  /** A socket has got its first member. From its thread. */
  void onFirstMember() {
    occupied.incrementAndGet();
  }

  /** A socket has lost its last member. From its thread. */
  void onLastMemberLeft() {
    if (occupied.decrementAndGet() == 0) {
      endpoints.forEach(KcpEndpoint::close);
    }
  }

  /** A socket, or the server itself, has closed. From any thread. */
  void closed() {
    if (unclosed.decrementAndGet() == 0) {
      server.terminated();
    }
  }
}
