package io.kcp4j.netty.smux;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.util.concurrent.PromiseNotifier;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * How a stream's channel ends: each direction on its own, both by {@code close()}, or by a failure.
 * Used by the channel's event loop, except where noted.
 *
 * <p>{@code close()} waits until what was flushed and FIN have left as frames, for {@link
 * io.kcp4j.smux.SmuxConfig#closeTimeoutMs()} at most.
 */
final class StreamClosure {

  /** A user-defined writability bit that users are unlikely to set themselves. */
  private static final int WRITABILITY = 31;

  /** How often a channel that is not read asks whether its memory is wanted. */
  private static final int REVOKED_CHECK_MS = 1_000;

  private final SmuxStreamChannel channel;
  private final StreamEvents events;

  private volatile boolean isInputShutdown;
  private volatile boolean isOutputShutdown;

  /** Whether the peer has ended its direction; known in advance if the session has ended. */
  private boolean isInputFinished;

  private boolean isInputEndReported;

  /** Whether the connection or the stream has ended, and input is left that can be read. */
  private boolean isDraining;

  private boolean areWritesFailed;

  /** Whether the peer has stopped the output, and writes have failed for that. */
  private boolean isOutputStopped;

  /** Of a shutdown that waits until FIN has left, or null. */
  private ChannelPromise outputPromise;

  private boolean isLingering;

  /** When to stop lingering or draining, or null. */
  private ScheduledFuture<?> timeout;

  StreamClosure(SmuxStreamChannel channel, StreamEvents events) {
    this.channel = channel;
    this.events = events;
  }

  /** From any thread. */
  boolean isInputShutdown() {
    return isInputShutdown || !channel.isActive();
  }

  /** From any thread. */
  boolean isOutputShutdown() {
    return isOutputShutdown || !channel.isActive();
  }

  /** Whether {@code close()} was called and waits. */
  boolean isLingering() {
    return isLingering;
  }

  // Half-close.

  /** From any thread. */
  ChannelFuture shutdownInput(ChannelPromise promise) {
    return run(promise, () -> endInput(promise));
  }

  /** From any thread. */
  ChannelFuture shutdownOutput(ChannelPromise promise) {
    return run(promise, () -> endOutput(promise));
  }

  private ChannelFuture run(ChannelPromise promise, Runnable shutdown) {
    if (channel.eventLoop().inEventLoop()) {
      shutdown.run();
      return promise;
    }
    try {
      channel.eventLoop().execute(shutdown);
    } catch (RejectedExecutionException e) { // The event loop has shut down.
      promise.tryFailure(e);
    }
    return promise;
  }

  private void endInput(ChannelPromise promise) {
    if (isUsable(promise)) {
      isInputShutdown = true;
      promise.trySuccess();
      events.enqueue();
    }
  }

  private void endOutput(ChannelPromise promise) {
    if (!isUsable(promise)) {
      return;
    }
    if (events.isOutputEnded()) {
      promise.trySuccess();
    } else if (outputPromise != null) {
      outputPromise.addListener(new PromiseNotifier<>(promise));
    } else {
      outputPromise = promise;
      channel.unsafe().flush();
      endWrites();
    }
  }

  /** Sends FIN after what was flushed. */
  private void endWrites() {
    if (forbidWrites()) {
      channel.stream().shutdownOutput();
    }
  }

  /** Returns whether the output was open: a listener may have closed the channel. */
  private boolean forbidWrites() {
    isOutputShutdown = true;
    // Or code that writes as long as the channel is writable would fail its writes forever.
    ChannelOutboundBuffer pending = channel.unsafe().outboundBuffer();
    if (pending != null) {
      pending.setUserDefinedWritability(WRITABILITY, false);
    }
    return pending != null;
  }

  private boolean isUsable(ChannelPromise promise) {
    if (channel.isActive() && events.failure() == null) {
      return true;
    }
    promise.tryFailure(
        channel.isOpen() && !channel.isActive()
            ? new NotYetConnectedException()
            : new ClosedChannelException());
    return false;
  }

  // Progress.

  /** The session has ended; what was received can still be read. */
  void keepInput() {
    if (channel.isOpen() && !isInputShutdown && !isLingering) {
      channel.reader().takeAll();
      isInputFinished = channel.stream().isInputEnded();
      if (!channel.reader().isDrained() || isInputEndUnreported()) {
        drain();
      }
    }
  }

  /** Whether nothing but the end of the input is left to read. */
  boolean isInputEndUnreported() {
    return !isInputEndReported
        && channel.reader().isDrained()
        && (isInputFinished || channel.stream().isInputEnded());
  }

  /** The session has been ended by the user of the connection: nothing more is read. */
  void discardInput() {
    channel.reader().release();
    isInputEndReported = true; // Nobody will read it, or its end.
    events.enqueue(); // The session has forgotten a stream whose directions have both ended.
  }

  /**
   * Something was received, read or sent, or the stream has failed.
   *
   * @param isReadRequested whether the end of the input may be an event now: a handler that is to
   *     know of it may not be there before {@code read()} is called, as for Netty's NIO sockets
   */
  void progressed(boolean isReadRequested) {
    if (events.outputStop() != null && !isOutputStopped) {
      stopOutput(events.outputStop());
    }
    if (!channel.isActive()) {
      return; // A listener of a write has closed the channel.
    }
    if (events.isOutputEnded() && outputPromise != null) {
      outputPromise.trySuccess();
    }
    if (isInputShutdown || isLingering) {
      channel.reader().discard();
    }
    if (isInputEndUnreported() && (isReadRequested || !isInputEndAnEvent())) {
      reportInputEnd();
    }
    if (events.failure() != null) {
      failed(events.failure());
    } else if (events.isOutputEnded() && (isLingering || isInputEndReported)) {
      channel.closeNow();
    }
  }

  /** The peer reads no more: FIN takes the place of what waits. */
  private void stopOutput(Throwable cause) {
    isOutputStopped = true;
    forbidWrites();
    if (outputPromise != null) {
      outputPromise.tryFailure(cause);
    }
    channel.stopWrites(cause);
  }

  private boolean isInputEndAnEvent() {
    return channel.config().isAllowHalfClosure() && !isInputShutdown && !isLingering;
  }

  private void reportInputEnd() {
    isInputEndReported = true;
    boolean isFirst = !isInputShutdown;
    isInputShutdown = true;
    if (isLingering) {
      return;
    }
    if (!channel.config().isAllowHalfClosure()) {
      channel.unsafe().close(channel.unsafe().voidPromise());
    } else if (isFirst) {
      channel.pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
      channel.pipeline().fireUserEventTriggered(ChannelInputShutdownReadComplete.INSTANCE);
    }
  }

  private void failed(Throwable cause) {
    if (!channel.isReading() || (channel.reader().isDrained() && !isInputEndUnreported())) {
      channel.end(cause);
    } else if (!areWritesFailed) {
      areWritesFailed = true;
      isOutputShutdown = true;
      channel.failWrites();
      drain();
    }
  }

  private void drain() {
    if (!isDraining) {
      isDraining = true;
      limitDraining(channel.reader().reads(), nowMs() + channel.closeTimeoutMs());
    }
  }

  private long nowMs() {
    return TimeUnit.NANOSECONDS.toMillis(channel.parent().eventLoop().ticker().nanoTime());
  }

  /**
   * Closes the channel if nothing is read for some time, so that unread input is not kept forever.
   * If its memory is wanted, that time is short.
   */
  private void limitDraining(long reads, long endAtMs) {
    schedule(
        () -> {
          long readsNow = channel.reader().reads();
          if (readsNow != reads) {
            limitDraining(readsNow, nowMs() + channel.closeTimeoutMs());
          } else if (nowMs() < endAtMs && !channel.isInputRevoked()) {
            limitDraining(reads, endAtMs);
          } else {
            endDraining();
          }
        },
        Math.min(endAtMs - nowMs(), REVOKED_CHECK_MS));
  }

  private void endDraining() {
    if (events.failure() != null) {
      channel.end(events.failure());
    } else {
      channel.closeNow();
    }
  }

  private void schedule(Runnable task, long delayMs) {
    timeout =
        channel
            .parent() // The channel itself may not be registered yet.
            .eventLoop()
            .schedule(task, delayMs, TimeUnit.MILLISECONDS);
  }

  // Closing.

  /** Returns whether {@code close()} has to wait until what was flushed and FIN have left. */
  boolean linger() {
    if (isLingering) {
      return true;
    }
    if (isDone()) {
      return false;
    }
    isOutputShutdown = true;
    channel.stream().shutdownOutput();
    channel.sendNow();
    if (isDone()) {
      return false;
    }
    isLingering = true;
    schedule(channel::closeNow, channel.closeTimeoutMs());
    endWrites();
    events.enqueue();
    return true;
  }

  private boolean isDone() {
    return !channel.isActive()
        || events.failure() != null
        || (events.isOutputEnded() && !channel.hasPendingOutput());
  }

  /** The channel has closed: a shutdown that waits fails. */
  void closed() {
    if (timeout != null) {
      timeout.cancel(false);
    }
    if (outputPromise != null) {
      outputPromise.tryFailure(new ClosedChannelException());
    }
  }
}
