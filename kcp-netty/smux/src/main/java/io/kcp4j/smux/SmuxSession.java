package io.kcp4j.smux;

import io.kcp4j.Unstable;
import io.kcp4j.netty.internal.ConnectionMemory;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * One side of a smux session: many streams over one connection that carries bytes in order. It is a
 * state machine: the driver gives it what arrives and the time, and takes frames from it.
 *
 * <p>What a frame holds is chosen in {@link #nextFrame}. So a driver should take frames only as the
 * connection can send them: what waits in a queue below delays every stream.
 *
 * <p>Used by one thread.
 */
@Unstable
public final class SmuxSession {

  private static final int MAX_DELAY_MS = 5000;

  private final SmuxConfig config;
  private final SmuxSessionListener listener;
  private final StreamTable table;
  private final ReceiveQuota quota;
  private final StreamLifecycle lifecycle;
  private final ControlFrames control;
  private final OutputScheduler output;
  private final IncomingFrames incoming;
  private final FrameReader reader;
  private final KeepAlive keepAlive;

  /** How late the driver may call {@link #runTimers}. */
  private final int maxDelayMs;

  private long nowMs;
  private Throwable failure;

  /** Calls from outside that are not done: the listener is told of frames after the last. */
  private int depth;

  private boolean isFrameReported;
  private boolean wasBlocked;
  private long openedStreams;
  private long framesOut;

  /** Makes a session over a connection without a memory limit. */
  public SmuxSession(SmuxConfig config, boolean client, SmuxSessionListener listener, long nowMs) {
    this(config, client, listener, ConnectionMemory.UNLIMITED, nowMs);
  }

  /**
   * Makes a session. Nothing is sent at the start.
   *
   * @param client whether this side has opened the connection; the peer must be the other
   * @param memory where to count what the peer makes the session keep
   * @param nowMs the time in milliseconds, from any origin
   */
  public SmuxSession(
      SmuxConfig config,
      boolean client,
      SmuxSessionListener listener,
      ConnectionMemory memory,
      long nowMs) {
    this.config = config;
    this.listener = listener;
    this.nowMs = nowMs;
    table = new StreamTable(client, memory);
    quota = new ReceiveQuota(config.maxReceiveBuffer(), config.stalledStreamMs(), memory);
    lifecycle = new StreamLifecycle(config, table, quota);
    control = lifecycle.control();
    output = lifecycle.output();
    StreamAdmission admission = new StreamAdmission(config, memory);
    incoming = new IncomingFrames(this, listener, table, lifecycle, quota, admission, memory);
    reader = new FrameReader(config.version(), incoming);
    int shortestMs = Math.min(config.closeTimeoutMs(), config.stalledStreamMs());
    maxDelayMs = Math.min(MAX_DELAY_MS, shortestMs);
    keepAlive = new KeepAlive(config, maxDelayMs, nowMs);
  }

  /** The settings. */
  public SmuxConfig config() {
    return config;
  }

  /**
   * Takes in what has arrived on the connection: any part of frames, or several. All readable bytes
   * are taken, also while the session {@linkplain #isReceiveBlocked() is blocked}.
   *
   * @param in not released. Its bytes are handed out in slices, so they must not be overwritten
   *     afterwards
   * @param nowMs the time, in milliseconds
   * @throws SmuxException if the peer breaks the protocol so that the following bytes cannot be
   *     understood. The session is unusable, call {@link #fail} with the exception
   */
  public void receive(ByteBuf in, long nowMs) throws SmuxException {
    this.nowMs = nowMs;
    if (in.isReadable()) {
      keepAlive.received(nowMs);
    }
    depth++;
    try {
      try {
        incoming.acceptWaiting();
        reader.read(in);
      } finally {
        incoming.report(in.alloc());
      }
      lifecycle.received();
    } finally {
      depth--;
    }
    wasBlocked |= quota.isBlocked();
    report();
  }

  /**
   * The peer may have proven its address: accepts streams that have waited for that.
   *
   * @param allocator for what their listeners leave unread
   */
  public void peerValidated(ByteBufAllocator allocator) {
    depth++;
    try {
      incoming.acceptWaiting();
      incoming.report(allocator);
      lifecycle.received();
    } finally {
      depth--;
    }
    wasBlocked |= quota.isBlocked();
    report();
  }

  /**
   * Whether the driver should stop reading from the connection, because streams have not read
   * {@link SmuxConfig#maxReceiveBuffer()} bytes, or because the connection's memory has no room for
   * what they have not read. {@link SmuxSessionListener#receiveReady()} says when to go on. In
   * version 2, that is some time after {@link SmuxConfig#stalledStreamMs()} at the latest, unless
   * all streams are read slowly.
   */
  public boolean isReceiveBlocked() {
    return quota.isBlocked();
  }

  /**
   * Opens a stream. The peer learns of it by a frame.
   *
   * @param source what the stream sends, or null to set it later
   * @throws SmuxException if the session has failed, {@link SmuxConfig#maxStreams()} are open or
   *     closing, or all stream ids are used up
   */
  public SmuxStream open(SmuxStreamListener listener, SmuxStreamSource source)
      throws SmuxException {
    if (failure != null) {
      throw new SmuxException("the session has failed: " + failure.getMessage());
    }
    if (table.open() >= config.maxStreams() || !lifecycle.makeRoom()) {
      throw new SmuxException(
          "maxStreams: " + config.maxStreams() + " streams are open or closing");
    }
    SmuxStream stream = new SmuxStream(this, table.takeId());
    stream.listener = listener;
    stream.output.source = source;
    table.add(stream);
    openedStreams++;
    control.add(stream, ControlFrames.SYN);
    output.ready(stream);
    report();
    return stream;
  }

  /** Whether {@link #nextFrame} would return a frame. */
  public boolean hasFrame() {
    // In this order: streams without data may leave a FIN.
    boolean hasFrame = output.isReady() || !control.isEmpty();
    isFrameReported &= hasFrame;
    return hasFrame;
  }

  /**
   * Takes the next frame, chosen now: control frames first, in their order, then data by priority
   * and weight.
   *
   * @return a whole frame, which belongs to the caller, or null if there is nothing to send
   */
  public ByteBuf nextFrame(ByteBufAllocator allocator) {
    depth++;
    try {
      ByteBuf frame = chooseFrame(allocator);
      framesOut += frame == null ? 0 : 1;
      return frame;
    } finally {
      depth--;
      isFrameReported = hasFrame();
    }
  }

  private ByteBuf chooseFrame(ByteBufAllocator allocator) {
    if (control.isEmpty() && output.isReady()) {
      return output.next(allocator);
    }
    return control.isEmpty() ? null : control.next(allocator);
  }

  /**
   * Does what is due: keep-alive, and the timeouts of streams.
   *
   * @param nowMs the time, in milliseconds
   * @return after how many milliseconds to call this again, at least 1 and at most 5000
   * @throws SmuxException if nothing has been received for {@link SmuxConfig#keepAliveTimeoutMs()}.
   *     The session is unusable, call {@link #fail} with the exception
   */
  public long runTimers(long nowMs) throws SmuxException {
    if (failure != null) {
      return MAX_DELAY_MS;
    }
    this.nowMs = nowMs;
    keepAlive.called(nowMs);
    if (quota.isBlocked()) {
      keepAlive.received(nowMs);
    }
    if (keepAlive.isExpired(nowMs)) {
      throw new SmuxException("nothing received for " + config.keepAliveTimeoutMs() + " ms");
    }
    depth++;
    try {
      if (keepAlive.takeNop(nowMs)) {
        control.addNop();
      }
      lifecycle.runTimers(nowMs);
    } finally {
      depth--;
    }
    report();
    long delayMs = Math.min(keepAlive.delayMs(nowMs), lifecycle.delayMs(nowMs));
    return Math.max(1, Math.min(delayMs, maxDelayMs));
  }

  /**
   * Ends the session: every stream fails with the cause, and all buffers are released. Nothing is
   * sent, since smux has no frame for it. Then there are no frames, and {@link #receive} discards.
   * Without effect on a session that has failed.
   */
  public void fail(Throwable cause) {
    if (failure != null) {
      return;
    }
    failure = cause;
    lifecycle.fail(cause);
  }

  /** Streams that are open. */
  public int openStreams() {
    return table.open();
  }

  /** The state and the counters at this moment. */
  public SmuxStats stats() {
    return new SmuxStats(
        table.open(),
        table.closing(),
        openedStreams,
        incoming.accepted(),
        incoming.refused(),
        lifecycle.cut(),
        quota.used(),
        output.outstanding(),
        reader.frames(),
        framesOut,
        incoming.bytes(),
        output.bytes(),
        incoming.discardedBytes(),
        incoming.violations());
  }

  long nowMs() {
    return nowMs;
  }

  /** Why the session has failed, or null. */
  Throwable failure() {
    return failure;
  }

  // What streams ask for.

  ByteBuf read(SmuxStream stream) {
    ByteBuf piece = stream.input.poll(quota);
    if (piece != null) {
      lifecycle.afterInput(stream);
      report();
    }
    return piece;
  }

  void outputReady(SmuxStream stream) {
    output.ready(stream);
    report();
  }

  void shutdownOutput(SmuxStream stream) {
    if (!stream.isClosed) {
      output.shutdown(stream);
      report();
    }
  }

  int sendableBytes(SmuxStream stream) {
    return output.available(stream);
  }

  void classify(SmuxStream stream, int priority, int weight) {
    output.classify(stream, priority, weight);
  }

  void close(SmuxStream stream) {
    lifecycle.close(stream);
    report();
  }

  /** Tells the listener what has become possible. */
  private void report() {
    if (depth > 0 || failure != null) {
      return;
    }
    if (wasBlocked && !quota.isBlocked()) {
      wasBlocked = false;
      listener.receiveReady();
    }
    if (!isFrameReported && hasFrame()) {
      isFrameReported = true;
      listener.frameReady();
    }
  }
}
