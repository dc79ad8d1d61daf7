package io.kcp4j.smux;

import io.kcp4j.Unstable;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * One side of a smux session: many streams over one connection that carries bytes in order. It is a
 * state machine: the driver gives it what arrives and the time, and takes frames from it.
 *
 * <p>What a frame holds is chosen in {@link #nextFrame}. So a driver should take frames only as the
 * connection can send them: what waits in a queue below delays every stream.
 *
 * <p>The parts: {@link FrameReader} splits what arrives into frames, {@link StreamInput} and {@link
 * ReceiveQuota} keep what streams have not read; {@link ControlFrames} and {@link OutputScheduler}
 * hold what can be sent; the end of streams is here. See protocol.md 14.
 *
 * <p>Used by one thread.
 */
@Unstable
public final class SmuxSession {

  private static final int MAX_DELAY_MS = 5000;

  private final SmuxConfig config;
  private final SmuxSessionListener listener;
  private final StreamTable table;
  private final IncomingStreams incoming;
  private final FrameReader reader;
  private final ReceiveQuota quota;
  private final ControlFrames control;
  private final OutputScheduler output;
  private final KeepAlive keepAlive;

  /** Closed here, and wait for the peer's FIN. */
  private final StreamTimeouts closings;

  /** Blocked after the peer's FIN. */
  private final StreamTimeouts stalls;

  /** How late the driver may call {@link #runTimers}. */
  private final int maxDelayMs;

  /** Streams whose listeners will be told of input at the end of {@link #receive}. */
  private final ArrayDeque<SmuxStream> withInput = new ArrayDeque<>();

  private final ArrayDeque<ByteBuf> scratch = new ArrayDeque<>();
  private long nowMs;
  private Throwable failure;

  /** Calls from outside that are not done: the listener is told of frames after the last. */
  private int depth;

  private boolean isFrameReported;
  private boolean wasBlocked;

  // Counters.
  private long openedStreams;
  private long acceptedStreams;
  private long refusedStreams;
  private long cutStreams;
  private long framesOut;
  private long bytesIn;
  private long discardedBytes;
  private long violations;

  /**
   * Makes a session. Nothing is sent at the start.
   *
   * @param client whether this side has opened the connection; the peer must be the other
   * @param nowMs the time in milliseconds, from any origin
   */
  public SmuxSession(SmuxConfig config, boolean client, SmuxSessionListener listener, long nowMs) {
    this.config = config;
    this.listener = listener;
    this.nowMs = nowMs;
    table = new StreamTable(client);
    incoming = new IncomingStreams(config, nowMs);
    reader = new FrameReader(config.version(), new Frames());
    quota = new ReceiveQuota(config.maxReceiveBuffer(), config.stalledStreamMs());
    control = new ControlFrames(config.version(), this::finSent);
    closings = new StreamTimeouts(config.closeTimeoutMs());
    stalls = new StreamTimeouts(config.closeTimeoutMs());
    output = new OutputScheduler(config, control, stalls, table::open);
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
        reader.read(in);
      } finally {
        reportInput(in.alloc());
      }
    } finally {
      depth--;
    }
    wasBlocked |= quota.isBlocked();
    report();
  }

  private void reportInput(ByteBufAllocator allocator) {
    for (SmuxStream stream; (stream = withInput.pollFirst()) != null; ) {
      stream.isInputPending = false;
      if (!stream.isClosed) {
        stream.listener.inputReady(stream);
        stream.input.copySlices(allocator, scratch);
      }
    }
  }

  /**
   * Whether the driver should stop reading from the connection, because streams have not read
   * {@link SmuxConfig#maxReceiveBuffer()} bytes. {@link SmuxSessionListener#receiveReady()} says
   * when to go on. In version 2, that is {@link SmuxConfig#stalledStreamMs()} later at the latest,
   * unless streams are read all the time.
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
    if (table.open() >= config.maxStreams() || !makeRoomForClosing()) {
      throw new SmuxException("maxStreams: " + config.maxStreams() + " streams are open");
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
    return output.isReady() || !control.isEmpty();
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
      closings.expire(nowMs, this::abandon);
      stalls.expire(nowMs, stream -> cut(stream, "the peer has ended it and reads no more"));
      cutStalled();
    } finally {
      depth--;
    }
    report();
    long streamsMs = Math.min(closings.delayMs(nowMs), stalls.delayMs(nowMs));
    long delayMs = Math.min(streamsMs, Math.min(keepAlive.delayMs(nowMs), quota.delayMs(nowMs)));
    return Math.max(1, Math.min(delayMs, maxDelayMs));
  }

  /** In version 1 a stream that is not read is the only flow control that there is. */
  private void cutStalled() {
    if (config.version() == 1 || !quota.isCutDue(nowMs)) {
      return;
    }
    SmuxStream largest = null;
    int most = 0;
    for (SmuxStream stream : table.all()) {
      if (stream.input.isStalled(quota.period()) && stream.readableBytes() > most) {
        largest = stream;
        most = stream.readableBytes();
      }
    }
    if (largest == null) {
      quota.beginPeriod(nowMs);
    } else {
      cut(largest, "unread while the receive buffer is full: " + most + " bytes");
    }
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
    List<SmuxStream> failed = new ArrayList<>();
    for (SmuxStream stream : table.all()) {
      stream.isOver = true;
      output.abandon(stream);
      if (!stream.isClosed) {
        stream.isClosed = true;
        stream.input.discardUnread(quota);
        failed.add(stream);
      }
    }
    table.clear();
    control.clear();
    closings.clear();
    stalls.clear();
    for (SmuxStream stream : failed) {
      if (stream.listener != null) {
        stream.listener.failed(stream, cause);
      }
    }
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
        acceptedStreams,
        refusedStreams,
        cutStreams,
        quota.used(),
        output.outstanding(),
        reader.frames(),
        framesOut,
        bytesIn,
        output.bytes(),
        discardedBytes,
        violations);
  }

  // What streams ask for.

  ByteBuf read(SmuxStream stream) {
    ByteBuf piece = stream.input.poll(quota);
    if (piece != null) {
      afterInput(stream);
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
    end(stream);
    report();
  }

  // The end of streams.

  private void end(SmuxStream stream) {
    if (stream.isClosed) {
      return;
    }
    stream.isClosed = true;
    if (stream.isOver) {
      return;
    }
    table.closed();
    stream.input.discardUnread(quota);
    output.stop(stream);
    if (!stream.input.hasFin()) {
      closings.add(stream);
    }
    afterInput(stream);
  }

  private void cut(SmuxStream stream, String reason) {
    cutStreams++;
    end(stream);
    stream.listener.failed(stream, new SmuxException(stream + ": " + reason));
  }

  /** Input was read or discarded, or has ended. */
  private void afterInput(SmuxStream stream) {
    StreamInput input = stream.input;
    if (input.isEnded() && !stream.isClosed) {
      output.inputEnded(stream);
    }
    if (input.isUpdateDue() && !stream.isInViolation) {
      control.add(stream, ControlFrames.UPD);
    }
    removeIfOver(stream);
  }

  private void finSent(SmuxStream stream) {
    stream.output.isFinSent = true;
    if (!stream.isClosed) {
      stream.listener.outputEnded(stream);
    }
    removeIfOver(stream);
  }

  /** The time for the peer's FIN is over. */
  private void abandon(SmuxStream stream) {
    stream.isAbandoned = true;
    removeIfOver(stream);
  }

  /** What a peer has not read of a stream is freed there when both FINs are. */
  private void removeIfOver(SmuxStream stream) {
    if (stream.isOver || !stream.output.isFinSent) {
      return;
    }
    StreamInput input = stream.input;
    if (input.hasFin() || stream.isAbandoned) {
      output.forget(stream);
      if (stream.isClosed || input.isEnded()) {
        stream.isOver = true;
        table.remove(stream);
        closings.remove(stream);
      }
    }
  }

  /** Forgets the oldest streams that wait for the peer's FIN, if there are too many. */
  private boolean makeRoomForClosing() {
    while (table.closing() >= config.maxStreams()) {
      SmuxStream oldest = closings.first();
      if (oldest == null || !oldest.output.isFinSent) {
        return false;
      }
      closings.remove(oldest);
      abandon(oldest);
    }
    return true;
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

  /** What arrives. */
  private final class Frames implements FrameReader.Handler {

    @Override
    public boolean isDone() {
      return failure != null;
    }

    @Override
    public void opened(int streamId) {
      if (table.get(streamId) != null) {
        violations++;
      } else if (!incoming.admit(table.open(), nowMs)) {
        refuse(streamId);
      } else if (!makeRoomForClosing()) {
        refusedStreams++;
      } else {
        accept(streamId);
      }
    }

    /** Without a place for one more that is closing, there is not even a FIN. */
    private void refuse(int streamId) {
      refusedStreams++;
      if (table.closing() < config.maxStreams()) {
        SmuxStream stream = new SmuxStream(SmuxSession.this, streamId);
        table.add(stream);
        end(stream);
      }
    }

    private void accept(int streamId) {
      SmuxStream stream = new SmuxStream(SmuxSession.this, streamId);
      table.add(stream);
      stream.listener = listener.streamOpened(stream);
      if (stream.listener == null) {
        refusedStreams++;
        end(stream);
      } else {
        acceptedStreams++;
        if (failure != null) {
          stream.listener.failed(stream, failure);
        }
      }
    }

    @Override
    public void ended(int streamId) {
      SmuxStream stream = table.get(streamId);
      if (stream == null || stream.input.hasFin()) {
        return;
      }
      stream.input.fin();
      if (stream.isClosed) {
        closings.remove(stream);
      } else {
        inputArrived(stream);
      }
      afterInput(stream);
    }

    @Override
    public void windowUpdated(int streamId, int consumed, int window) {
      SmuxStream stream = table.get(streamId);
      if (stream != null && !output.windowUpdated(stream, consumed, window)) {
        violations++;
      }
    }

    @Override
    public void payload(int streamId, ByteBuf in, int bytes) {
      bytesIn += bytes;
      SmuxStream stream = table.get(streamId);
      if (stream == null || stream.isClosed || stream.input.hasFin()) {
        discard(stream, bytes);
        in.skipBytes(bytes);
      } else if (!stream.input.admits(bytes)) {
        violations++;
        stream.isInViolation = true;
        discardedBytes += bytes;
        in.skipBytes(bytes);
        cut(stream, "the peer has sent beyond the window");
      } else {
        stream.input.add(in.readRetainedSlice(bytes), quota);
        inputArrived(stream);
      }
    }

    private void discard(SmuxStream stream, int bytes) {
      discardedBytes += bytes;
      if (stream == null) {
        return;
      }
      if (stream.input.hasFin()) {
        violations++;
      } else {
        stream.input.discard(bytes);
        afterInput(stream);
      }
    }

    private void inputArrived(SmuxStream stream) {
      if (!stream.isInputPending) {
        stream.isInputPending = true;
        withInput.addLast(stream);
      }
    }
  }
}
