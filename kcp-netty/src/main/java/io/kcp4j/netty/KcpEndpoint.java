package io.kcp4j.netty;

import io.kcp4j.CloseReason;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.internal.admission.Incoming;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionDirectory;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.session.TimerWheel;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.netty.DatagramReceiver.ReadModeration;
import io.kcp4j.netty.udp.UdpSocket;
import io.kcp4j.netty.udp.UdpTransport;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.DatagramChannel;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;

/**
 * One socket and its sessions, all on one event loop. Drives the {@link SessionTable}: passes it
 * the datagrams that arrive, the time and the deadlines, and sends what it writes.
 *
 * <p>The channels that use the socket are its members: a server and its children, or the clients.
 * The socket closes with its last member. If it is one of several of a server, it closes with the
 * last member of all, see {@link KcpSockets}. If it closes for another reason, such as the end of
 * the event loop, its members close.
 */
final class KcpEndpoint implements SessionTable.Handler {

  /** The callbacks of the object that opened the socket. On its event loop. */
  interface Owner {
    /** A peer attempts to begin a session; {@link KcpEndpoint#answer} answers the attempt. */
    default void incoming(KcpEndpoint endpoint, Incoming incoming) {
      incoming.refuse();
    }

    /** Whether an attempt would be accepted now, as far as is known. */
    default boolean isAccepting(KcpEndpoint endpoint, InetSocketAddress remote, int conv) {
      return false;
    }

    /** What a peer is told that is refused; null for nothing. */
    default CloseReason refusal(KcpEndpoint endpoint, InetSocketAddress remote, int conv) {
      return null;
    }

    /** The socket has received a batch of datagrams. */
    default void batchRead() {}

    /** The socket reports a datagram that could not be sent, or an ICMP error. */
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

  private static final InternalLogger logger = InternalLoggerFactory.getInstance(KcpEndpoint.class);

  private final EventLoop eventLoop;
  private final EventLoopContext loop;
  private final Owner owner;
  private final KcpContext context;
  private final SessionTable table;
  private final UdpSocket socket;
  private final SocketOptions options;
  private final EventLoopContext.KeepAliveSweep sweep;
  private final EndpointLog log;
  private final DatagramReceiver receiver;
  private final Runnable flushTask = this::flushPending;

  private KeyRing keyRing;

  /** The cipher of the key ring, which all endpoints of the event loop share. */
  private PacketCipher cipher;

  private final Set<Channel> members = new HashSet<>();

  /** The sessions that are closing and whose channels have closed. They keep the socket open. */
  private int closingSessions;

  /** Whether the next flush waits until the socket is writable. */
  private boolean isFlushWaiting;

  /** Null unless the event loop ends. */
  private LastDatagrams last;

  KcpEndpoint(
      EventLoop eventLoop,
      Owner owner,
      SocketOptions options,
      KcpContext context,
      KeyRing keyRing,
      SessionDirectory directory) {
    this.eventLoop = eventLoop;
    this.owner = owner;
    this.options = options;
    this.context = context;
    loop = EventLoopContext.of(eventLoop);
    loop.checkRunning();
    this.keyRing = keyRing;
    cipher = loop.acquireCipher(keyRing);
    try {
      socket = newSocket();
    } catch (RuntimeException | Error e) {
      loop.releaseCipher(keyRing);
      throw e;
    }
    table =
        new SessionTable(
            this,
            context,
            cipher,
            loop.fecContext(),
            loop.wheel(),
            directory,
            options.config().maxDatagramBytes(),
            loop.readNowUs());
    log = new EndpointLog(socket.channel(), context.total());
    sweep = loop.newKeepAliveSweep(table, this::warnOfKeyUsageLimit);
    ReadModeration moderation = new ReadModeration(socket::pauseReads);
    receiver = new DatagramReceiver(this, loop, table, moderation, context);
  }

  private UdpSocket newSocket() {
    return new UdpSocket(
        eventLoop, loop.receiveSpace(), options.config().offload(), context.total(), loop::nowUs);
  }

  private void warnOfKeyUsageLimit() {
    log.warnOfKeyUsageLimit(keyRing);
  }

