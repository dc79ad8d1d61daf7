package io.kcp4j.netty;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryBudget;
import io.kcp4j.session.ResetTokens;
import io.kcp4j.session.SessionDirectory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.netty.util.concurrent.PromiseCombiner;
import java.net.SocketAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The sockets of a server: one, or several that share its port by SO_REUSEPORT. The first is on the
 * server's event loop, the others on the event loops that follow it in its group.
 *
 * <p>The system selects the socket of a peer by the peer's address and the number of sockets. If
 * one of them closed, peers of the others would be delivered elsewhere. So all stay open until the
 * server and the last child of any of them have closed. Peers are still delivered elsewhere when
 * another process binds the port, when a socket fails, and while the sockets are bound. Then the
 * {@link SessionDirectory} has the endpoints of their sessions.
 *
 * <p>Nothing that each packet writes is shared: each socket has its own counters, which are added
 * up on reading, and an equal part of the memory limit.
 *
 * <p>The server's event loop makes, registers and binds; each endpoint belongs to its own event
 * loop.
 */
final class KcpSockets {

  private final KcpServerChannel server;
  private final KcpServerChannelConfig config;
  private final SessionDirectory directory;
  private final List<KcpContext> contexts;
  private final KcpCounters counters;
  private final byte[] resetSecret;

  /** The endpoints that have been made. */
  private final List<KcpEndpoint> endpoints = new CopyOnWriteArrayList<>();

  /** The number of endpoints that have a member. */
  private final AtomicInteger withMembers = new AtomicInteger();

  /** The number of endpoints that are not closed, plus 1 while the server is not closed. */
  private final AtomicInteger unclosed = new AtomicInteger(1);

  /** The server is about to close. */
  private volatile boolean left;

  KcpSockets(KcpServerChannel server, KcpCounters first) {
    this.server = server;
    config = server.config();
    byte[] secret = config.resetSecret();
    resetSecret = secret == null ? randomSecret() : secret;
    contexts = contexts(config, first);
    directory =
        isShared()
            ? SessionDirectory.ofSeveral(config.maxSessions())
            : SessionDirectory.ofOne(config.maxSessions());
    counters =
        isShared() ? KcpCounters.sumOf(contexts.stream().map(KcpContext::total).toList()) : first;
  }

  private static byte[] randomSecret() {
    byte[] secret = new byte[ResetTokens.MIN_SECRET_BYTES];
    new SecureRandom().nextBytes(secret);
    return secret;
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

  /** Whether several sockets share the port. */
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

  /** Makes and registers the first endpoint. */
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
    endpoint.configure(config, new ResetTokens(resetSecret));
    endpoints.add(endpoint);
    unclosed.incrementAndGet();
    return endpoint;
  }

  /**
   * Binds the first of several sockets, and then opens the others at its port, each on its event
   * loop. No event loop waits for another, because two servers could then wait for each other. If
   * one socket fails, those that are open stay open until the server closes.
   *
   * <p>The first socket sets SO_REUSEPORT only after it is bound. Otherwise it could be bound to a
   * port that another process uses, and receive a part of that process's datagrams. A user who
   * wants that sets the option {@code SO_REUSEPORT}.
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
    } catch (Throwable e) { // Netty throws undeclared exceptions.
      return bound.setFailure(e);
    }
    others.finish(bound);
    return bound;
  }

  /** The event loops of the group of {@code own}, beginning with {@code own}. */
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
            endpoint.keyRing(config.keyRing()); // May have changed before the endpoint was listed.
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

  /** The key ring of the configuration has changed. From any thread. */
  void keyRingChanged() {
    for (KcpEndpoint endpoint : endpoints) {
      endpoint.execute(() -> endpoint.keyRing(config.keyRing()));
    }
  }

  /** Whether the server closes: it accepts no more children. */
  boolean hasLeft() {
    return left;
  }

  /** The server closes; the children stay open. */
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
   * Does the same, and completes when the sockets have closed, unless children keep them open. The
   * first task on each event loop follows the leaving of the server, the second one the closing
   * that the last leaving may have submitted.
   */
  Future<Void> release() {
    Promise<Void> released = server.eventLoop().newPromise();
    leave();
    afterTasks().addListener(all -> afterTasks().addListener(again -> released.setSuccess(null)));
    return released;
  }

  /** Completes when each event loop has run the tasks submitted before, or has ended. */
  private Future<Void> afterTasks() {
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
    withMembers.incrementAndGet();
  }

  /** A socket has lost its last member. From its thread. */
  void onLastMemberLeft() {
    if (withMembers.decrementAndGet() == 0) {
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
