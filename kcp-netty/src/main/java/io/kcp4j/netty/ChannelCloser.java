package io.kcp4j.netty;

import io.kcp4j.EndReason;
import io.kcp4j.netty.internal.ForwardingUnsafe;
import io.kcp4j.session.TimerWheel;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import java.util.concurrent.TimeUnit;

/**
 * Closes a channel when its user asks for it: after the peer has acknowledged what was flushed, or
 * after {@link KcpChannelOption#LINGER}. Used by the channel's event loop.
 */
final class ChannelCloser extends ForwardingUnsafe {

  /** A user-defined writability bit that users are unlikely to set themselves. */
  private static final int WRITABILITY = 31;

  private final KcpChannel channel;

  /** Null unless the channel waits for the peer. */
  private LingerTimeout timeout;

  /** The code with which the session is aborted. */
  private int abortCode;

  /** Whether the peer has everything that was flushed. */
  private boolean isOrderly;

  ChannelCloser(KcpChannel channel, Channel.Unsafe unsafe) {
    super(unsafe);
    this.channel = channel;
  }

  /** Whether the channel waits for the peer before it closes. */
  boolean isLingering() {
    return timeout != null;
  }

  /** What the peer is told if the session is aborted, or null if it is closed in order. */
  Integer abort() {
    return isOrderly ? null : abortCode;
  }

  /** The session ends for {@code reason}; the channel closes next. */
  void ended(EndReason reason) {
    isOrderly = reason == EndReason.IDLE && isDrained();
  }

  /** Closes without waiting for the peer, and tells it that the session was aborted. */
  void abort(int code) {
    abortCode = code;
    isOrderly = false;
    channel.closeNow();
  }

  @Override
  public void close(ChannelPromise promise) {
    isOrderly = channel.isActive() && channel.config().lingerMs() > 0 && isDrained();
    boolean waits = isLingering() ? channel.endpoint().isOpen() : hasToLinger();
    if (!waits) {
      super.close(promise);
      return;
    }
    if (!promise.setUncancellable()) {
      return;
    }
    if (!promise.isVoid()) {
      channel.closeFuture().addListener(future -> promise.trySuccess());
    }
    if (!isLingering()) {
      startLingering();
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
    timeout = new LingerTimeout();
    channel.reader().cancel();
    // Or code that writes as long as the channel is writable would fail its writes forever.
    outboundBuffer().setUserDefinedWritability(WRITABILITY, false);
    tellOnceQueued();
    channel.endpoint().arm(timeout, TimeUnit.MILLISECONDS.toMicros(channel.config().lingerMs()));
  }

  private final class LingerTimeout extends TimerWheel.Timer {
    @Override
    protected void expire(long nowUs) {
      channel.closeNow();
    }
  }

  /** Tells the peer of the end together with the last data, rather than after it. */
  private void tellOnceQueued() {
    if (isQueued()) {
      channel.session().sendClose();
    }
  }

  /** Closes a lingering channel if the peer has acknowledged everything, or reads no more. */
  void progressed() {
    if (!isLingering()) {
      return;
    }
    isOrderly = isDrained();
    if (isOrderly || channel.session().get().hasPeerClosed()) {
      channel.closeNow();
    } else {
      tellOnceQueued();
    }
  }

  /** Cancels the timeout of a channel that is closed. */
  void cancelTimeout() {
    if (isLingering()) {
      channel.endpoint().cancel(timeout);
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
    isOrderly = channel.isActive() && isDrained();
    channel.closeNow();
    channel.eventLoop().execute(() -> super.deregister(promise));
  }
}
