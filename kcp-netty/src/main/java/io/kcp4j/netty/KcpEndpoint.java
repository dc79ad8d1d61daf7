package io.kcp4j.netty;

import io.kcp4j.DatagramOutput;
import io.kcp4j.Kcp;
import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketCipher;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.netty.udp.DatagramWriter;
import io.kcp4j.netty.udp.ReceiveSpace;
import io.kcp4j.netty.udp.UdpTransport;
import io.kcp4j.session.EndReason;
import io.kcp4j.session.Incoming;
import io.kcp4j.session.Session;
import io.kcp4j.session.SessionDirectory;
import io.kcp4j.session.SessionTable;
import io.kcp4j.session.TimerWheel;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One socket and the sessions over it, all on one event loop: hands datagrams to the {@link
 * SessionTable}, and gives it the time, the deadlines and the way out.
 *
 * <p>The channels that live from the socket are its members: a server and its children, or one
 * client. The socket closes with the last of them, unless it is one of several that share a port:
 * then with the last of all, see {@link KcpSockets}. When it closes for another reason, such as the
 * end of the event loop, its members close.
 */
final class KcpEndpoint extends ChannelInboundHandlerAdapter implements SessionTable.Handler {

  /** What the channel that opened the socket has to say. */
  interface Owner {
    /** A peer attempts to begin a session; {@link KcpEndpoint#answer} answers the attempt. */
    default void incoming(KcpEndpoint endpoint, Incoming incoming) {
      incoming.refuse();
    }

    /** A batch of datagrams has been taken in. */
    default void batchRead() {}

    /** The socket reports that a datagram could not be sent or was not wanted. */
    default void failed(IOException cause) {}

    /** The socket has got its first member. */
    default void onFirstMember() {}

    /** The socket has lost its last member. */
    default void onLastMemberLeft(KcpEndpoint endpoint) {
      endpoint.close();
    }

    /** The socket has closed, and every member that it had. */
    default void closed() {}
  }

  /** kcp-go's receivers take as much. */
  static final int DEFAULT_MAX_DATAGRAM_BYTES = 1500;

  private static final InternalLogger logger = InternalLoggerFactory.getInstance(KcpEndpoint.class);

  private static final int SWEEP_MS = 1000;

  /** The most packets on their way from other sockets; more are dropped, as if the socket's own. */
  private static final int MAX_PASSED_ON = 1024;

  private final EventLoop eventLoop;
  private final UdpTransport transport;
  private final EventLoopContext loop;
  private final Owner owner;
  private final KcpContext context;
  private final SessionTable table;
  private final DatagramChannel socket;
  private final DatagramWriter writer;
  private final SocketOptions options;
  private final Set<Channel> members = new HashSet<>();
  private final Sweep sweep = new Sweep();
  private final AtomicInteger passedOn = new AtomicInteger();
  private final Runnable flushTask = this::flushPending;

  private KeyRing keyRing;
  private PacketCipher cipher;
  private boolean inBatch;

  private final ExceptionLog exceptions = new ExceptionLog(logger);

  /** Null until a peer's settings have turned out to be others than ours. */
  private MismatchLog mismatches;

  /** How many fragments in streams there were when somebody was last found who sent them. */
  private long fragmentsInStreams;

  /** The session table wants to flush, and waits for the socket. */
  private boolean flushWaits;

  KcpEndpoint(
      EventLoop eventLoop,
      Owner owner,
      SocketOptions options,
      KcpContext context,
      KeyRing keyRing,
      SessionDirectory directory,
      int maxDatagramBytes,
      boolean acceptOnProbe) {
    this.eventLoop = eventLoop;
    this.owner = owner;
    this.options = options;
    this.context = context;
    this.keyRing = keyRing;
    loop = EventLoopContext.of(eventLoop);
    cipher = loop.acquireCipher(keyRing); // A user's own may throw.
    transport = UdpTransport.of(eventLoop);
    try {
      socket = transport.newDatagramChannel();
    } catch (RuntimeException | Error e) {
      loop.releaseCipher(keyRing);
      throw e;
    }
    transport.receive(socket, loop.receiveSpace(), options.receiveMode().calls());
    boolean isGso = transport.sendsSegments();
    writer =
        new DatagramWriter(
            socket, context.total(), () -> isGso ? options.sendSegments() : 1, loop::nowMs);
    table =
        new SessionTable(
            this,
            context,
            cipher,
            loop.fecContext(),
            loop.wheel(),
            directory,
            maxDatagramBytes,
            loop.readNowMs());
    table.acceptOnProbe(acceptOnProbe);
  }

