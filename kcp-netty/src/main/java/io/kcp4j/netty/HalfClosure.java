package io.kcp4j.netty;

import io.kcp4j.EndReason;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.util.concurrent.PromiseNotifier;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;

/**
 * How the two directions of a channel end, each on its own. Used by the channel's event loop,
 * except where noted.
 */
final class HalfClosure {

  private final KcpChannel channel;

  private volatile boolean isInputShutdown;
  private volatile boolean isOutputShutdown;

  /** Of a shutdown that waits until all pending writes are in the send queue, or null. */
  private ChannelPromise outputPromise;

  HalfClosure(KcpChannel channel) {
    this.channel = channel;
  }

  /** From any thread. */
  boolean isInputShutdown() {
    return isInputShutdown || !channel.isActive();
  }

  /** From any thread. */
  boolean isOutputShutdown() {
    return isOutputShutdown || !channel.isActive();
  }

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
    } else {
      channel.eventLoop().execute(shutdown);
    }
    return promise;
  }

  private void endInput(ChannelPromise promise) {
    if (isUsable(promise)) {
      isInputShutdown = true;
      channel.reader().discard();
      channel.session().scheduleFlush(); // The receive window may have opened.
      promise.trySuccess();
    }
  }

  private void endOutput(ChannelPromise promise) {
    if (!isUsable(promise)) {
      return;
    }
    if (channel.session().get().isExtensionUnsupported()) {
      promise.tryFailure(
          new UnsupportedOperationException("the peer has no half-close: " + channel));
    } else if (outputPromise != null) {
      outputPromise.addListener(new PromiseNotifier<>(promise));
    } else if (isOutputShutdown) {
      promise.trySuccess();
    } else {
      isOutputShutdown = true;
      outputPromise = promise;
      channel.unsafe().flush();
      tellOnceQueued();
    }
  }

  private boolean isUsable(ChannelPromise promise) {
    if (channel.isActive()) {
      return true;
    }
    promise.tryFailure(
        channel.isOpen() ? new NotYetConnectedException() : new ClosedChannelException());
    return false;
  }

  private void tellOnceQueued() {
    ChannelOutboundBuffer pending = channel.unsafe().outboundBuffer();
    if (outputPromise != null && (pending == null || pending.isEmpty())) {
      channel.session().shutdownOutput();
      outputPromise.trySuccess();
      outputPromise = null;
    }
  }

  /**
   * The session may have received the end of the peer's output, or have sent all of its own.
   *
   * @param isReadRequested whether the end of the input may be an event now: a handler that is to
   *     know of it may not be there before {@code read()} is called, as for Netty's NIO sockets
   */
  void progressed(boolean isReadRequested) {
    if (!channel.isActive()) {
      return;
    }
    tellOnceQueued();
    if (channel.isLingering()) {
      return;
    }
    if (isInputShutdown) {
      channel.reader().discard();
    }
    if (!isAtInputEnd()) {
      return;
    }
    boolean isEvent = channel.config().isAllowHalfClosure() && !isInputShutdown;
    if (isEvent && !isReadRequested) {
      return;
    }
    boolean isUnread = !isInputShutdown;
    isInputShutdown = true;
    if (isUnread && channel.session().get().isInputIncomplete()) {
      channel.endpoint().flush(channel.session().get()); // The peer awaits an answer.
      channel.ended(EndReason.INPUT_INCOMPLETE);
      return;
    }
    if (isEvent) {
      channel.pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
      channel.pipeline().fireUserEventTriggered(ChannelInputShutdownReadComplete.INSTANCE);
    }
    if (!channel.config().isAllowHalfClosure() || channel.session().get().hasPeerClosed()) {
      channel.unsafe().close(channel.unsafe().voidPromise());
    }
  }

  /** Whether nothing but the end of the input is left to read. */
  boolean isInputEndUnreported() {
    return channel.isActive() && !isInputShutdown && !channel.isLingering() && isAtInputEnd();
  }

  private boolean isAtInputEnd() {
    return channel.session().get().isInputFinished() && channel.reader().isDrained();
  }

  /** The channel closes: a shutdown that waits fails. */
  void close() {
    if (outputPromise != null) {
      outputPromise.tryFailure(new ClosedChannelException());
      outputPromise = null;
    }
  }
}
