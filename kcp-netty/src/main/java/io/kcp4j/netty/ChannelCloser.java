package io.kcp4j.netty;

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

  ChannelCloser(KcpChannel channel, Channel.Unsafe unsafe) {
    super(unsafe);
    this.channel = channel;
  }

  /** Whether the channel waits for the peer before it closes. */
  boolean isLingering() {
    return timeout != null;
  }

  @Override
  public void close(ChannelPromise promise) {
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
        && !isDrained();
  }

  /** Whether the peer has everything that was flushed. */
  private boolean isDrained() {
    ChannelOutboundBuffer pending = outboundBuffer();
    return (pending == null || pending.isEmpty()) && channel.session().kcp().isDrained();
  }

  private void startLingering() {
    timeout = new LingerTimeout();
    channel.reader().cancel();
    // Or code that writes as long as the channel is writable would fail its writes forever.
    outboundBuffer().setUserDefinedWritability(WRITABILITY, false);
    channel.endpoint().arm(timeout, TimeUnit.MILLISECONDS.toMicros(channel.config().lingerMs()));
  }

  private final class LingerTimeout extends TimerWheel.Timer {
    @Override
    protected void expire(long nowUs) {
      channel.closeNow();
    }
  }

  /** Closes a lingering channel if the peer has acknowledged everything. */
  void progressed() {
    if (isLingering() && isDrained()) {
      channel.closeNow();
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
    channel.closeNow();
    channel.eventLoop().execute(() -> super.deregister(promise));
  }
}
