package io.kcp4j.examples.tunnel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;

/** Closes every stream that the peer opens: servers of the tunnel open none. */
final class Refusal extends ChannelInitializer<Channel> {

  @Override
  protected void initChannel(Channel stream) {
    stream.close();
  }
}
