package io.kcp4j.session;

import io.kcp4j.Kcp;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryBudget;
import io.kcp4j.Segment;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.fec.FecContext;
import io.kcp4j.fec.FecPacket;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.net.InetSocketAddress;
import java.util.Objects;

/**
 * One conversation with one remote address: a {@link Kcp} and the forward error correction around
 * it, the unreliable datagrams beside it, and the watch over its peer's silence. Made by {@link
 * SessionTable#newSession} and driven by that table; its owner closes it.
 */
public final class Session extends TimerWheel.Entry {

  /** The default of {@link #keepAliveIntervalMs}. */
  public static final int DEFAULT_KEEP_ALIVE_INTERVAL_MS = 60_000;

  /**
   * At a loss of 10 % each way a probe stays unanswered with a probability of 0.19: all of these do
   * so in one silence of 110,000, and three would in one of 150.
   */
  private static final int MAX_UNANSWERED_PROBES = 7;

  /**
   * How long a silent peer has to answer the first probe; half as long again for each further one,
   * some 32 s in all. Never longer than the silence timeout.
   */
  private static final int FIRST_PROBE_WAIT_MS = 1_000;

  /**
   * Sessions are looked at by the second. Whoever comes later than that was held up, and what the
   * peer has sent meanwhile may wait in the socket: no session ends before that can be read.
   */
  private static final int HELD_UP_MS = 3_000;

  private static final int READ_FIRST_MS = 1_000;

  /** A peer that is known to answer may be silent for this many timeouts before it is probed. */
  private static final int MAX_KEEP_ALIVE_INTERVALS = 4;

  private final SessionKey key;
  private final Kcp kcp;
  private final Object owner;
  private final FecLayer fec;
  private final MemoryBudget budget;

  /** What the cipher of the table adds to each packet, in bytes. */
  private int cipherBytes;

  private UnreliableQueue unread;
  private UnreliableSendQueue unsent;
  private int unreliableLimit;
  private final Watch watch = new Watch();

  private SessionTable table;

  /** Whether the table has listed this session for the end of the batch. */
  boolean hasArrived;

  /** Whether the table has listed this session for the next flush, and what for. */
  boolean isFlushPending;

  boolean hasInput;
  boolean hasWritten;
  boolean isDue;

  private int keepAliveIntervalMs = DEFAULT_KEEP_ALIVE_INTERVAL_MS;
  private int idleTimeoutMs;
  private long lastReceivedAtMs;
  private long payloadMovedAtMs;

  /** Payload that has moved either way, in bytes, and unreliable datagrams. */
  private long payloadMoved;

  /** How many probes have left since the peer was last heard. */
  private int unansweredProbes;

  /** When the last of them left. */
  private long probedAtMs;

  /** Whether a probe is to leave with the next flush; its answer cannot be awaited yet. */
  private boolean isProbeWaiting;

  /** Whether a probe has ever been answered. */
  private boolean hasAnswered;

  /** To when the first probe of this silence was put off, if that is later than its beginning. */
  private long deferredUntilMs;

  Session(
      InetSocketAddress remote,
      Kcp kcp,
      Object owner,
      FecContext fecContext,
      MemoryBudget budget,
      int cipherBytes) {
    this.key = new SessionKey(Objects.requireNonNull(remote, "remote"), kcp.conv());
    this.kcp = kcp;
    this.owner = owner;
    this.fec = new FecLayer(fecContext, kcp.counters());
    this.budget = budget;
    this.cipherBytes = cipherBytes;
    kcp.reconfigure(kcp.config(), cipherBytes);
  }

  /** Where the peer is. */
  public InetSocketAddress remote() {
    return key.remote();
  }

  /** The conversation id. */
  public int conv() {
    return kcp.conv();
  }

  /** The state machine. */
  public Kcp kcp() {
    return kcp;
  }

  /** What was given as owner. */
  public Object owner() {
    return owner;
  }

  SessionKey key() {
    return key;
  }

  /** Whether the session is in a table. */
  boolean isIn(SessionTable other) {
    return table == other;
  }

  /**
   * Sets after how much silence the peer is probed. Seven unanswered probes, which leave over some
   * half a minute, end the session. A peer that has answered one before may be left alone for up to
   * four times as long if there are many.
   *
   * @param ms in milliseconds, default {@value #DEFAULT_KEEP_ALIVE_INTERVAL_MS}; 0 never
   */
  public void keepAliveIntervalMs(int ms) {
    keepAliveIntervalMs = ms;
    deferredUntilMs = lastReceivedAtMs;
    rearmWatch();
  }

  /**
   * Ends the session when no payload moves either way for that long. Unreliable datagrams that are
   * sent or taken in are payload.
   *
   * @param ms in milliseconds; 0, the default, never
   */
  public void idleTimeoutMs(int ms) {
    idleTimeoutMs = ms;
    rearmWatch();
  }

