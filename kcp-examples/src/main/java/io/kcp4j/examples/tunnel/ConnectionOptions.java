package io.kcp4j.examples.tunnel;

import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.SocketChannel;

/** Sets the options of a TCP connection or a stream before it becomes part of a connection. */
final class ConnectionOptions extends ChannelInitializer<Channel> {

  static final ConnectionOptions INSTANCE = new ConnectionOptions();

  /** What a few reads bring: a session never runs out of frames. */
  private static final WriteBufferWaterMark WATER_MARK =
      new WriteBufferWaterMark(128 * 1024, 256 * 1024);

  private static final int MIN_READ_BYTES = 1024;
  private static final int FIRST_READ_BYTES = 16 * 1024;
  private static final int MAX_READ_BYTES = 64 * 1024;

  private ConnectionOptions() {}

  @Override
  protected void initChannel(Channel channel) {
    set(channel);
  }

  static void set(Channel channel) {
    ChannelConfig config = channel.config();
    config.setAutoRead(false);
    config.setWriteBufferWaterMark(WATER_MARK);
    config.setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
    if (channel instanceof SocketChannel) {
      config.setOption(ChannelOption.TCP_NODELAY, true);
      config.setOption(ChannelOption.SO_KEEPALIVE, true);
      // Small reads get small buffers, since each may wait in a queue.
      config.setRecvByteBufAllocator(
          new AdaptiveRecvByteBufAllocator(MIN_READ_BYTES, FIRST_READ_BYTES, MAX_READ_BYTES));
    }
  }
}
