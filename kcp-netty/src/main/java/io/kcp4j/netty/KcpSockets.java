package io.kcp4j.netty;

import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.session.SessionDirectory;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.netty.internal.endpoint.KcpEndpoint;
import io.kcp4j.netty.internal.endpoint.ProcessLimit;
import io.kcp4j.netty.internal.endpoint.ResetSecret;
import io.kcp4j.netty.internal.udp.UdpTransport;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.netty.util.concurrent.PromiseCombiner;
import io.netty.util.concurrent.PromiseNotifier;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The sockets of a server: one, or several that share its port by SO_REUSEPORT.
 *
 * <p>The system selects the socket of a peer by the peer's address and the number of sockets. If
 * one of them closed, peers of the others would be delivered elsewhere. So all stay open until the
 * server and the last child of any of them have closed. Peers are still delivered elsewhere when
 * another process binds the port, when a socket fails, and while the sockets are bound. Then the
 * {@link SessionDirectory} has the endpoints of their sessions.
 *
 * <p>Nothing that each packet writes is shared: each socket has its own counters, which are added
 * up on reading, and a memory budget that borrows from the limit of the server.
 *
 * <p>The server's event loop makes, registers and binds; each endpoint belongs to its own event
 * loop.
 */
public final class KcpSockets {

  private static final InternalLogger logger = InternalLoggerFactory.getInstance(KcpSockets.class);

  private final KcpServerChannel server;
  private final KcpServerChannelConfig config;
  private final SessionDirectory directory;
  private final MemoryLimit memory;
  private final List<KcpContext> contexts;
  private final KcpCounters counters;

  /** Null until the first socket is bound, if it is not set. */
  private volatile byte[] resetSecret;

  /** The endpoints that have been made. */
  private final List<KcpEndpoint> endpoints = new CopyOnWriteArrayList<>();

  /** The number of endpoints that have a member. */
  private final AtomicInteger withMembers = new AtomicInteger();

  /**
   * The number of endpoints that are being made, or are not closed, plus 1 while the server is not
   * closed.
   */
  private final AtomicInteger unclosed = new AtomicInteger(1);

  private final List<EventLoop> loops;

  /** Done unless sockets are being opened. Written by the server's event loop. */
  private Future<?> opening;

  /** The server is about to close. */
  private volatile boolean left;

  KcpSockets(KcpServerChannel server, KcpCounters first) {
    this.server = server;
    config = server.config();
    resetSecret = config.resetSecret();
    int sockets = config.sockets();
    loops = selectLoops(server.eventLoop(), config.socketGroup(), sockets); // May throw.
    memory = MemoryLimit.shared(config.memoryLimitBytes(), ProcessLimit.get());
    contexts = contexts(config, sockets, memory, first);
    directory =
        isShared()
            ? SessionDirectory.ofSeveral(config.maxSessions())
            : SessionDirectory.ofOne(config.maxSessions());
    counters =
        isShared() ? KcpCounters.sumOf(contexts.stream().map(KcpContext::total).toList()) : first;
    opening = server.eventLoop().newSucceededFuture(null);
  }

  /**
   * Selects the event loops of one or several sockets, in the order in which the sockets use them.
   *
   * @param server the server's event loop, which the first socket uses if {@code group} is null
   * @param group the group whose event loops are used, or null for that of {@code server}
   * @throws IllegalArgumentException if event loops of {@code group} have no UDP sockets
   * @throws RuntimeException if {@code group} has no event loop
   */
  private static List<EventLoop> selectLoops(EventLoop server, EventLoopGroup group, int sockets) {
    if (group == null) {
      return sockets == 1 || server.parent() == null
          ? List.of(server)
          : loopsFrom(server, server.parent());
    }
    EventLoop next = group.next();
    List<EventLoop> loops = sockets == 1 ? List.of(next) : loopsFrom(next, group);
    loops.forEach(KcpSockets::checkHasUdp);
    return loops;
  }

  private static List<EventLoop> loopsFrom(EventLoop first, EventLoopGroup group) {
    List<EventLoop> loops = new ArrayList<>();
    for (EventExecutor executor : group) {
      loops.add((EventLoop) executor);
    }
    if (!loops.contains(first)) { // The group has changed since.
      loops.add(0, first);
    }
    Collections.rotate(loops, -loops.indexOf(first));
    return loops;
  }