  /**
   * Changes the settings of the ARQ and of FEC, each as long as it may: see {@link
   * Kcp#reconfigure}. What FEC holds of the peer's is dropped if its settings differ.
   *
   * @throws IllegalArgumentException if {@link Kcp#reconfigure} does, or if the MTU has no room for
   *     the headers; nothing has changed then
   * @throws IllegalStateException if the sequence numbers of FEC do not allow another ratio now;
   *     nothing has changed then
   */
  public void reconfigure(KcpConfig config, FecConfig fecConfig) {
    fec.checkSuccessor(fecConfig);
    kcp.reconfigure(config, overheadBytes(cipherBytes, fecConfig));
    fec.configure(fecConfig);
  }

  /** The settings of FEC in force. */
  public FecConfig fecConfig() {
    return fec.config();
  }

  /** What the layers around the ARQ add to each datagram, in bytes. */
  public static int overheadBytes(int cipherBytes, FecConfig fecConfig) {
    return cipherBytes + (fecConfig.isEncoding() ? FecPacket.DATA_HEADER_BYTES : 0);
  }

  FecLayer fec() {
    return fec;
  }

  // Unreliable datagrams

  /**
   * Sets how many unreliable datagrams may wait, each way; beyond that the oldest are dropped.
   *
   * @param datagrams 0, the default: none are taken
   */
  public void unreliableLimit(int datagrams) {
    unreliableLimit = datagrams;
  }

  /**
   * The largest unreliable datagram, in bytes; 0 while none can be sent: the limit has to be set,
   * and FEC be on, since kcp-go takes them from sessions with FEC only.
   */
  public int maxUnreliableBytes() {
    if (unreliableLimit == 0 || !fec.isEncoding()) {
      return 0;
    }
    return kcp.mssBytes() + Segment.HEADER_BYTES - Integer.BYTES;
  }

  /**
   * Queues an unreliable datagram, which leaves with the next flush; the buffer is the session's
   * from then on. The table has to be told by {@link SessionTable#scheduleFlush}.
   *
   * @throws IllegalArgumentException if none can be sent, since the limit is 0 or FEC is off, or if
   *     it is larger than {@link #maxUnreliableBytes}; the buffer stays the caller's
   */
  public void sendUnreliable(ByteBuf datagram) {
    sendUnreliable(new Untold(datagram));
  }

  /**
   * The same, for a datagram that wants to know what becomes of it. It is told also within this
   * method, if there is no memory for it.
   */
  public void sendUnreliable(UnreliableSend datagram) {
    checkUnreliable(datagram.content());
    if (unsent == null) {
      unsent = new UnreliableSendQueue(budget);
    }
    countDropped(unsent.add(datagram, unreliableLimit));
  }

  private record Untold(ByteBuf content) implements UnreliableSend {
    @Override
    public void sent() {}

    @Override
    public void dropped(Drop reason) {}
  }

  private void checkUnreliable(ByteBuf datagram) {
    if (unreliableLimit == 0) {
      throw new IllegalArgumentException("unreliableLimit: 0 (expected: >= 1, to send datagrams)");
    }
    if (!fec.isEncoding()) {
      throw new IllegalArgumentException("FEC: off (expected: on, to send unreliable datagrams)");
    }
    if (datagram.readableBytes() > maxUnreliableBytes()) {
      throw new IllegalArgumentException(
          "datagram: "
              + datagram.readableBytes()
              + " bytes (expected: <= "
              + maxUnreliableBytes()
              + ")");
    }
  }

