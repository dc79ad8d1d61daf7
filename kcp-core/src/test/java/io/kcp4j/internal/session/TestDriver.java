package io.kcp4j.internal.session;

import io.kcp4j.CloseReason;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.internal.admission.Incoming;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * A {@link SessionTable} and its driver, for tests, the simulator, fuzz targets and benchmarks. The
 * driver answers what the table asks by hooks, and owns the sessions that it makes. By default it
 * accepts every session, discards every packet, and closes sessions that have ended.
 */
public final class TestDriver implements SessionTable.Handler, Session.Owner {

  /** Changes settings of a session. */
  public static void configure(Session session, UnaryOperator<KcpConfig.Builder> change) {
    KcpConfig config = change.apply(session.kcp().config().toBuilder()).build();
    session.reconfigure(config, session.fecConfig());
  }

  /** Answers an attempt to begin a session. */
  @FunctionalInterface
  public interface Acceptor {
    /** Returns the new session, or null to refuse it. */
    Session accept(InetSocketAddress remote, int conv);
  }

  /** Takes packets that another table has forwarded. */
  @FunctionalInterface
  public interface Forwarder {
    /** Takes a packet, which begins with its nonce. */
    void forward(InetSocketAddress remote, ByteBuf packet, int nonceBytes);
  }

  private static final String[] COMMANDS = {"PUSH", "ACK", "WASK", "WINS"};

  /** The table. */
  public final SessionTable table;

  /** What its sessions share. */
  public final KcpContext context;

  /** The deadlines of its sessions. */
  public final TimerWheel deadlines;

  /** The settings of sessions that {@link #newSession} makes. */
  public KcpConfig config = KcpConfig.DEFAULT;

  /** Whether sessions that {@link #newSession} makes have validated paths, which have no limit. */
  public boolean trustsPeers = true;

  /** Called for each attempt to begin a session that is not deferred. */
  public Acceptor acceptor = this::newSession;

  /** What peers are told whose attempts are refused; null for nothing. */
  public CloseReason refusal;

  /** Whether attempts are left unanswered. */
  public boolean defersAccept;

  /** The attempts that were left unanswered, in order. */
  public final List<Incoming> deferred = new ArrayList<>();

  /** Called when a session has progressed. */
  public Consumer<Session> onProgress = session -> {};

  /** Called when a session has been flushed; returns whether its owner was told. */
  public Predicate<Session> onFlushed = session -> false;

  /** Called when a peer has become unresponsive. */
  public Consumer<Session> onUnresponsive = session -> {};

  /**
   * Called when a session has ended, before the driver closes it, unless this has begun to close
   * it.
   */
  public BiConsumer<Session, EndReason> onEnd = (session, reason) -> {};

  /** Called when a session has gone that was left in the table to be closed. */
  public Consumer<Session> onClosed = session -> {};

  /** Called for packets of sessions of another table. */
  public Forwarder onForward = (remote, packet, nonceBytes) -> {};

  /** Runs the tasks that other tables give to the thread of this one. */
  public Consumer<Runnable> onExecute = Runnable::run;

  /** Called for datagrams of peers with other settings. */
  public BiConsumer<KcpCounter, InetSocketAddress> onMismatch = (counter, remote) -> {};

  /** Called when the table asks for a flush. */
  public Runnable onFlushRequest = () -> {};

  /** Called when what was written to outputs should leave. */
  public Runnable onOutputFlush = () -> {};

  /** Called before an output is taken. */
  public Runnable onOutput = () -> {};

  /** Where packets for an address are written. */
  public Function<InetSocketAddress, DatagramOutput> output;

  /** Whether the output takes packets. */
  public BooleanSupplier outputWritable = () -> true;

  /** The clock: maps the time that the table was given last to the present time. */
  public LongUnaryOperator clock = LongUnaryOperator.identity();

  /** The sessions that were accepted, in order. */
  public final List<Session> accepted = new ArrayList<>();

  /** Whether attempts to begin a session would be accepted. */
  public boolean isAccepting = true;

  /** How often the table has asked for a flush. */
  public int flushRequests;

  /** How often outputs were flushed. */
  public int outputFlushes;

  /** How many sessions were left in the table to be closed, and have gone. */
  public int closed;

  /** What {@link #recordEvents} has recorded, and what the test has added. */
  public final List<String> events = new ArrayList<>();

  private boolean isRecording;

  private TestDriver(Builder builder) {
    context = builder.context;
    deadlines = builder.deadlines;
    DatagramOutput discarding = new DiscardingOutput();
    output = remote -> discarding;
    table =
        new SessionTable(
            this,
            context,
            builder.cipher,
            builder.fecContext == null
                ? new FecContext(MemoryAccount.of(context.budget()))
                : builder.fecContext,
            deadlines,
            builder.directory,
            builder.maxDatagramBytes,
            builder.nowUs);
  }

  /** A driver and its table: no encryption, room for three sessions of peers, and time 0. */
  public static TestDriver of(KcpContext context) {
    return builder(context).build();
  }

  /** The same with settings of its own. */
  public static Builder builder(KcpContext context) {
    return new Builder(context);
  }

  /** The settings of a table. */
  public static final class Builder {

    private static final int DEFAULT_MAX_SESSIONS = 3;

    private final KcpContext context;
    private PacketCipher cipher = KeyRing.NONE.newCipher();
    private FecContext fecContext;
    private TimerWheel deadlines = new TimerWheel(0);
    private SessionDirectory directory = SessionDirectory.ofOne(DEFAULT_MAX_SESSIONS);
    private int maxDatagramBytes = 1500;
    private long nowUs;

