package io.kcp4j.lab;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.session.TimerWheel;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.IntFunction;

/**
 * A {@link SessionTable} with all layers and its timer wheel, driven by virtual time. What arrives
 * at the same time is one batch.
 */
final class LabHost implements LabPeer {

  private static final InetSocketAddress REMOTE = InetSocketAddress.createUnresolved("remote", 1);

  private static final int MAX_CLOCK_OFFSET_US = 1_000_000;

  private final VirtualTime time;
  private final SplittableRandom random;
  private final KcpConfig config;
  private final FecConfig fec;
  private final LanesConfig lanes;

  /** Without leak detection, which takes most of the time of a test. */
  private final KcpContext context =
      new KcpContext(
          new UnpooledByteBufAllocator(true, true), MemoryBudget.unlimited(), new KcpCounters());

  private final TimerWheel wheel;
  private final TestDriver driver;
  private final SessionTable table;
  private final List<Session> sessions = new ArrayList<>();
  private final Map<Session, Owner> owners = new HashMap<>();
  private final Runnable endBatch = this::endBatch;
  private final Runnable flush = this::flush;
  private final Runnable wake = this::wake;

  /** So that the milliseconds of two machines do not begin at the same time. */
  private final long clockOffsetUs;

  /** What arrives while the process is stopped. */
  private final List<ByteBuf> waiting = new ArrayList<>();

  private LabLink out;
  private int peerMaxAckDelayMs;
  private boolean isStopped;
  private IntFunction<LabUser> users;
  private boolean inBatch;
  private long timerAtUs = Long.MAX_VALUE;

  LabHost(VirtualTime time, SplittableRandom random, KcpConfig config, FecConfig fec) {
    this(time, random, config, fec, LanesConfig.DEFAULT);
  }

  /** With settings for lanes, if the delivery is that. */
  LabHost(
      VirtualTime time,
      SplittableRandom random,
      KcpConfig config,
      FecConfig fec,
      LanesConfig lanes) {
    this.lanes = lanes;
    this.time = time;
    this.random = random;
    this.config = config;
    this.fec = fec;
    clockOffsetUs = random.nextInt(MAX_CLOCK_OFFSET_US);
    wheel = new TimerWheel(clockUs());
    driver = TestDriver.builder(context).deadlines(wheel).nowUs(clockUs()).build();
    table = driver.table;
    driver.acceptor = (remote, conv) -> newSession(conv, users.apply(conv), false);
    driver.onProgress = this::progressed;
    driver.onEnd = LabHost::ended;
    driver.output = remote -> out;
    driver.onFlushRequest = () -> time.after(0, flush);
  }

  /**
   * The peer says how long it delays ACKs at most, as by the extension, which sessions here lack.
   */
  LabHost withPeerMaxAckDelayMs(int ms) {
    peerMaxAckDelayMs = ms;
    return this;
  }

  /** Stops the process for a time, as a pause of the JVM does. */
  void stop(long forUs) {
    isStopped = true;
    time.after(forUs, this::goOn);
  }

  private void goOn() {
    isStopped = false;
    for (ByteBuf packet : waiting) {
      received(packet);
    }
    waiting.clear();
    timerAtUs = Long.MAX_VALUE;
    time.after(0, this::arm);
  }

  /** The probe timeout of the first session. */
  int probeTimeoutUs() {
    return sessions.get(0).kcp().probeTimeoutUs();
  }

  private long clockUs() {
    return time.nowUs() + clockOffsetUs;
  }

  @Override
  public void connect(LabLink out) {
    this.out = out;
  }

  @Override
  public LabSession open(int conv, LabUser user) {
    Session session = newSession(conv, user, true);
    table.add(session, clockUs());
    return owners.get(session);
  }

  @Override
  public void listen(IntFunction<LabUser> users) {
    this.users = users;
  }

  private Session newSession(int conv, LabUser user, boolean isClient) {
    Kcp kcp = new Kcp(conv, config, context, random.nextInt());
    if (peerMaxAckDelayMs > 0) {
      kcp.peerMaxAckDelay(peerMaxAckDelayMs);
    }
    Owner owner = new Owner(user);
    owner.session = driver.newSession(REMOTE, kcp);
    owners.put(owner.session, owner);
    if (config.delivery() == Delivery.LANES) {
      useLanes(owner.session, isClient);
    }
    owner.session.reconfigure(config, fec);
    sessions.add(owner.session);
    return owner.session;
  }

  private void useLanes(Session session, boolean isClient) {
    long token = random.nextLong();
    if (isClient) {
      table.offerLanes(session, lanes, token);
    } else {
      table.answerLanes(session, lanes, token, random.nextLong());
    }
  }

  @Override
  public void received(ByteBuf packet) {
    if (isStopped) {
      waiting.add(packet.copy());
      return;
    }
    table.receive(REMOTE, packet, clockUs());
    if (!inBatch) {
      inBatch = true;
      time.after(0, endBatch);
    }
  }

  private void endBatch() {
    inBatch = false;
    table.endBatch(clockUs());
    arm();
  }

  private void flush() {
    table.flushPending(clockUs());
    arm();
  }

  private void arm() {
    long deadlineUs = wheel.nextDeadline();
    if (deadlineUs != Long.MAX_VALUE && deadlineUs - clockOffsetUs < timerAtUs) {
      timerAtUs = Math.max(deadlineUs - clockOffsetUs, time.nowUs());
      time.at(timerAtUs, wake);
    }
  }

  /** Wakes up too early after the timer was moved forward, and does nothing then. */
  private void wake() {
    if (time.nowUs() >= timerAtUs && !isStopped) {
      timerAtUs = Long.MAX_VALUE;
      wheel.advance(clockUs());
      arm();
    }
  }

  private void progressed(Session session) {
    Owner owner = owners.get(session);
    if (session.lanes() != null) {
      readLanes(session, owner);
    }
    for (ByteBuf data; (data = session.kcp().receive()) != null; data.release()) {
      owner.user.received(owner, data);
    }
    owner.user.progressed(owner);
  }

  private static void readLanes(Session session, Owner owner) {
    for (Lane lane; (lane = session.lanes().nextNews()) != null; ) {
      for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
        owner.user.receivedOnLane(owner, lane.id(), message);
      }
    }
  }

  private static void ended(Session session, EndReason reason) {
    throw new AssertionError("session " + session.conv() + " ended: " + reason);
  }

  @Override
  public KcpCounters counters() {
    return context.total();
  }

  @Override
  public void close() {
    sessions.forEach(Session::close);
  }

  private static final class Message extends OutboundMessage {

    Message(ByteBuf content) {
      super(content);
    }

    @Override
    protected void sent() {}

    @Override
    protected void dropped(Drop reason) {
      throw new AssertionError(reason);
    }
  }

  /** A session and its user. */
  private final class Owner implements LabSession {

    private final LabUser user;
    private Session session;

    Owner(LabUser user) {
      this.user = user;
    }

    @Override
    public boolean write(ByteBuf data) {
      return session.kcp().send(data);
    }

    @Override
    public void writeToLane(int lane, ByteBuf message) {
      session.lanes().lane(lane).send(new Message(message));
    }

    @Override
    public int queuedOnLane(int lane) {
      return session.lanes().lane(lane).queuedBytes();
    }

    @Override
    public void flush() {
      table.scheduleFlush(session);
    }
  }
}