  private static void checkHasUdp(EventLoop loop) {
    if (UdpTransport.of(loop) == null) {
      throw new IllegalArgumentException(
          KcpServerChannelOption.SOCKET_GROUP
              + ": "
              + loop.getClass().getName()
              + " (expected: event loops of NIO, epoll, io_uring or kqueue)");
    }
  }

  private static List<KcpContext> contexts(
      KcpServerChannelConfig config, int sockets, MemoryLimit memory, KcpCounters first) {
    List<KcpContext> contexts = new ArrayList<>();
    for (int i = 0; i < sockets; i++) {
      KcpCounters counters = i == 0 ? first : new KcpCounters();
      contexts.add(new KcpContext(config.getAllocator(), new MemoryBudget(memory), counters));
    }
    return contexts;
  }

  /** Whether several sockets share the port. */
  boolean isShared() {
    return contexts.size() > 1;
  }

  /** Whether the first socket is on the server's event loop. */
  private boolean isFirstLocal() {
    return loop(0) == server.eventLoop();
  }

  /** Whether there is one socket, on the server's event loop, so that no other has to be asked. */
  boolean isLocal() {
    return !isShared() && isFirstLocal();
  }

  private EventLoop loop(int socket) {
    return loops.get(socket % loops.size());
  }

  /** The first socket, which has been registered. */
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

  long usedMemoryBytes() {
    return contexts.stream().mapToLong(context -> context.budget().usedBytes()).sum();
  }

  // Opening.

  /** Makes and registers the first endpoint; at once if it is on the server's event loop. */
  Future<?> register() {
    opening = register(0);
    return opening;
  }

  /** Makes and registers an endpoint on its event loop. */
  private Future<KcpEndpoint> register(int socket) {
    Promise<KcpEndpoint> registered = server.eventLoop().newPromise();
    unclosed.incrementAndGet();
    try {
      execute(loop(socket), () -> register(socket, registered));
    } catch (RejectedExecutionException e) { // The event loop has ended.
      closed();
      registered.setFailure(e);
    }
    return registered;
  }

  private void register(int socket, Promise<KcpEndpoint> registered) {
    KcpEndpoint endpoint;
    try {
      endpoint = newEndpoint(loop(socket), contexts.get(socket));
    } catch (Throwable e) { // No socket or no cipher can be made.
      closed();
      onServersLoop(() -> registered.setFailure(e));
      return;
    }
    try {
      ChannelFuture done = endpoint.register(server);
      endpoint.keyRing(config.keyRing()); // May have changed before the endpoint was listed.
      done.addListener(
          future ->
              onServersLoop(
                  () -> {
                    if (future.isSuccess()) {
                      registered.setSuccess(endpoint);
                    } else {
                      registered.setFailure(future.cause());
                    }
                  }));
    } catch (Throwable e) { // The server will close, and the endpoint with it.
      onServersLoop(() -> registered.setFailure(e));
    }
    if (left) {
      endpoint.leave(server); // The server may have left before the endpoint was listed.
    }
  }

  private KcpEndpoint newEndpoint(EventLoop loop, KcpContext context) {
    KcpEndpoint endpoint =
        new KcpEndpoint(
            loop,
            server.acceptorFor(loop),
            config.socketOptions(),
            context,
            config.keyRing(),
            directory);
    endpoint.configureServer(config.maxUnvalidated());
    endpoints.add(endpoint);
    return endpoint;
  }

  /**
   * Binds the first socket, and then opens the others at its port, each on its event loop. No event
   * loop waits for another, because two servers could then wait for each other. If one socket
   * fails, those that are open stay open until the server closes.
   *
   * <p>The first of several sockets sets SO_REUSEPORT only after it is bound. Otherwise it could be
   * bound to a port that another process uses, and receive a part of that process's datagrams. A
   * user who wants that sets the option {@code SO_REUSEPORT}.
   */
  Future<Void> bind(SocketAddress local) {
    Promise<Void> bound = server.eventLoop().newPromise();
    opening = bound;
    run(loop(0), () -> bindFirst(local))
        .addListener(
            first -> {
              if (first.isSuccess()) {
                openOthers(bound);
              } else {
                bound.setFailure(first.cause());
              }
            });
    return bound;
  }