    private Builder(KcpContext context) {
      this.context = context;
    }

    /** The cipher that opens packets; the output seals them. */
    public Builder cipher(PacketCipher cipher) {
      this.cipher = cipher;
      return this;
    }

    /** What FEC shares; by default a context of the table's own. */
    public Builder fecContext(FecContext fecContext) {
      this.fecContext = fecContext;
      return this;
    }

    /** The wheel of the sessions' deadlines. */
    public Builder deadlines(TimerWheel deadlines) {
      this.deadlines = deadlines;
      return this;
    }

    /** What the table shares with others. */
    public Builder directory(SessionDirectory directory) {
      this.directory = directory;
      return this;
    }

    /** How many sessions peers may begin. */
    public Builder maxSessions(int sessions) {
      return directory(SessionDirectory.ofOne(sessions));
    }

    /** The largest datagram that is parsed, in bytes. */
    public Builder maxDatagramBytes(int bytes) {
      maxDatagramBytes = bytes;
      return this;
    }

    /** The time, in microseconds. */
    public Builder nowUs(long nowUs) {
      this.nowUs = nowUs;
      return this;
    }

    /** Makes the driver and its table. */
    public TestDriver build() {
      return new TestDriver(this);
    }
  }

  /** Makes a session with {@link #config}, which is not in the table yet. */
  public Session newSession(InetSocketAddress remote, int conv) {
    Session session = newSession(remote, new Kcp(conv, config, context, 0));
    if (trustsPeers) {
      session.validatePath();
    }
    return session;
  }

  /** Makes a session of the driver's own, which is not in the table yet. */
  public Session newSession(InetSocketAddress remote, Kcp kcp) {
    return table.newSession(remote, kcp, this);
  }

  /**
   * Records what happens from now on, as text: see {@link #events}. Datagrams are recorded only of
   * tables without cipher and FEC, and without parsing more than the first segment.
   *
   * @return this
   */
  public TestDriver recordEvents() {
    isRecording = true;
    output = remote -> new RecordingOutput();
    return this;
  }

  /** Returns the recorded events and removes them. */
  public List<String> events() {
    List<String> recorded = List.copyOf(events);
    events.clear();
    return recorded;
  }

  @Override
  public void incoming(Incoming incoming, long nowUs) {
    if (defersAccept) {
      deferred.add(incoming);
      return;
    }
    Session session = acceptor.accept(incoming.remote(), incoming.conv());
    if (session == null) {
      incoming.refuse(refusal, nowUs);
    } else {
      accepted.add(session);
      incoming.accept(session, nowUs);
    }
  }

  @Override
  public boolean isAccepting(InetSocketAddress remote, int conv) {
    return isAccepting;
  }

  @Override
  public CloseReason refusal(InetSocketAddress remote, int conv) {
    return isAccepting ? null : refusal;
  }

  @Override
  public boolean flushed(Session session) {
    return onFlushed.test(session);
  }

  @Override
  public void progressed(Session session) {
    if (isRecording) {
      events.add("progressed " + session.conv());
    }
    onProgress.accept(session);
  }

  @Override
  public void unresponsive(Session session) {
    if (isRecording) {
      events.add("unresponsive " + session.conv());
    }
    onUnresponsive.accept(session);
  }

  @Override
  public void ended(Session session, EndReason reason) {
    if (isRecording) {
      events.add("ended " + session.conv() + " " + reason);
    }
    onEnd.accept(session, reason);
    if (!session.isClosing()) {
      session.close();
    }
  }

  @Override
  public void closed(Session session) {
    closed++;
    onClosed.accept(session);
  }

  @Override
  public DatagramOutput output(InetSocketAddress remote) {
    onOutput.run();
    return output.apply(remote);
  }

  @Override
  public void flushOutput() {
    outputFlushes++;
    onOutputFlush.run();
  }

  @Override
  public void forward(InetSocketAddress remote, ByteBuf packet, int nonceBytes) {
    onForward.forward(remote, packet, nonceBytes);
  }

  @Override
  public boolean execute(Runnable task) {
    onExecute.accept(task);
    return true;
  }

  @Override
  public void mismatched(KcpCounter counter, InetSocketAddress remote) {
    onMismatch.accept(counter, remote);
  }

  @Override
  public boolean isOutputWritable() {
    return outputWritable.getAsBoolean();
  }

  @Override
  public long readNowUs(long nowUs) {
    return clock.applyAsLong(nowUs);
  }

  @Override
  public void requestFlush() {
    flushRequests++;
    onFlushRequest.run();
  }

  private static final class DiscardingOutput implements DatagramOutput {

    private final ByteBuf buffer = Unpooled.buffer();

    @Override
    public ByteBuf begin(int maxBytes) {
      return buffer.clear();
    }

    @Override
    public void end() {}
  }

  /** Records each datagram by its conv and its first command. */
  private final class RecordingOutput implements DatagramOutput {

    private ByteBuf datagram;

    @Override
    public ByteBuf begin(int maxBytes) {
      datagram = Unpooled.buffer(maxBytes, maxBytes);
      return datagram;
    }

    @Override
    public void end() {
      String command = COMMANDS[Segment.cmd(datagram, 0) - Segment.PUSH];
      events.add("sent " + Segment.conv(datagram, 0) + " " + command);
    }
  }
}
