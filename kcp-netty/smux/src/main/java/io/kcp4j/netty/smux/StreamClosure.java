package io.kcp4j.netty.smux;

import io.kcp4j.netty.internal.DuplexClosure;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * How a stream's channel ends: each direction on its own, both by {@code close()}, or by a failure.
 * Used by the channel's event loop, except where noted.
 *
 * <p>{@code close()} waits until what was flushed and FIN have left as frames, for {@link
 * io.kcp4j.smux.SmuxConfig#closeTimeoutMs()} at most.
 */
final class StreamClosure extends DuplexClosure {

  /** How often a channel that is not read asks whether its memory is wanted. */
  private static final int REVOKED_CHECK_MS = 1_000;

  private final SmuxStreamChannel channel;
  private final StreamEvents events;

  /** Whether the peer has ended its direction; known in advance if the session has ended. */
  private boolean isInputFinished;

  /** Whether the connection or the stream has ended, and input is left that can be read. */
  private boolean isDraining;

  private boolean areWritesFailed;

  /** Whether the peer has stopped the output, and writes have failed for that. */
  private boolean isOutputStopped;

  /** When to stop lingering or draining, or null. */
  private ScheduledFuture<?> timeout;

  StreamClosure(SmuxStreamChannel channel, StreamEvents events) {
    super(channel);
    this.channel = channel;
    this.events = events;
  }

  // Half-close.

  @Override
  protected boolean isUsable() {
    return super.isUsable() && events.failure() == null;
  }

  @Override
  protected void onInputShutdown() {
    events.enqueue();
  }

  /** Sends FIN after what was flushed. */
  @Override
  protected void endOutput() {
    forbidWrites();
    channel.stream().shutdownOutput();
  }

  @Override
  protected boolean isOutputEnded() {
    return events.isOutputEnded();
  }

  // Progress.

  /** The session has ended; what was received can still be read. */
  void keepInput() {
    if (channel.isOpen() && !isReadingEnded() && !isLingering()) {
      channel.reader().takeAll();
      isInputFinished = channel.stream().isInputEnded();
      if (!channel.reader().isDrained() || isInputEndUnreported()) {
        drain();
      }
    }
  }

  @Override
  protected boolean isAtInputEnd() {
    return channel.reader().isDrained() && (isInputFinished || channel.stream().isInputEnded());
  }

  @Override
  protected boolean isHalfClosureAllowed() {
    return channel.config().isAllowHalfClosure();
  }

  @Override
  protected void discardInput() {
    channel.reader().discard();
  }

  /** The session has been ended by the user of the connection: nothing more is read. */
  void dropInput() {
    channel.reader().release();
    skipInputEnd();
    events.enqueue(); // The session has forgotten a stream whose directions have both ended.
  }

  /** Also acts on the end of the output, and on a failure of the stream. */
  @Override
  public void progressed(boolean isReadRequested) {
    if (events.outputStop() != null && !isOutputStopped) {
      isOutputStopped = true; // FIN takes the place of what waits.
      stopOutput(events.outputStop());
      channel.stopWrites(events.outputStop());
    }
    if (!channel.isActive()) {
      return; // A listener of a write has closed the channel.
    }
    super.progressed(isReadRequested);
    if (events.failure() != null) {
      failed(events.failure());
    } else if (events.isOutputEnded() && (isLingering() || isInputEndReported())) {
      channel.closeNow();
    }
  }

  private void failed(Throwable cause) {
    if (!channel.isReading() || (channel.reader().isDrained() && !isInputEndUnreported())) {
      channel.end(cause);
    } else if (!areWritesFailed) {
      areWritesFailed = true;
      markOutputShutdown();
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

  /** Flushed data and FIN leave first, as far as the connection takes them at once. */
  @Override
  protected boolean hasToLinger() {
    if (isDone()) {
      return false;
    }
    markOutputShutdown();
    channel.stream().shutdownOutput();
    channel.sendNow();
    return !isDone();
  }

  private boolean isDone() {
    return !channel.isActive()
        || events.failure() != null
        || (events.isOutputEnded() && !channel.hasPendingOutput());
  }

  @Override
  protected void onLinger() {
    schedule(channel::closeNow, channel.closeTimeoutMs());
    events.enqueue();
  }

  @Override
  public void closed() {
    if (timeout != null) {
      timeout.cancel(false);
    }
    super.closed();
  }
}
