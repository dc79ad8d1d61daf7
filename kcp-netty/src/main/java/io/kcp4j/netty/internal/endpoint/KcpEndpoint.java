package io.kcp4j.netty.internal.endpoint;

import io.kcp4j.CloseReason;
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
import io.kcp4j.netty.KcpSockets;
import io.kcp4j.netty.internal.endpoint.DatagramReceiver.ReadModeration;
import io.kcp4j.netty.internal.options.SocketOptions;
import io.kcp4j.netty.internal.udp.UdpSocket;
import io.kcp4j.netty.internal.udp.UdpTransport;
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
public final class KcpEndpoint implements SessionTable.Handler {

  /** The callbacks of the object that opened the socket. On its event loop. */
  public interface Owner {
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

  public KcpEndpoint(
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

  /**
   * Sets the limits of a server. To be called before registration.
   *
   * @param maxUnvalidated the most sessions whose peers' addresses may be forged
   */
  public void configureServer(int maxUnvalidated) {
    table.unvalidatedLimit(maxUnvalidated);
    table.acceptOnProbe(options.config().acceptOnProbe());
    table.convsPerAddress(options.config().maxSessionsPerAddress());
    table.decryptFailuresPerSecond(options.config().maxDecryptFailures());
  }

  /** Gives a server its reset tokens. To be called before it receives anything. */
  public void resetTokens(ResetTokens tokens) {
    table.resetTokens(tokens);
  }

  /** Whether other sockets can be bound to the address. */
  public boolean isAddressShared() {
    return socket.isAddressShared();
  }

  /** Registers the socket, whose first member is {@code opener}. */
  public ChannelFuture register(Channel opener) {
    DatagramChannel channel = socket.channel();
    options.apply(channel);
    join(opener);
    loop.enter(channel);
    channel.closeFuture().addListener(future -> socketClosed());
    channel.pipeline().addLast(receiver);
    return eventLoop.register(channel);
  }

  /** Binds the socket before it returns. */
  public void bind(SocketAddress local) {
    socket.bind(local);
  }

  public DatagramChannel channel() {
    return socket.channel();
  }

  /**
   * Sets SO_REUSEPORT, so that other sockets can be bound to the same address.
   *
   * @return whether the system supports it
   */
  public boolean shareAddress() {
    return socket.shareAddress();
  }

  public ChannelFuture connect(SocketAddress remote, SocketAddress local) {
    return socket.connect(remote, local);
  }

  public InetSocketAddress localAddress() {
    return UdpTransport.withoutZeroScope(socket.localAddress());
  }

  public InetSocketAddress remoteAddress() {
    return socket.remoteAddress();
  }

  public boolean isOpen() {
    return socket.isOpen();
  }

  public EventLoop eventLoop() {
    return eventLoop;
  }

  public boolean inEventLoop() {
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

  /** Logs an exception that is not expected. */
  public void unexpected(Throwable cause) {
    log.unexpected(cause, loop.nowUs());
  }

  /** No handler of a channel has taken an exception. */
  public void unhandled(Channel channel, Throwable cause) {
    log.unhandled(channel, cause, loop.nowUs());
  }

  /** From any thread. */
  public void close() {
    if (inEventLoop()) {
      socket.close();
    } else {
      execute(socket::close);
    }
  }

  public KcpContext context() {
    return context;
  }

  /**
   * Changes the keys of all sessions: key rotation.
   *
   * @throws IllegalArgumentException if the new ones add another number of bytes to a packet
   */
  public void keyRing(KeyRing next) {
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

  public int sessions() {
    return table.size();
  }

  /** The time, in microseconds; within a batch of datagrams, when the clock was last read. */
  public long nowUs() {
    return receiver.nowUs();
  }

  /** Adds a member, which keeps the socket open from now on. */
  public void join(Channel member) {
    if (isUnused()) {
      owner.onFirstMember();
    }
    members.add(member);
  }

  /** A member has closed. */
  public void leave(Channel member) {
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
  public Session newSession(InetSocketAddress remote, Kcp kcp, Session.Owner owner) {
    log.begins(kcp.conv(), remote, keyRing, loop.nowUs());
    return table.newSession(remote, kcp, owner);
  }

  /** See {@link SessionTable#offerLanes}. */
  public Lanes offerLanes(Session session, LanesConfig config, long token) {
    return table.offerLanes(session, config, token);
  }

  /** See {@link SessionTable#answerLanes}. */
  public Lanes answerLanes(Session session, LanesConfig config, long token, long sessionId) {
    return table.answerLanes(session, config, token, sessionId);
  }

  /** Adds a client's session. */
  public void add(Session session) {
    table.add(session, nowUs());
    sweep.start(nowUs());
  }

  /** Sends what is queued in a session that is about to close. */
  public void flush(Session session) {
    if (last != null || (socket.isActive() && socket.isWritable())) {
      table.flushNow(session, nowUs());
    }
  }

  /**
   * Closes a session whose channel closes, and removes it from the table. If the peer has to be
   * told, it stays there without a channel for a while, and keeps the socket open.
   */
  public void close(Session session, SessionChannel channel) {
    if (!isOpen() && last == null) {
      table.remove(session, nowUs());
      session.close();
      return;
    }
    boolean stays =
        switch (channel.ending()) {
          case COMPLETE -> table.closeGracefully(session, nowUs());
          case INCOMPLETE -> table.giveUpClosing(session, channel.hasMore(), nowUs());
          case ABORTED -> table.abort(session, channel.abortCode(), nowUs());
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
  public void remove(Session session) {
    table.remove(session, nowUs());
  }

  /**
   * Makes the table remember a session as closed that a handler has closed before it was added, so
   * that retransmissions of the peer do not begin another.
   */
  public void rememberClosed(Session session) {
    table.add(session, nowUs());
    table.remove(session, nowUs());
  }

  /** See {@link SessionTable#linger}. */
  public void linger(Session session, int timeoutMs, int maxMs) {
    table.linger(session, timeoutMs, maxMs, loop.readNowUs());
    loop.schedule();
  }

  /** See {@link SessionTable#portUnreachable}. */
  public void portUnreachable(Session session) {
    table.portUnreachable(session, nowUs());
    loop.schedule();
  }

  /** Arms a deadline of a channel's own. */
  public void arm(TimerWheel.Timer entry, long delayUs) {
    loop.wheel().arm(entry, loop.readNowUs() + delayUs);
    loop.schedule();
  }

  public void cancel(TimerWheel.Timer entry) {
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
  public void socketFailed(Throwable cause) {
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

  @Override
  public CloseReason refusal(InetSocketAddress remote, int conv) {
    return owner.refusal(this, remote, conv);
  }

  /**
   * Answers an attempt to begin a session. On the endpoint's event loop, from within {@link
   * Owner#incoming}.
   *
   * @param child null to refuse it
   */
  public void answer(Incoming incoming, SessionChannel child) {
    Session accepted = child == null ? null : child.accepted();
    if (accepted == null) {
      incoming.refuse();
    } else {
      sweep.start(nowUs());
      incoming.accept(accepted, nowUs());
      child.added();
    }
  }

  /**
   * Answers an attempt to begin a session later. From any thread; runs after the tasks that the
   * thread has submitted to the event loop before, such as the registration of the child.
   *
   * @param child null to refuse it
   */
  public void answerLater(Incoming incoming, SessionChannel child) {
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

  // What a session's channel has logged, at the rate of the endpoint.

  /** Logs the peer of a session that has received datagrams, if there are fragments in a stream. */
  public void logFragments(Session session) {
    log.received(session, loop.nowUs());
  }

  /** Logs that the peer of a client's session has not answered yet. */
  public void logUnanswered(Session session) {
    InetSocketAddress remote = UdpTransport.withoutZeroScope(session.remote());
    log.unanswered(remote, session.fecConfig().isEncoding(), loop.nowUs());
  }

  /** What is known of why the peer of a client's session has not answered. */
  public String unansweredDetail(Session session) {
    return log.unansweredDetail(session.fecConfig().isEncoding());
  }

  /** Logs that the client of a session has no lanes. */
  public void logLanesUnsupported(Session session) {
    log.lanesUnsupported(UdpTransport.withoutZeroScope(session.remote()), loop.nowUs());
  }
}
