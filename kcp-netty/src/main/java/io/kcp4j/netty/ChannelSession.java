package io.kcp4j.netty;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpStats;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.session.Session;
import io.kcp4j.netty.internal.ConnectionMemory;
import io.kcp4j.netty.internal.PendingWrite;
import io.kcp4j.netty.internal.endpoint.EventLoopContext;
import io.kcp4j.netty.internal.endpoint.KcpEndpoint;
import io.kcp4j.netty.internal.endpoint.SessionChannel;
import io.kcp4j.netty.internal.udp.UdpTransport;
import io.netty.channel.EventLoop;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.net.InetSocketAddress;
import java.security.SecureRandom;

/**
 * The session of a channel: made with the channel's configuration, reconfigured when that changes,
 * and closed with the channel. Fires {@link KcpChannelEvent}s of the peer's state. Used by the
 * channel's event loop, except where noted.
 */
final class ChannelSession implements Session.Owner, SessionChannel, PendingWrite.Owner {

  private static final InternalLogger logger = InternalLoggerFactory.getInstance(KcpChannel.class);

  private static final SecureRandom RANDOM = new SecureRandom();

  private static final KcpStats NO_STATS =
      new KcpStats(0, 0, 0, 0, 0, 0, 0, 0, 0, KcpStats.Congestion.NONE, new KcpCounters());

  private final KcpChannel channel;

  private volatile Session session;

  /** Set when the session is closed. */
  private volatile KcpStats lastStats;

  /** Whether anything has been sent or received, so that the delivery is fixed. */
  private volatile boolean hasBegun;

  private boolean isEstablishedReported;
  private boolean isUnresponsiveReported;

  ChannelSession(KcpChannel channel) {
    this.channel = channel;
  }

  /** The session, or null before {@link #open}. From any thread. */
  @Override
  public Session get() {
    return session;
  }

  /** The state machine of the session, which has been made. */
  Kcp kcp() {
    return session.kcp();
  }

  /** Schedules a flush: there is data to send, or the receive window may have opened. */
  void scheduleFlush() {
    session.table().scheduleFlush(session);
  }

  /** See {@link KcpChannel#stats}. From any thread. */
  KcpStats stats() {
    KcpStats last = lastStats;
    Session session = this.session;
    if (last != null) {
      return last;
    }
    return session == null ? NO_STATS : session.kcp().stats();
  }

  /** Whether settings that both peers must agree on are fixed. From any thread. */
  boolean hasBegun() {
    return hasBegun;
  }

  /** Fixes those settings: data is sent or has been received. */
  void markBegun() {
    if (!hasBegun) {
      hasBegun = true;
    }
  }

  /** Makes the session, and replaces a previous one, which stays if this fails. */
  void open(InetSocketAddress remote, int conv) {
    Session before = session;
    KcpEndpoint endpoint = channel.endpoint();
    Kcp kcp = new Kcp(conv, channel.config().kcp(), endpoint.context(), RANDOM.nextInt());
    kcp.timestampsAreRandom();
    session = endpoint.newSession(remote, kcp, this);
    KcpLanes lanes = null;
    try {
      kcp.tracer(channel.config().tracer().create(remote, conv));
      if (kcp.config().delivery() == Delivery.LANES) {
        lanes = new KcpLanes(channel, openLanes());
      } else if (kcp.config().extension()) {
        extend();
      }
      applyConfig();
    } catch (RuntimeException | Error e) {
      session.close();
      session = before;
      throw e;
    }
    channel.useLanes(lanes);
    if (before != null) {
      before.close();
    }
  }

  private Lanes openLanes() {
    KcpChannelConfig config = channel.config();
    if (config.mistake() != null) {
      throw config.mistake();
    }
    long token = RANDOM.nextLong();
    KcpEndpoint endpoint = channel.endpoint();
    return channel.parent() == null
        ? endpoint.offerLanes(session, config.lanes(), token)
        : endpoint.answerLanes(session, config.lanes(), token, RANDOM.nextLong());
  }

  private void extend() {
    long token = RANDOM.nextLong();
    if (channel.parent() == null) {
      session.offerExtension(token);
    } else {
      session.answerExtension(token, RANDOM.nextLong());
    }
  }