  /** Takes over the settings of a server. To be called before registration. */
  void configure(KcpServerChannelConfig config) {
    table.unvalidatedLimit(config.maxUnvalidated());
    table.acceptOnProbe(options.config().acceptOnProbe());
    table.convsPerAddress(options.config().maxSessionsPerAddress());
    table.openFailuresPerSecond(options.config().maxDecryptFailures());
  }

  /** Gives a server its reset tokens. To be called before it receives anything. */
  void resetTokens(ResetTokens tokens) {
    table.resetTokens(tokens);
  }

  /** Whether other sockets can be bound to the address. */
  boolean isAddressShared() {
    return socket.isAddressShared();
  }

  /** Registers the socket, whose first member is {@code opener}. */
  ChannelFuture register(Channel opener) {
    DatagramChannel channel = socket.channel();
    options.apply(channel);
    join(opener);
    loop.enter(channel);
    channel.closeFuture().addListener(future -> socketClosed());
    channel.pipeline().addLast(receiver);
    return eventLoop.register(channel);
  }

  /** Binds the socket before it returns. */
  void bind(SocketAddress local) {
    socket.bind(local);
  }

  DatagramChannel channel() {
    return socket.channel();
  }

  /**
   * Sets SO_REUSEPORT, so that other sockets can be bound to the same address.
   *
   * @throws UnsupportedOperationException if the system does not support it
   */
  void shareAddress() {
    if (!socket.shareAddress()) {
      throw new UnsupportedOperationException(
          KcpServerChannelOption.SOCKETS + ": SO_REUSEPORT is not available for " + socket);
    }
  }

  ChannelFuture connect(SocketAddress remote, SocketAddress local) {
    return socket.connect(remote, local);
  }

