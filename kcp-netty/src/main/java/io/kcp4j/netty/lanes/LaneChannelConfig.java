package io.kcp4j.netty.lanes;

import io.netty.channel.DefaultChannelConfig;

/** The configuration of a {@link LaneChannel}. {@code ALLOCATOR} is by default the session's. */
final class LaneChannelConfig extends DefaultChannelConfig {

  private final LaneChannel laneChannel;

  LaneChannelConfig(LaneChannel channel) {
    super(channel);
    laneChannel = channel;
    setAllocator(channel.parent().config().getAllocator());
  }

  @Override
  protected void autoReadCleared() {
    laneChannel.autoReadCleared();
  }
}