  /** Binds the first socket. On its event loop. */
  void bindFirst(SocketAddress local) {
    KcpEndpoint first = first();
    first.bind(local);
    if (resetSecret == null) {
      resetSecret = ResetSecret.of(config.keyRing(), first.localAddress(), first.isAddressShared());
    }
    first.resetTokens(new ResetTokens(resetSecret));
    if (isShared()) {
      shareAddress(first);
    }
  }

  private void openOthers(Promise<Void> bound) {
    PromiseCombiner others = new PromiseCombiner(server.eventLoop());
    for (int i = 1; i < contexts.size(); i++) {
      others.add(open(i));
    }
    others.finish(bound);
  }

  private Future<Void> open(int socket) {
    Promise<Void> opened = server.eventLoop().newPromise();
    SocketAddress local = first().localAddress();
    register(socket)
        .addListener(
            (Future<KcpEndpoint> registered) -> {
              if (registered.isSuccess()) {
                KcpEndpoint endpoint = registered.getNow();
                PromiseNotifier.cascade(run(loop(socket), () -> bind(endpoint, local)), opened);
              } else {
                opened.setFailure(registered.cause());
              }
            });
    return opened;
  }

  private void bind(KcpEndpoint endpoint, SocketAddress local) {
    shareAddress(endpoint);
    endpoint.resetTokens(new ResetTokens(resetSecret));
    endpoint.bind(local);
  }

  private static void shareAddress(KcpEndpoint endpoint) {
    if (!endpoint.shareAddress()) {
      throw new UnsupportedOperationException(
          KcpServerChannelOption.SOCKETS + ": SO_REUSEPORT is not available here");
    }
  }

  /**
   * Runs a task on an event loop, at once if that is the calling one. The result is that of the
   * task, and its listeners are called by the server's event loop.
   */
  private Future<Void> run(EventLoop loop, Runnable task) {
    Promise<Void> ran = server.eventLoop().newPromise();
    try {
      execute(loop, () -> run(task, ran));
    } catch (RejectedExecutionException e) { // The event loop has ended.
      ran.setFailure(e);
    }
    return ran;
  }

  private void run(Runnable task, Promise<Void> ran) {
    try {
      task.run();
      onServersLoop(() -> ran.setSuccess(null));
    } catch (Throwable e) { // Netty throws undeclared exceptions.
      onServersLoop(() -> ran.setFailure(e));
    }
  }

  /**
   * Completes a promise on the server's event loop. If that has ended, the server has closed, and
   * nothing waits for the promise.
   */
  private void onServersLoop(Runnable completion) {
    try {
      execute(server.eventLoop(), completion);
    } catch (RejectedExecutionException e) {
      logger.debug("{} the event loop has ended", server, e);
    }
  }

  private static void execute(EventLoop loop, Runnable task) {
    if (loop.inEventLoop()) {
      task.run();
    } else {
      loop.execute(task);
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
   * Does the same, and completes when the sockets have closed, unless children keep them open: when
   * those that are being opened have been, the first task on each event loop follows the leaving of
   * the server, and the second one the closing that the last leaving may have submitted.
   */
  Future<Void> release() {
    Promise<Void> released = server.eventLoop().newPromise();
    leave();
    opening.addListener(
        opened ->
            afterTasks()
                .addListener(all -> afterTasks().addListener(again -> released.setSuccess(null))));
    return released;
  }

  /** Completes when each event loop has run the tasks submitted before, or has ended. */
  private Future<Void> afterTasks() {
    PromiseCombiner all = new PromiseCombiner(server.eventLoop());
    for (KcpEndpoint endpoint : endpoints) {
      Promise<Void> passed = server.eventLoop().newPromise();
      all.add((Future<Void>) passed);
      if (!endpoint.execute(() -> onServersLoop(() -> passed.setSuccess(null)))) {
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
      memory.close();
      server.terminated();
    }
  }
}
