package io.kcp4j.netty;

import io.kcp4j.netty.internal.ForwardingUnsafe;
import io.netty.channel.Channel;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;

/**
 * The {@code Unsafe} of an accepted channel until that is registered: registers it with the event
 * loop of its socket. {@code ServerBootstrap} would register it with any event loop of its child
 * group, but a session belongs to the event loop of its socket.
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