  /** Registers the socket, whose first member is {@code opener}. */
  ChannelFuture register(Channel opener) {
    options.apply(socket);
    join(opener);
    loop.enter(socket);
    socket.closeFuture().addListener(future -> socketClosed());
    socket.pipeline().addLast(this);
    return eventLoop.register(socket);
  }

  /** Binds the socket, at once. */
  void bind(SocketAddress local) {
    socket.bind(local).syncUninterruptibly();
  }

  /**
   * Lets other sockets be bound to the same address.
   *
   * @throws UnsupportedOperationException if the system does not have that
   */
  void shareAddress() {
    if (!transport.shareAddress(socket)) {
      throw new UnsupportedOperationException(
          KcpServerChannelOption.SOCKETS + ": no SO_REUSEPORT is to be had for " + socket);
    }
  }

  ChannelFuture connect(SocketAddress remote, SocketAddress local) {
    return socket.connect(remote, local);
  }

  InetSocketAddress localAddress() {
    return socket.localAddress();
  }

  InetSocketAddress remoteAddress() {
    return socket.remoteAddress();
  }

  boolean isOpen() {
    return socket.isOpen();
  }

  EventLoop eventLoop() {
    return eventLoop;
  }

  boolean inEventLoop() {
    return eventLoop.inEventLoop();
  }

  /**
   * Has the event loop run a task; returns false if it has ended, and closed the socket. What the
   * task throws is logged, see {@link ExceptionLog}.
   */
  boolean execute(Runnable task) {
    try {
      eventLoop.execute(() -> run(task));
      return true;
    } catch (RejectedExecutionException e) {
      logger.debug("{} the event loop has ended", socket, e);
      return false;
    }
  }

  private void run(Runnable task) {
    try {
      task.run();
    } catch (Throwable e) {
      unexpected(e);
    }
  }

  private void unexpected(Throwable cause) {
    exceptions.warn(socket, cause, loop.nowMs());
  }

  /** From any thread. */
  void close() {
    if (inEventLoop()) {
      socket.close();
    } else {
      execute(socket::close);
    }
  }

  KcpContext context() {
    return context;
  }

  /** Changes the keys for all sessions; the new ones add as many bytes to a packet as the old. */
  void keyRing(KeyRing next) {
    if (!socket.isOpen() || next == keyRing) {
      return;
    }
    loop.batchWriter().flush(writer);
    KeyRing old = keyRing;
    PacketCipher newCipher = loop.acquireCipher(next);
    table.cipher(newCipher);
    cipher = newCipher;
    keyRing = next;
    loop.releaseCipher(old);
  }

  int sessions() {
    return table.size();
  }

  /** The time, in milliseconds; the same for everything that a batch of datagrams sets off. */
  long nowMs() {
    return inBatch ? loop.nowMs() : loop.readNowMs();
  }

  /** Adds a member, which keeps the socket open from now on. */
  void join(Channel member) {
    if (members.isEmpty()) {
      owner.onFirstMember();
    }
    members.add(member);
  }

  /** A member has closed. */
  void leave(Channel member) {
    if (members.remove(member) && members.isEmpty()) {
      owner.onLastMemberLeft(this);
    }
  }

  /** Makes a session, to be added. */
  Session newSession(InetSocketAddress remote, Kcp kcp, KcpChannel owner) {
    return table.newSession(remote, kcp, owner);
  }

  /** Adds a client's session. */
  void add(Session session) {
    table.add(session, nowMs());
    sweep.start();
  }

  /** Sends what a session that is about to close still has to say. */
  void flush(Session session) {
    if (socket.isActive() && socket.isWritable()) {
      table.flushNow(session, nowMs());
    }
  }