  /** Takes what has come in at {@code index}; copies it, or drops it if there is no memory. */
  void unreliableArrived(ByteBuf packet, int index, ByteBufAllocator allocator) {
    if (unreliableLimit == 0) {
      countDropped(1);
      return;
    }
    int bytes = packet.writerIndex() - index;
    kcp.counters().add(KcpCounter.UNRELIABLE_IN, 1);
    int dropped;
    try {
      if (unread == null) {
        unread = new UnreliableQueue(budget);
      }
      ByteBuf copy = allocator.buffer(bytes);
      dropped = unread.add(copy.writeBytes(packet, index, bytes), unreliableLimit);
    } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
      kcp.counters().add(KcpCounter.ALLOCATION_FAILED, 1);
      dropped = 1;
    }
    countDropped(dropped);
  }

  private void countDropped(int datagrams) {
    if (datagrams > 0) {
      kcp.counters().add(KcpCounter.UNRELIABLE_DROPPED, datagrams);
    }
  }

  /** The next unreliable datagram that has come in, which becomes the caller's, or null. */
  public ByteBuf receiveUnreliable() {
    return unread == null ? null : unread.poll();
  }

  /** Whether {@link #receiveUnreliable} would return something. */
  public boolean isUnreliableReceivable() {
    return unread != null && !unread.isEmpty();
  }

  /** Whether an unreliable datagram waits to be sent. */
  public boolean hasUnreliableToSend() {
    return unsent != null && !unsent.isEmpty();
  }

  /** Writes what waits to be sent. */
  void flushUnreliable(PacketOutput output) {
    if (unsent == null) {
      return;
    }
    for (UnreliableSend datagram; (datagram = unsent.peek()) != null; ) {
      output.unreliable(conv(), datagram.content()); // May throw: then it waits for the next flush.
      kcp.counters().add(KcpCounter.UNRELIABLE_OUT, 1);
      unsent.remove().sent();
    }
  }

  /** Releases every buffer, the state machine's too. */
  public void close() {
    kcp.close();
    fec.close();
    if (unread != null) {
      unread.close();
    }
    if (unsent != null) {
      unsent.close();
    }
  }

  // Silence

  void added(SessionTable table, long nowMs) {
    this.table = table;
    lastReceivedAtMs = nowMs;
    deferredUntilMs = nowMs;
    payloadMovedAtMs = nowMs;
    rearmWatch();
  }

  void removed() {
    table.watches().cancel(watch);
    table = null;
  }

  void heard(long nowMs) {
    lastReceivedAtMs = nowMs;
    if (unansweredProbes > 0 || isProbeWaiting) {
      hasAnswered |= unansweredProbes > 0;
      unansweredProbes = 0;
      isProbeWaiting = false;
      rearmWatch();
    }
  }

  /** All that waited has been written; a probe's answer is awaited from now on. */
  void flushed(long nowMs) {
    if (isProbeWaiting) {
      isProbeWaiting = false;
      unansweredProbes++;
      probedAtMs = nowMs;
      rearmWatch();
    }
    watchPayload(nowMs);
  }

  /** Notes whether payload has moved since this was called last, unreliable datagrams included. */
  void watchPayload(long nowMs) {
    KcpCounters counters = kcp.counters();
    long moved =
        counters.get(KcpCounter.PAYLOAD_BYTES_IN)
            + counters.get(KcpCounter.PAYLOAD_BYTES_OUT)
            + counters.get(KcpCounter.UNRELIABLE_IN)
            + counters.get(KcpCounter.UNRELIABLE_OUT);
    if (moved != payloadMoved) {
      payloadMoved = moved;
      payloadMovedAtMs = nowMs;
    }
  }

  @Override
  protected void expire(long nowMs) {
    table.due(this);
  }

  private void rearmWatch() {
    if (table == null) {
      return;
    }
    long next = Math.min(keepAliveAtMs(), idleAtMs());
    if (next == Long.MAX_VALUE) {
      table.watches().cancel(watch);
    } else {
      table.watches().arm(watch, next);
    }
  }

  /** When silence will have lasted long enough for a probe, or after the last one for the end. */
  private long keepAliveAtMs() {
    if (keepAliveIntervalMs == 0 || isProbeWaiting) {
      return Long.MAX_VALUE;
    }
    return unansweredProbes == 0
        ? Math.max(lastReceivedAtMs + keepAliveIntervalMs, deferredUntilMs)
        : probedAtMs + probeWaitMs();
  }

  /** How long the answer to the last probe is awaited. */
  private int probeWaitMs() {
    int waitMs = FIRST_PROBE_WAIT_MS;
    for (int i = 1; i < unansweredProbes; i++) {
      waitMs += waitMs / 2;
    }
    return Math.min(waitMs, keepAliveIntervalMs);
  }

  private long idleAtMs() {
    return idleTimeoutMs == 0 ? Long.MAX_VALUE : payloadMovedAtMs + idleTimeoutMs;
  }

  /**
   * Looks at a session when it may have been silent or idle long enough. Nothing touches the watch
   * when a datagram arrives: it finds out when it expires, and waits for the rest of the time.
   */
  private final class Watch extends TimerWheel.Entry {

    @Override
    protected void expire(long nowMs) {
      if (nowMs >= idleAtMs()) {
        if (nowMs - idleAtMs() < HELD_UP_MS) {
          table.end(Session.this, EndReason.IDLE, nowMs);
          return;
        }
        payloadMovedAtMs = nowMs + READ_FIRST_MS - idleTimeoutMs;
      } else if (nowMs >= keepAliveAtMs()) {
        if (unansweredProbes < MAX_UNANSWERED_PROBES) {
          probe(nowMs);
        } else if (nowMs - keepAliveAtMs() < HELD_UP_MS) {
          table.end(Session.this, EndReason.KEEP_ALIVE_TIMEOUT, nowMs);
          return;
        } else {
          probedAtMs = nowMs + READ_FIRST_MS - probeWaitMs();
        }
      }
      rearmWatch();
    }

    private void probe(long nowMs) {
      if (!isDeferred(nowMs)) {
        isProbeWaiting = true;
        fec.forget();
        kcp.probe();
        table.scheduleFlush(Session.this);
      }
    }

    /**
     * Whether a peer that is known to answer has to wait, once in a silence, for others' probes.
     */
    private boolean isDeferred(long nowMs) {
      if (!hasAnswered || unansweredProbes > 0 || deferredUntilMs > lastReceivedAtMs) {
        return false;
      }
      deferredUntilMs =
          table.scheduleProbe(
              nowMs, lastReceivedAtMs + (long) MAX_KEEP_ALIVE_INTERVALS * keepAliveIntervalMs);
      return deferredUntilMs > nowMs;
    }
  }
}
