package io.kcp4j.netty.smux;

import io.kcp4j.netty.internal.ConnectionMemory;
import io.kcp4j.netty.internal.SessionPipeline;
import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;
import io.kcp4j.smux.SmuxSession;
import io.kcp4j.smux.SmuxSessionListener;
import io.kcp4j.smux.SmuxStats;
import io.kcp4j.smux.SmuxStream;
import io.kcp4j.smux.SmuxStreamListener;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * The smux session of a connection, from when that is active until it ends. Used by the event loop.
 *
 * <p>Handlers of streams never run within a call of the session. The session's reports wait in a
 * queue, and a round dispatches them: after each buffer that was received, and in a task of the
 * event loop after anything else. A round also pulls frames: one write for each, as long as the
 * connection is writable, and then one flush. So no frame is added to a connection that is not
 * writable, and what a frame holds is chosen when it can leave.
 */
final class SmuxConnection implements SmuxSessionListener {

  /**
   * The approximate memory of a stream's channel, with its pipeline, its events and a few handlers.
   */
  private static final int CHANNEL_BYTES = 4 * 1024;

  /** The most passes of a round. Work that it causes beyond that waits for a task. */
  private static final int MAX_PASSES = 16;

  private final ChannelHandlerContext ctx;
  private final ChannelHandler streamHandler;
  private final ConnectionMemory memory;
  private final SmuxSession session;
  private final Set<SmuxStreamChannel> streams = new LinkedHashSet<>();
  private final Queue<Runnable> events = new ArrayDeque<>();
  private final ChannelFutureListener writeListener = this::written;

  private ScheduledFuture<?> timer;
  private boolean isRoundScheduled;
  private boolean isDispatching;
  private boolean isPulling;
  private boolean isEnded;

  /** Whether the user closes the connection, rather than the peer or an error. */
  private boolean isClosedByUser;

  /** Whether this has switched off the connection's {@code autoRead}. */
  private boolean isReadingStopped;

  /**
   * @param streamHandler the first handler of streams that the peer opens, or null to refuse them
   */
  SmuxConnection(
      ChannelHandlerContext ctx, SmuxConfig config, boolean client, ChannelHandler streamHandler) {
    this.ctx = ctx;
    this.streamHandler = streamHandler;
    memory = SessionPipeline.memory(ctx.channel());
    session = new SmuxSession(config, client, this, memory, nowMs());
    runTimers();
  }

  private long nowMs() {
    return TimeUnit.NANOSECONDS.toMillis(ctx.executor().ticker().nanoTime());
  }

  SmuxStats stats() {
    return session.stats();
  }

  /** The most time that each step of closing a stream may take. */
  int closeTimeoutMs() {
    return session.config().closeTimeoutMs();
  }

  // Streams.

  SmuxStreamChannel open() throws ClosedChannelException, SmuxException {
    if (isEnded) {
      throw new ClosedChannelException();
    }
    StreamEvents events = new StreamEvents(this);
    return add(session.open(events, null), events, false);
  }

  private SmuxStreamChannel add(SmuxStream stream, StreamEvents events, boolean isCharged) {
    SmuxStreamChannel channel =
        new SmuxStreamChannel(ctx.channel(), this, stream, events, isCharged);
    streams.add(channel);
    return channel;
  }

  void remove(SmuxStreamChannel stream) {
    streams.remove(stream);
    if (stream.isCharged()) {
      memory.release(CHANNEL_BYTES);
    }
  }

  ConnectionMemory memory() {
    return memory;
  }

  /** The peer may have proven its address. */
  void peerValidated() {
    if (!isEnded) {
      session.peerValidated(ctx.alloc());
      scheduleRound();
    }
  }

  @Override
  public SmuxStreamListener streamOpened(SmuxStream stream) {
    if (streamHandler == null || !memory.tryReserveChannel(CHANNEL_BYTES)) {
      return null;
    }
    StreamEvents events = new StreamEvents(this);
    SmuxStreamChannel channel = add(stream, events, true);
    enqueue(() -> accept(channel));
    return events;
  }

  private void accept(SmuxStreamChannel stream) {
    stream.pipeline().addLast(streamHandler);
    ctx.channel()
        .eventLoop()
        .register(stream)
        .addListener(
            registered -> {
              if (!registered.isSuccess()) {
                stream.unsafe().closeForcibly();
              }
            });
  }

  // Receiving.

  void receive(ByteBuf in) {
    try {
      session.receive(in, nowMs());
    } catch (SmuxException e) {
      fail(e);
    } finally {
      in.release();
    }
    updateReading();
    if (!isPulling) { // A local channel may answer within a flush.
      dispatch();
    }
    scheduleRound();
  }

