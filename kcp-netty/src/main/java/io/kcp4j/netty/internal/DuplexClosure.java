package io.kcp4j.netty.internal;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.util.concurrent.PromiseNotifier;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.util.concurrent.RejectedExecutionException;

/**
 * How a duplex channel ends: each direction on its own (half-close), or both by {@code close()},
 * which may linger until the peer has what was flushed. Subclasses know what carries the channel.
 * Used by the channel's event loop, except where noted.
 */
public abstract class DuplexClosure {

  /** A user-defined writability bit that users are unlikely to set themselves. */
  private static final int WRITABILITY = 31;

  private final Channel channel;

  private volatile boolean isInputShutdown;
  private volatile boolean isOutputShutdown;

  /** Whether handlers know of the end of the input, or need not. */
  private boolean isInputEndReported;

  /** Of the first shutdown of the output, or null. */
  private ChannelPromise outputPromise;

  private boolean isLingering;

  /** Makes the closure of a channel that is not closed. */
  protected DuplexClosure(Channel channel) {
    this.channel = channel;
  }

  /** Whether the channel reads nothing more. From any thread. */
  public final boolean isInputShutdown() {
    return isInputShutdown || !channel.isActive();
  }

  /** Whether the channel takes no more writes. From any thread. */
  public final boolean isOutputShutdown() {
    return isOutputShutdown || !channel.isActive();
  }

  /** Whether the input was shut down, or its end reported; false before the channel is active. */
  protected final boolean isReadingEnded() {
    return isInputShutdown;
  }

  /** Whether {@code close()} was called and waits for the peer. */
  public final boolean isLingering() {
    return isLingering;
  }

  // Half-close.

  /** Shuts down the input. From any thread. */
  public final ChannelFuture shutdownInput(ChannelPromise promise) {
    return run(promise, () -> shutdownInputNow(promise));
  }