  InetSocketAddress localAddress() {
    return UdpTransport.withoutZeroScope(socket.localAddress());
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
   * Submits a task to the event loop. Exceptions of the task are logged at a limited rate.
   *
   * @return false if the event loop has ended; the socket is closed then
   */
  @Override
  public boolean execute(Runnable task) {
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
    log.unexpected(cause, loop.nowUs());
  }

  /** No handler of a channel has taken an exception. */
  void unhandled(Channel channel, Throwable cause) {
    log.unhandled(channel, cause, loop.nowUs());
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

  /**
   * Changes the keys of all sessions: key rotation.
   *
   * @throws IllegalArgumentException if the new ones add another number of bytes to a packet
   */
  void keyRing(KeyRing next) {
    if (!socket.isOpen() || next == keyRing) {
      return;
    }
    loop.batchWriter().flush(socket.writer());
    PacketCipher nextCipher = loop.acquireCipher(next);
    table.cipher(nextCipher);
    cipher = nextCipher;
    loop.releaseCipher(keyRing);
    keyRing = next;
  }

  int sessions() {
    return table.size();
  }

  /** The time, in microseconds; within a batch of datagrams, when the clock was last read. */
  long nowUs() {
    return receiver.nowUs();
  }

  /** Adds a member, which keeps the socket open from now on. */
  void join(Channel member) {
    if (isUnused()) {
      owner.onFirstMember();
    }
    members.add(member);
  }

  /** A member has closed. */
  void leave(Channel member) {
    if (members.remove(member)) {
      closeIfUnused();
    }
  }

  private boolean isUnused() {
    return members.isEmpty() && closingSessions == 0;
  }

  private void closeIfUnused() {
    if (isUnused()) {
      owner.onLastMemberLeft(this);
    }
  }

  private void closeMembers() {
    EventLoopContext.runAll(
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

  /** Makes a session, which is not in the table yet. */
  Session newSession(InetSocketAddress remote, Kcp kcp, KcpChannel owner) {
    log.begins(kcp.conv(), remote, keyRing, loop.nowUs());
    return table.newSession(remote, kcp, owner);
  }

  /** See {@link SessionTable#offerLanes}. */
  Lanes offerLanes(Session session, LanesConfig config, long token) {
    return table.offerLanes(session, config, token);
  }

  /** See {@link SessionTable#answerLanes}. */
  Lanes answerLanes(Session session, LanesConfig config, long token, long sessionId) {
    return table.answerLanes(session, config, token, sessionId);
  }

  /** Adds a client's session. */
  void add(Session session) {
    table.add(session, nowUs());
    sweep.start(nowUs());
  }

  /** Sends what is queued in a session that is about to close. */
  void flush(Session session) {
    if (last != null || (socket.isActive() && socket.isWritable())) {
      table.flushNow(session, nowUs());
    }
  }

  /**
   * Closes a session whose channel closes, and removes it from the table. If the peer has to be
   * told, it stays there without a channel for a while, and keeps the socket open.
   *
   * @param closure says what the peer is told
   */
  void close(Session session, ChannelClosure closure) {
    if (!isOpen() && last == null) {
      table.remove(session, nowUs());
      session.close();
      return;
    }
    boolean stays =
        switch (closure.ending()) {
          case COMPLETE -> table.closeGracefully(session, nowUs());
          case INCOMPLETE -> table.giveUpClosing(session, closure.hasMore(), nowUs());
          case ABORTED -> table.abort(session, closure.abortCode(), nowUs());
        };
    if (!stays) {
      return;
    }
    closingSessions++;
    if (last == null) {
      flush(session);
    } else {
      table.flushLast(session, nowUs());
    }
  }

  /** Removes a session that is about to end without a word to its peer. */
  void remove(Session session) {
    table.remove(session, nowUs());
  }

  /**
   * Makes the table remember a session as closed that a handler has closed before it was added, so
   * that retransmissions of the peer do not begin another.
   */
  void rememberClosed(Session session) {
    table.add(session, nowUs());
    table.remove(session, nowUs());
  }

  /** Schedules a flush of a session, together with the others of this turn of the event loop. */
  void scheduleFlush(Session session) {
    table.scheduleFlush(session);
  }

  /** See {@link SessionTable#linger}. */
  void linger(Session session, int timeoutMs, int maxMs) {
    table.linger(session, timeoutMs, maxMs, loop.readNowUs());
    loop.schedule();
  }

  /** See {@link SessionTable#portUnreachable}. */
  void portUnreachable(Session session) {
    table.portUnreachable(session, nowUs());
    loop.schedule();
  }

  /** Arms a deadline of a channel's own. */
  void arm(TimerWheel.Timer entry, long delayUs) {
    loop.wheel().arm(entry, loop.readNowUs() + delayUs);
    loop.schedule();
  }

  void cancel(TimerWheel.Timer entry) {
    loop.wheel().cancel(entry);
  }

  // Called by the socket.

  /** A batch of datagrams has been received. */
  void batchRead() {
    owner.batchRead();
  }

  /** The writability of the socket has changed. */
  void writabilityChanged() {
    if (isFlushWaiting && socket.isWritable()) {
      requestFlush();
    }
  }

  /** The socket reports a failure, or something has thrown while datagrams were received. */
  void socketFailed(Throwable cause) {
    if (cause instanceof ClosedChannelException) {
      return; // It was closed while it read a batch, as by the end of a client's session.
    }
    if (cause instanceof IOException failure) {
      // A datagram that the system or the peer's host refuses counts as lost.
      log.sendFailed(failure, loop.nowUs());
      execute(() -> owner.failed(failure)); // Later: it may be about to send.
    } else {
      unexpected(cause);
    }
  }

  private void socketClosed() {
    EventLoopContext.runAll(
        sweep::stop,
        () -> loop.batchWriter().drop(socket.writer()),
        this::tellPeers,
        () -> loop.releaseCipher(keyRing),
        table::close,
        this::closeMembers,
        () -> loop.leave(socket.channel()),
        owner::closed);
  }

  /** If the event loop closes the socket because it ends, the members close first, and say so. */
  private void tellPeers() {
    if (!eventLoop.isShuttingDown() || localAddress() == null) {
      return;
    }
    last = LastDatagrams.open(socket, cipher);
    if (last == null) {
      return;
    }
    try {
      closeMembers();
    } finally {
      last.close();
      last = null;
    }
  }

  // Called by the session table.

  @Override
  public void incoming(Incoming incoming, long nowUs) {
    owner.incoming(this, incoming);
  }

  @Override
  public boolean isAccepting(InetSocketAddress remote, int conv) {
    return owner.isAccepting(this, remote, conv);
  }

  /** Whether a filter accepts a peer. An exception of the filter is logged. */
  boolean isAcceptedBy(AcceptFilter filter, InetSocketAddress remote, int conv) {
    try {
      return filter == AcceptFilter.ALL
          || filter.accepts(UdpTransport.withoutZeroScope(remote), conv);
    } catch (Throwable e) { // It is user code, which may throw anything.
      unexpected(e);
      return false;
    }
  }

  @Override
  public CloseReason refusal(InetSocketAddress remote, int conv) {
    return owner.refusal(this, remote, conv);
  }

  /** What a filter tells a peer that it does not accept. An exception of the filter is logged. */
  CloseReason refusalOf(AcceptFilter filter, InetSocketAddress remote, int conv) {
    try {
      return filter.refusal(UdpTransport.withoutZeroScope(remote), conv);
    } catch (Throwable e) { // It is user code, which may throw anything.
      unexpected(e);
      return null;
    }
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
      sweep.start(nowUs());
      incoming.accept(accepted, nowUs());
      if (child.isLingering()) { // It was closed before its session was in the table.
        child.session().linger();
      }
    }
  }

  /**
   * Answers an attempt to begin a session later. From any thread; runs after the tasks that the
   * thread has submitted to the event loop before, such as the registration of the child.
   *
   * @param child null to refuse it
   */
  void answerLater(Incoming incoming, KcpChannel child) {
    execute(
        () -> {
          try {
            answer(incoming, child);
          } finally {
            receiver.endTableBatch(nowUs());
          }
        });
  }

  @Override
  public void forward(InetSocketAddress remote, ByteBuf packet, int nonceBytes) {
    receiver.forward(remote, packet, nonceBytes);
  }

  @Override
  public void progressed(Session session, long nowUs) {
    log.received(session, nowUs);
    ((KcpChannel) session.owner()).progressed();
  }

  @Override
  public boolean flushed(Session session) {
    return ((KcpChannel) session.owner()).flushed();
  }

  @Override
  public void mismatched(KcpCounter counter, InetSocketAddress remote) {
    if (counter == KcpCounter.NOT_KCP && !cipher.isUnencrypted()) {
      return; // The sender has the key: the settings are not the cause.
    }
    log.mismatched(counter, remote, loop.nowUs());
  }

  @Override
  public DatagramOutput output(InetSocketAddress remote) {
    if (last != null) {
      return last.to(remote);
    }
    InetSocketAddress recipient = socket.isConnected() ? null : remote;
    return loop.batchWriter().to(socket.writer(), cipher, recipient);
  }

  @Override
  public void flushOutput() {
    if (last == null) {
      loop.batchWriter().flush(socket.writer());
    }
  }

  @Override
  public boolean isOutputWritable() {
    return last != null || socket.isWritable();
  }

  @Override
  public long readNowUs(long nowUs) {
    return loop.readNowUs();
  }

  /** Flushes in the next turn of the event loop, or when the socket is writable after that. */
  @Override
  public void requestFlush() {
    isFlushWaiting = !socket.isWritable();
    if (!isFlushWaiting) {
      eventLoop.execute(flushTask);
    }
  }

  private void flushPending() {
    try {
      table.flushPending(nowUs());
    } catch (Throwable e) {
      unexpected(e);
    } finally {
      loop.schedule();
    }
  }

  @Override
  public void closed(Session session) {
    closingSessions--;
    closeIfUnused();
  }

  @Override
  public void unresponsive(Session session) {
    KcpChannel channel = (KcpChannel) session.owner();
    if (channel.parent() == null && !session.hasPeerAnswered()) {
      logUnanswered(session);
    }
    channel.unresponsive();
  }

  /** Logs that the peer of a client's session has not answered yet. */
  void logUnanswered(Session session) {
    InetSocketAddress remote = UdpTransport.withoutZeroScope(session.remote());
    log.unanswered(remote, session.fecConfig().isEncoding(), loop.nowUs());
  }

  /** What is known of why the peer of a client's session has not answered. */
  String unansweredDetail(Session session) {
    return log.unansweredDetail(session.fecConfig().isEncoding());
  }

  @Override
  public void moved(Session session) {
    ((KcpChannel) session.owner()).moved(UdpTransport.withoutZeroScope(session.remote()));
  }

  @Override
  public void ended(Session session, EndReason reason) {
    KcpChannel channel = (KcpChannel) session.owner();
    if (reason == EndReason.LANES_UNSUPPORTED && channel.parent() != null) {
      log.lanesUnsupported(UdpTransport.withoutZeroScope(session.remote()), loop.nowUs());
    }
    channel.ended(reason);
  }
}