  /**
   * Streams that are not read stop the whole connection when the session's receive buffer is full,
   * or its memory used up. What the connection has read already is still received.
   */
  private void updateReading() {
    var config = ctx.channel().config();
    boolean isBlocked = !isEnded && session.isReceiveBlocked();
    if (isBlocked && !isReadingStopped && config.isAutoRead()) {
      isReadingStopped = true;
      config.setAutoRead(false);
      timer.cancel(false);
      runTimers(); // They are due earlier than when nothing was blocked.
    } else if (!isBlocked && isReadingStopped) {
      isReadingStopped = false;
      config.setAutoRead(true);
    }
  }

  @Override
  public void receiveReady() {
    scheduleRound();
  }

  // Rounds.

  @Override
  public void frameReady() {
    scheduleRound();
  }

  /** Runs {@code event} when the session is not at work. */
  void enqueue(Runnable event) {
    events.add(event);
    scheduleRound();
  }

  private void scheduleRound() {
    if (!isRoundScheduled) {
      isRoundScheduled = true;
      ctx.executor().execute(this::runScheduledRound);
    }
  }

  private void runScheduledRound() {
    isRoundScheduled = false;
    round();
  }

  /** Dispatches what the session has reported, and sends what it has to send. */
  void round() {
    if (isDispatching || isPulling) {
      return; // What is under way goes on, or schedules a round.
    }
    int passes = 0;
    do {
      dispatch();
      pull();
    } while (hasWork() && ++passes < MAX_PASSES);
    updateReading();
    if (hasWork()) {
      scheduleRound();
    }
  }

  private boolean hasWork() {
    return !events.isEmpty() || (!isEnded && ctx.channel().isWritable() && session.hasFrame());
  }

  private void dispatch() {
    if (isDispatching) {
      return;
    }
    isDispatching = true;
    try {
      for (int count = events.size(); count > 0; count--) {
        events.remove().run();
      }
    } finally {
      isDispatching = false;
    }
  }

  /**
   * Sends what the connection takes now. Handlers of streams run later, as it may be one's call.
   */
  void sendNow() {
    pull();
    if (hasWork()) {
      scheduleRound();
    }
  }

  /** Sends frames as long as the connection is writable. */
  private void pull() {
    if (isPulling || isEnded) {
      return;
    }
    isPulling = true;
    try {
      boolean isWritten = false;
      ByteBuf frame;
      while (ctx.channel().isWritable() && (frame = session.nextFrame(ctx.alloc())) != null) {
        isWritten = true;
        ctx.write(frame).addListener(writeListener);
      }
      if (isWritten) {
        ctx.flush();
      }
    } catch (RuntimeException | Error e) { // The allocator may have no memory.
      fail(e);
    } finally {
      isPulling = false;
    }
  }

  /** A frame that is lost is a gap in the stream of frames. */
  private void written(ChannelFuture write) {
    if (!write.isSuccess() && ctx.channel().isOpen()) {
      fail(write.cause());
    }
  }

  private void runTimers() {
    try {
      long delayMs = session.runTimers(nowMs());
      timer = ctx.executor().schedule(this::runTimers, delayMs, TimeUnit.MILLISECONDS);
    } catch (SmuxException e) {
      fail(e);
    }
  }

  // The end.

  /** The user closes the connection: sends what can leave at once, and ends all streams. */
  void closedByUser() {
    sendNow();
    isClosedByUser = true;
    end(new ClosedChannelException());
  }

  /** Whether the session has ended, with all its streams. */
  boolean isEnded() {
    return isEnded;
  }

  /** Ends the session because of an error, and closes the connection. */
  private void fail(Throwable cause) {
    if (!isEnded) {
      end(cause);
      if (SessionPipeline.isPeerErrorFired(ctx.channel())) {
        ctx.fireExceptionCaught(cause);
      }
      ctx.close();
    }
  }

  /** Ends all streams, because the connection has closed or the session has failed. */
  void end(Throwable cause) {
    if (isEnded) {
      return;
    }
    isEnded = true;
    if (timer != null) {
      timer.cancel(false);
    }
    boolean isInputKept = !isClosedByUser && !memory.isRevoked();
    for (SmuxStreamChannel stream : List.copyOf(streams)) {
      if (isInputKept) {
        stream.keepInput();
      } else {
        stream.discardInput();
      }
    }
    session.fail(cause);
    scheduleRound();
  }
}
