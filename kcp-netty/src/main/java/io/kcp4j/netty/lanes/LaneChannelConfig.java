package io.kcp4j.netty.lanes;

import io.netty.channel.DefaultChannelConfig;

/** The configuration of a {@link LaneChannel}. */
final class LaneChannelConfig extends DefaultChannelConfig {

  private final LaneChannel laneChannel;

  LaneChannelConfig(LaneChannel channel) {
    super(channel);
    laneChannel = channel;
  }

  @Override
  protected void autoReadCleared() {
    laneChannel.autoReadCleared();
  }
}