  /** Takes out a session that its user has closed; nothing happens if it is not in the table. */
  void remove(Session session) {
    table.remove(session, nowMs());
  }

  /**
   * Has the table know as closed a session that its first handler has closed before it was added,
   * so that the peer's next attempt begins no new one.
   */
  void rememberClosed(Session session) {
    table.add(session, nowMs());
    table.remove(session, nowMs());
  }

  /** The session has something to send; it leaves together with what others send in this turn. */
  void scheduleFlush(Session session) {
    table.scheduleFlush(session);
  }

  /** Arms a deadline of a channel's own. */
  void arm(TimerWheel.Entry entry, long delayMs) {
    loop.wheel().arm(entry, loop.readNowMs() + delayMs);
    loop.schedule();
  }

  void cancel(TimerWheel.Entry entry) {
    loop.wheel().cancel(entry);
  }

  // The socket's side.

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    DatagramPacket packet = (DatagramPacket) msg;
    if (packet.sender().getPort() == 0) {
      context.total().add(KcpCounter.INVALID_SOURCE, 1); // Nobody could be answered there.
      packet.release();
      return;
    }
    int datagramBytes = ReceiveSpace.datagramBytes(packet.content());
    ByteBuf datagrams = loop.receiveSpace().locate(packet.content());
    int end = datagrams.writerIndex();
    int start = datagrams.readerIndex();
    beginBatch();
    try {
      do {
        int next = Math.min(start + datagramBytes, end);
        table.receive(packet.sender(), datagrams.setIndex(start, next), loop.nowMs());
        start = next;
      } while (start < end);
    } finally {
      packet.release();
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    if (inBatch) {
      endBatch();
    }
  }

  private void beginBatch() {
    if (!inBatch) {
      inBatch = true;
      loop.readNowMs();
    }
  }

  private void endBatch() {
    try {
      owner.batchRead();
    } finally {
      endTableBatch(loop.nowMs());
    }
  }

