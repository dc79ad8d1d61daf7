package io.kcp4j.tunnel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.RecvByteBufAllocator.DelegatingHandle;
import io.netty.channel.RecvByteBufAllocator.ExtendedHandle;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.UncheckedBooleanSupplier;

/** Sets the options of a TCP connection or a stream before it becomes part of a connection. */
final class ConnectionOptions extends ChannelInitializer<Channel> {

  private static final int FIRST_READ_BYTES = 16 * 1024;
  private static final int MAX_READ_BYTES = 64 * 1024;

  private final ForwardingLimit limit;

  /** Options of connections that have a limit together. */
  ConnectionOptions(ForwardingLimit limit) {
    this.limit = limit;
  }

  @Override
  protected void initChannel(Channel channel) {
    set(channel);
  }

  void set(Channel channel) {
    ChannelConfig config = channel.config();
    config.setAutoRead(false);
    config.setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
    if (channel instanceof SocketChannel) {
      config.setOption(ChannelOption.TCP_NODELAY, true);
      config.setOption(ChannelOption.SO_KEEPALIVE, true);
      config.setRecvByteBufAllocator(new LimitedReads(limit));
    }
  }

  /** Small reads get small buffers, since each may wait in a queue. */
  private static final class LimitedReads extends AdaptiveRecvByteBufAllocator {

    private final ForwardingLimit limit;

    LimitedReads(ForwardingLimit limit) {
      super(ForwardingLimit.MIN_PART_BYTES, FIRST_READ_BYTES, MAX_READ_BYTES);
      this.limit = limit;
    }

    @Override
    @SuppressWarnings("deprecation") // There is no other way to choose the size of a read.
    public Handle newHandle() {
      return new LimitedHandle((ExtendedHandle) super.newHandle(), limit);
    }
  }

  private static final class LimitedHandle extends DelegatingHandle implements ExtendedHandle {

    private final ForwardingLimit limit;

    LimitedHandle(ExtendedHandle adaptive, ForwardingLimit limit) {
      super(adaptive);
      this.limit = limit;
    }

    @Override
    public int guess() {
      return Math.min(super.guess(), limit.partBytes());
    }

    @Override
    public ByteBuf allocate(ByteBufAllocator allocator) {
      return allocator.ioBuffer(guess());
    }

    @Override
    public boolean continueReading(UncheckedBooleanSupplier maybeMoreDataSupplier) {
      return ((ExtendedHandle) delegate()).continueReading(maybeMoreDataSupplier);
    }
  }
}