  /** A conversation id other than 0. */
  static int randomConv() {
    int conv;
    do {
      conv = RANDOM.nextInt();
    } while (conv == 0);
    return conv;
  }

  // Called by the endpoint.

  @Override
  public Session accepted() {
    if (session == null) {
      channel.unsafe().closeForcibly();
      return null;
    }
    markBegun();
    if (!channel.isOpen()) {
      channel.endpoint().rememberClosed(session);
      return null;
    }
    return session;
  }

  /** If the child was closed before, it lingers from now on. */
  @Override
  public void added() {
    if (channel.isLingering()) {
      linger();
    }
  }

  @Override
  public Ending ending() {
    return channel.closure().ending();
  }

  @Override
  public boolean hasMore() {
    return channel.closure().hasMore();
  }

  @Override
  public int abortCode() {
    return channel.closure().abortCode();
  }

  // Called by the session table.

  @Override
  public void progressed(Session session) {
    channel.endpoint().logFragments(session);
    channel.connectIfAnswered();
    reportPeer();
    KcpLanes lanes = channel.lanes();
    if (lanes != null) {
      lanes.progressed();
    }
    ChannelReader reader = channel.reader();
    boolean isReadRequested = reader.isPending();
    reader.readIfPending();
    if (channel.isActive()) {
      channel.writePending();
    }
    channel.closure().sessionProgressed(isReadRequested || reader.isPending());
  }

  @Override
  public boolean flushed(Session session) {
    KcpLanes lanes = channel.lanes();
    return lanes != null && lanes.flushed();
  }

  @Override
  public void unresponsive(Session session) {
    if (channel.parent() == null && !session.hasPeerAnswered()) {
      channel.endpoint().logUnanswered(session);
    }
    if (!isUnresponsiveReported && channel.isActive()) {
      isUnresponsiveReported = true;
      fire(KcpChannelEvent.UNRESPONSIVE);
    }
  }

  @Override
  public void moved(Session session) {
    channel.moved(UdpTransport.withoutZeroScope(session.remote()));
  }

  @Override
  public void ended(Session session, EndReason reason) {
    if (reason == EndReason.LANES_UNSUPPORTED && channel.parent() != null) {
      channel.endpoint().logLanesUnsupported(session);
    }
    channel.ended(reason);
  }

  // Called by what is written past the outbound buffer.

  @Override
  public EventLoop eventLoop() {
    return channel.eventLoop();
  }

  @Override
  public Exception closedBy() {
    return channel.closedBy();
  }

  // The peer's state.

  /** Tells what has become known of the peer. Handlers may close the channel meanwhile. */
  private void reportPeer() {
    Session session = this.session;
    if (!isEstablishedReported && session.hasPeerAnswered() && channel.isActive()) {
      isEstablishedReported = true;
      fire(KcpChannelEvent.ESTABLISHED);
    }
    if (isUnresponsiveReported && !session.isPeerUnresponsive() && channel.isActive()) {
      isUnresponsiveReported = false;
      fire(KcpChannelEvent.RESPONSIVE);
    }
  }

  private void fire(KcpChannelEvent event) {
    channel.pipeline().fireUserEventTriggered(event);
  }

  // Configuration.

  /** The channel's configuration has changed. From any thread. */
  void configChanged() {
    if (session == null || !channel.isOpen()) {
      return;
    }
    if (channel.eventLoop().inEventLoop()) {
      applyConfig();
    } else {
      channel.eventLoop().execute(this::applyConfigOrRevert);
    }
  }

  /** The caller of {@code setOption} is on another thread: an exception cannot reach it. */
  private void applyConfigOrRevert() {
    KcpChannelConfig config = channel.config();
    KcpConfig settings = config.kcp();
    FecConfig fec = config.fec();
    try {
      applyConfig();
    } catch (Throwable e) { // The user's congestion control may throw.
      logger.warn("{} keeps its previous settings", channel, e);
      config.refused(settings, session.kcp().config());
      config.fecRefused(fec, session.fecConfig());
    }
  }