  /** Whatever is thrown for one session, the next batch and the deadlines come. */
  private void endTableBatch(long nowMs) {
    try {
      table.endBatch(nowMs);
    } finally {
      inBatch = false;
      loop.schedule();
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (flushWaits && socket.isWritable()) {
      requestFlush();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    if (cause instanceof IOException failure) {
      // A datagram that is refused by the system or the peer's host is a datagram lost.
      logger.debug("{} {}", socket, failure.toString());
      execute(() -> owner.failed(failure)); // Not in the midst of sending.
    } else {
      unexpected(cause);
    }
  }

  private void socketClosed() {
    Steps.runAll(
        sweep::stop,
        () -> loop.batchWriter().drop(writer),
        () -> loop.releaseCipher(keyRing),
        table::close,
        this::closeMembers,
        () -> loop.leave(socket),
        owner::closed);
  }

  private void closeMembers() {
    Steps.runAll(
        members.stream().map(member -> (Runnable) () -> close(member)).toArray(Runnable[]::new));
  }

  private void close(Channel member) {
    if (member.eventLoop() == eventLoop) {
      member.unsafe().close(member.unsafe().voidPromise());
    } else {
      member.close();
      leave(member);
    }
  }

  // The session table's side.

  @Override
  public void incoming(Incoming incoming, long nowMs) {
    owner.incoming(this, incoming);
  }

  /**
   * Answers an attempt to begin a session. On the endpoint's event loop, from within {@link
   * Owner#incoming}.
   *
   * @param child null to refuse it
   */
  void answer(Incoming incoming, KcpChannel child) {
    Session accepted = child == null ? null : child.accepted();
    if (accepted == null) {
      incoming.refuse();
    } else {
      sweep.start();
      incoming.accept(accepted, nowMs());
    }
  }

  /**
   * Answers an attempt to begin a session later. From any thread; happens after what that thread
   * has had the event loop do before, such as registering the child.
   *
   * @param child null to refuse it
   */
  void answerLater(Incoming incoming, KcpChannel child) {
    execute(
        () -> {
          try {
            answer(incoming, child);
          } finally {
            endTableBatch(nowMs());
          }
        });
  }

  @Override
  public void forward(InetSocketAddress remote, ByteBuf packet) {
    if (passedOn.incrementAndGet() > MAX_PASSED_ON) {
      passedOn.decrementAndGet();
      return;
    }
    ByteBuf copy;
    try {
      copy = context.allocator().buffer(packet.readableBytes());
    } catch (RuntimeException | Error e) {
      passedOn.decrementAndGet();
      throw e;
    }
    copy.writeBytes(packet);
    if (!execute(() -> takeOver(remote, copy))) {
      copy.release();
    }
  }

  private void takeOver(InetSocketAddress remote, ByteBuf packet) {
    passedOn.decrementAndGet();
    if (!socket.isOpen()) {
      packet.release();
      return;
    }
    beginBatch();
    try {
      table.receiveOpened(remote, packet, loop.nowMs());
    } finally {
      packet.release();
      endBatch();
    }
  }

  @Override
  public void progressed(Session session, long nowMs) {
    if (context.total().get(KcpCounter.FRAGMENT_IN_STREAM) != fragmentsInStreams) {
      findSenderOfFragments(session);
    }
    ((KcpChannel) session.owner()).progressed();
  }

  private void findSenderOfFragments(Session session) {
    if (session.kcp().counters().get(KcpCounter.FRAGMENT_IN_STREAM) > 0) {
      fragmentsInStreams = context.total().get(KcpCounter.FRAGMENT_IN_STREAM);
      mismatched(KcpCounter.FRAGMENT_IN_STREAM, session.remote());
    }
  }

  @Override
  public void mismatched(KcpCounter counter, InetSocketAddress remote) {
    if (counter == KcpCounter.NOT_KCP && !cipher.isUnencrypted()) {
      return; // Whoever sent it has the key: nothing that settings explain.
    }
    if (mismatches == null) {
      mismatches = new MismatchLog();
    }
    String line = mismatches.line(counter, remote, loop.nowMs());
    if (line != null) {
      logger.info("{} {}", socket, line);
    }
  }

  @Override
  public DatagramOutput output(InetSocketAddress remote) {
    return loop.batchWriter().to(writer, cipher, socket.isConnected() ? null : remote);
  }

  @Override
  public void flushOutput() {
    loop.batchWriter().flush(writer);
  }

  @Override
  public boolean isOutputWritable() {
    return socket.isWritable();
  }

  @Override
  public long readNowMs(long nowMs) {
    return loop.readNowMs();
  }

  @Override
  public void requestFlush() {
    flushWaits = !socket.isWritable();
    if (!flushWaits) {
      eventLoop.execute(flushTask);
    }
  }

  private void flushPending() {
    try {
      table.flushPending(nowMs());
    } catch (Throwable e) {
      unexpected(e);
    } finally {
      loop.schedule();
    }
  }

  @Override
  public void ended(Session session, EndReason reason) {
    ((KcpChannel) session.owner()).ended(reason);
  }

  /** Nonces are random: so many packets under one key, and two of them may share one. */
  private void warnOfKeyUsageLimit() {
    for (PacketKey key : keyRing.keys()) {
      if (key.claimUsageWarning()) {
        logger.warn("{} {} packets have one key: {}; change it", socket, key.uses(), key);
      }
    }
  }

  /**
   * Has the table look for silent and idle sessions, as long as there are any. The sweeps of all
   * endpoints fall on the same moments, so that many idle clients do not wake the event loop more
   * often than one.
   */
  private final class Sweep extends TimerWheel.Entry {

    private boolean armed;

    void start() {
      if (!armed) {
        arm(nextSecond(nowMs()));
      }
    }

    private void arm(long atMs) {
      armed = true;
      loop.wheel().arm(this, atMs);
      loop.schedule();
    }

    private static long nextSecond(long nowMs) {
      return (nowMs / SWEEP_MS + 1) * SWEEP_MS;
    }

    void stop() {
      armed = false;
      loop.wheel().cancel(this);
    }

    @Override
    protected void expire(long nowMs) {
      armed = false;
      boolean isPartial = table.sweep(nowMs);
      warnOfKeyUsageLimit();
      if (table.size() > 0) {
        arm(isPartial ? nowMs + 1 : nextSecond(nowMs));
      }
    }
  }
}