  /** Flushes, and shuts down the output. From any thread. */
  public final ChannelFuture shutdownOutput(ChannelPromise promise) {
    return run(promise, () -> shutdownOutputNow(promise));
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

  private void shutdownInputNow(ChannelPromise promise) {
    if (checkUsable(promise)) {
      isInputShutdown = true;
      onInputShutdown();
      promise.trySuccess();
    }
  }

  private void shutdownOutputNow(ChannelPromise promise) {
    if (!checkUsable(promise)) {
      return;
    }
    Exception refusal = outputShutdownRefusal();
    if (refusal != null) {
      promise.tryFailure(refusal);
    } else if (isOutputEnded()) {
      promise.trySuccess();
    } else if (outputPromise != null) {
      outputPromise.addListener(new PromiseNotifier<>(promise));
    } else {
      isOutputShutdown = true;
      outputPromise = promise;
      channel.unsafe().flush();
      endOutput();
      completeOutputShutdown();
    }
  }

  private boolean checkUsable(ChannelPromise promise) {
    if (isUsable()) {
      return true;
    }
    promise.tryFailure(
        channel.isOpen() && !channel.isActive()
            ? new NotYetConnectedException()
            : new ClosedChannelException());
    return false;
  }

  private void completeOutputShutdown() {
    if (outputPromise != null && isOutputEnded()) {
      outputPromise.trySuccess();
    }
  }

  /** The peer reads no more: writes fail from now on, and so does a shutdown that is pending. */
  protected final void stopOutput(Throwable cause) {
    forbidWrites();
    if (outputPromise != null) {
      outputPromise.tryFailure(cause);
    }
  }

  /** Sets the output to be shut down, and the channel to be unwritable. */
  protected final void forbidWrites() {
    markOutputShutdown();
    setUnwritable();
  }

  /** Sets the output to be shut down; the channel stays writable as far as its water marks say. */
  protected final void markOutputShutdown() {
    isOutputShutdown = true;
  }

  /** Code that writes as long as the channel is writable would fail its writes forever. */
  private void setUnwritable() {
    ChannelOutboundBuffer pending = channel.unsafe().outboundBuffer();
    if (pending != null) {
      pending.setUserDefinedWritability(WRITABILITY, false);
    }
  }

  // Progress.

  /**
   * Something was received, read or sent. Reports the end of the input when everything before has
   * been read.
   *
   * @param isReadRequested whether the end of the input may be an event now: a handler that is to
   *     know of it may not be there before {@code read()} is called, as for Netty's NIO sockets
   */
  public void progressed(boolean isReadRequested) {
    if (!channel.isActive()) {
      return;
    }
    completeOutputShutdown();
    if (isInputShutdown || isLingering) {
      discardInput();
    }
    boolean isEvent = isHalfClosureAllowed() && !isInputShutdown;
    if (isInputEndUnreported() && (isReadRequested || !isEvent)) {
      reportInputEnd(isEvent);
    }
  }

  private void reportInputEnd(boolean isEvent) {
    boolean isUnread = !isInputShutdown;
    isInputEndReported = true;
    isInputShutdown = true;
    if (isUnread && failIncompleteInput()) {
      return;
    }
    if (isEvent) {
      channel.pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
      channel.pipeline().fireUserEventTriggered(ChannelInputShutdownReadComplete.INSTANCE);
    }
    if (!isHalfClosureAllowed()) {
      channel.unsafe().close(channel.unsafe().voidPromise());
    }
  }

  /** Whether nothing but the end of the input is left to read. */
  public final boolean isInputEndUnreported() {
    return !isInputEndReported && !isLingering && isAtInputEnd();
  }

  /** Whether handlers know of the end of the input, or need not. */
  protected final boolean isInputEndReported() {
    return isInputEndReported;
  }

  /** Nobody will read what has been received, nor its end. */
  protected final void skipInputEnd() {
    isInputEndReported = true;
  }

  // Closing.

  /**
   * Lingers, if there is something to wait for. The promise completes when the channel has closed.
   *
   * @return false if the caller has to close the channel at once
   */
  public final boolean linger(ChannelPromise promise) {
    if (!promise.setUncancellable()) {
      return true; // The close was cancelled.
    }
    boolean waits = isLingering ? isLingeringPossible() : hasToLinger();
    if (!waits) {
      return false;
    }
    if (!promise.isVoid()) {
      channel.closeFuture().addListener(closed -> completeClose(promise));
    }
    if (!isLingering) {
      isLingering = true;
      setUnwritable();
      onLinger();
    }
    return true;
  }

  /** The channel has closed: a shutdown that is pending fails. */
  public void closed() {
    if (outputPromise != null) {
      outputPromise.tryFailure(new ClosedChannelException());
    }
  }

  // What carries the channel.

  /** Whether directions can be shut down: the channel is active, and what carries it is usable. */
  protected boolean isUsable() {
    return channel.isActive();
  }

  /** The user has shut down the input. */
  protected abstract void onInputShutdown();

  /** Why the output cannot be shut down, or null. */
  protected Exception outputShutdownRefusal() {
    return null;
  }

  /** Everything was flushed: ends the output behind it. */
  protected abstract void endOutput();

  /** Whether what carries the channel has taken everything that was flushed, and the end. */
  protected abstract boolean isOutputEnded();

  /** Discards what has been received. */
  protected abstract void discardInput();

  /** Whether handlers have read everything up to the end of the input. */
  protected abstract boolean isAtInputEnd();

  /** Ends the channel if its input ended too early; returns whether it did. */
  protected boolean failIncompleteInput() {
    return false;
  }

  /** See {@link io.netty.channel.ChannelOption#ALLOW_HALF_CLOSURE}. */
  protected abstract boolean isHalfClosureAllowed();

  /** Whether {@code close()} has to wait. */
  protected abstract boolean hasToLinger();

  /** Whether a channel that lingers can go on to do so. */
  protected boolean isLingeringPossible() {
    return true;
  }

  /** The channel begins to linger. */
  protected abstract void onLinger();

  /** Completes a {@code close()} that has lingered. */
  protected void completeClose(ChannelPromise promise) {
    promise.trySuccess();
  }
}