  private void applyConfig() {
    if (!channel.isOpen()) {
      return;
    }
    Session session = this.session;
    KcpChannelConfig config = channel.config();
    KcpConfig settings = config.kcp();
    if (!hasBegun && (session.kcp().config() != settings || hasOtherLanes(config))) {
      open(session.remote(), session.conv());
      return;
    }
    if (session.kcp().config() != settings || session.fecConfig() != config.fec()) {
      applySettings(settings, config.fec());
    }
    if (channel.parent() == null) {
      channel.endpoint().keyRing(config.keyRing());
    }
  }

  /** Whether the settings of lanes are not those of the session. */
  private boolean hasOtherLanes(KcpChannelConfig config) {
    Lanes lanes = session.lanes();
    return lanes != null && lanes.config() != config.lanes();
  }

  /** FEC may refuse another ratio; the other settings change even then. */
  private void applySettings(KcpConfig settings, FecConfig fec) {
    FecConfig inForce = session.fecConfig();
    try {
      session.reconfigure(settings, fec);
    } catch (IllegalStateException e) {
      channel.config().fecRefused(fec, inForce);
      session.reconfigure(settings, inForce);
      throw e;
    } finally {
      scheduleFlush();
    }
  }

  // Closing.

  /** Tells the peer, if that has the extension, that nothing follows what was written. */
  void shutdownOutput() {
    session.shutdownOutput(channel.endpoint().nowUs());
    scheduleFlush();
  }

  /** The same, and that this side reads no more. */
  void sendClose() {
    session.sendClose(channel.endpoint().nowUs());
    scheduleFlush();
  }

  /** Waits for the peer until the channel closes or the session ends. */
  void linger() {
    KcpConfig config = channel.config().kcp();
    channel.endpoint().linger(session, config.lingerMs(), config.lingerMaxMs());
  }

  /**
   * Closes the session, if there is one.
   *
   * @param flushes whether what is queued is sent once more before
   */
  void close(boolean flushes) {
    Session session = this.session;
    if (session == null) {
      return;
    }
    KcpEndpoint endpoint = channel.endpoint();
    EventLoopContext.runAll(
        () -> flushLast(flushes),
        () -> lastStats = session.kcp().stats(),
        () -> endpoint.close(session, this));
  }

  private void flushLast(boolean flushes) {
    if (flushes) {
      channel.endpoint().flush(session);
    }
  }

  // Memory.

  /** Where to count what a protocol over the channel keeps. The session must have been made. */
  ConnectionMemory memory() {
    return new StreamMemory(channel);
  }

  /**
   * What streams over a channel keep counts in the account of its session, also after that has been
   * closed.
   */
  private static final class StreamMemory implements ConnectionMemory {

    private final KcpChannel channel;

    /** The refusals of memory when this was asked first after the session had ended; or -1. */
    private long refusals = -1;

    StreamMemory(KcpChannel channel) {
      this.channel = channel;
    }

    private MemoryAccount account() {
      return channel.session().kcp().memory();
    }

    @Override
    public boolean tryReserveStream(int bytes) {
      return account().tryReserveStream(bytes);
    }

    @Override
    public boolean tryReserveChannel(int bytes) {
      return account().tryReserveChannel(bytes);
    }

    @Override
    public void release(int bytes) {
      account().releaseStream(bytes);
    }

    @Override
    public boolean chargeUnread(int bytes) {
      boolean hasRoom = account().chargeUnread(bytes);
      if (!hasRoom && channel.isActive()) {
        account().noteRefusal(bytes);
      }
      return hasRoom;
    }

    @Override
    public void releaseUnread(int bytes) {
      account().releaseUnread(bytes);
    }

    @Override
    public boolean isPeerValidated() {
      return !channel.mayBeForged();
    }

    @Override
    public void validatePeer() {
      if (channel.isActive()) {
        channel.session().kcp().challengePath();
        channel.session().scheduleFlush();
      }
    }

    @Override
    public boolean isRevoked() {
      return channel.endReason() == EndReason.MEMORY_SHORTAGE
          || channel.mayBeForged()
          || (!channel.isActive() && wasRefusedSinceEnd());
    }

    private boolean wasRefusedSinceEnd() {
      long refusalsNow = account().refusals();
      if (refusals == -1) {
        refusals = refusalsNow;
      }
      return refusalsNow != refusals;
    }
  }
}
