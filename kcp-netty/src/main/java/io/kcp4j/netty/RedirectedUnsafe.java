package io.kcp4j.netty;

import io.netty.channel.Channel;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;

/**
 * What an accepted channel shows until it is registered: registers it with its socket's event loop,
 * whichever was asked for. {@code ServerBootstrap} would register children anywhere in its child
 * group, but a session lives where its socket lives.
 */
final class RedirectedUnsafe extends ForwardingUnsafe {

  private final EventLoop eventLoop;

  RedirectedUnsafe(Channel.Unsafe unsafe, EventLoop eventLoop) {
    super(unsafe);
    this.eventLoop = eventLoop;
  }

  @Override
  public void register(EventLoop ignored, ChannelPromise promise) {
    super.register(eventLoop, promise);
  }
}
