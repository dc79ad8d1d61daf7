package io.kcp4j.netty;

import io.kcp4j.EndReason;
import io.kcp4j.netty.internal.ForwardingUnsafe;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;

/**
 * Closes a channel when its user asks for it: after the peer has acknowledged what was flushed, or
 * when that takes too long, see {@link KcpChannelOption#LINGER}. Used by the channel's event loop.
 */
final class ChannelCloser extends ForwardingUnsafe {

  /** A user-defined writability bit that users are unlikely to set themselves. */
  private static final int WRITABILITY = 31;

  private final KcpChannel channel;

  /** Whether the channel waits for the peer before it closes. */
  private boolean isLingering;

  /** What the peer is told when the channel closes. */
  enum Ending {
    /** It has everything that was flushed. */
    COMPLETE,
    /** It can read what has arrived, and more is missing. */
    INCOMPLETE,
    /** The session is aborted. */
    ABORTED
  }

  private Ending ending = Ending.ABORTED;

  /** Whether some flushed data has not reached the session's send queue. */
  private boolean hasMore;

  /** The code with which the session is aborted. */
  private int abortCode;

  ChannelCloser(KcpChannel channel, Channel.Unsafe unsafe) {
    super(unsafe);
    this.channel = channel;
  }

  /** Whether the channel waits for the peer before it closes. */
  boolean isLingering() {
    return isLingering;
  }

  Ending ending() {
    return ending;
  }

  /** Of an {@link Ending#INCOMPLETE} one: whether more is missing than the session has. */
  boolean hasMore() {
    return hasMore;
  }

  int abortCode() {
    return abortCode;
  }

  /** The session ends for {@code reason}; the channel closes next. */
  void ended(EndReason reason) {
    hasMore = !isQueued();
    ending =
        switch (reason) {
          case IDLE -> isDrained() ? Ending.COMPLETE : Ending.ABORTED;
          case CLOSE_TIMEOUT, WRITE_STALLED -> Ending.INCOMPLETE;
          case MEMORY_SHORTAGE -> isLingering ? Ending.INCOMPLETE : Ending.ABORTED;
          default -> Ending.ABORTED;
        };
  }

  /** Closes without waiting for the peer, and tells it that the session was aborted. */
  void abort(int code) {
    abortCode = code;
    ending = Ending.ABORTED;
    channel.closeNow();
  }

  @Override
  public void close(ChannelPromise promise) {
    if (channel.endReason() != null) { // The session has ended, so the channel closes.
      if (!promise.isVoid() && promise.setUncancellable()) {
        channel.closeFuture().addListener(future -> promise.trySuccess());
      }
      return;
    }
    if (channel.isOpen()) {
      ending = endingWithoutWait();
    }
    boolean waits = isLingering ? channel.isOpen() && channel.endpoint().isOpen() : hasToLinger();
    if (!waits) {
      super.close(promise);
      return;
    }
    if (!promise.setUncancellable()) {
      return;
    }
    if (!promise.isVoid()) {
      channel.closeFuture().addListener(future -> closed(promise));
    }
    if (!isLingering) {
      startLingering();
    }
  }

  private Ending endingWithoutWait() {
    if (!channel.isActive() || channel.config().lingerMs() == 0) {
      return Ending.ABORTED;
    }
    hasMore = !isQueued();
    return isDrained() ? Ending.COMPLETE : Ending.INCOMPLETE;
  }

  private void closed(ChannelPromise promise) {
    if (channel.endReason() == null && ending != Ending.INCOMPLETE) {
      promise.trySuccess();
    } else {
      promise.tryFailure(channel.closedBy());
    }
  }

  private boolean hasToLinger() {
    return channel.isActive()
        && channel.config().lingerMs() > 0
        && channel.endpoint().isOpen()
        && channel.session().kcp().failure() == null
        && !channel.session().get().hasPeerClosed()
        && !isDrained();
  }

  /** Whether the peer has everything that was flushed. */
  private boolean isDrained() {
    return isQueued() && channel.session().kcp().isDrained();
  }

  /** Whether everything that was flushed is in the session's send queue. */
  private boolean isQueued() {
    ChannelOutboundBuffer pending = outboundBuffer();
    return pending == null || pending.isEmpty();
  }

  private void startLingering() {
    isLingering = true;
    channel.reader().cancel();
    // Or code that writes as long as the channel is writable would fail its writes forever.
    outboundBuffer().setUserDefinedWritability(WRITABILITY, false);
    channel.session().linger();
    discardInput();
    tellOnceQueued();
  }

  /** Input that nobody reads must not keep a peer that closes, too, from sending everything. */
  private void discardInput() {
    channel.reader().discard();
    channel.session().scheduleFlush();
  }

  /** Tells the peer of the end together with the last data, rather than after it. */
  private void tellOnceQueued() {
    if (isQueued()) {
      channel.session().sendClose();
    }
  }

  /** Closes a lingering channel if the peer has acknowledged everything, or reads no more. */
  void progressed() {
    if (!isLingering) {
      return;
    }
    discardInput();
    if (isDrained()) {
      ending = Ending.COMPLETE;
      channel.closeNow();
    } else if (channel.session().get().hasPeerClosed()) {
      ending = Ending.ABORTED; // It wants none of the rest.
      channel.closeNow();
    } else {
      tellOnceQueued();
    }
  }

  /**
   * Closes the channel first. Netty would do both at once, and remove the handlers before it fires
   * {@code channelInactive}.
   */
  @Override
  public void deregister(ChannelPromise promise) {
    if (!channel.isRegistered() || !channel.isOpen()) {
      super.deregister(promise);
      return;
    }
    ending = endingWithoutWait();
    channel.closeNow();
    channel.eventLoop().execute(() -> super.deregister(promise));
  }
}
