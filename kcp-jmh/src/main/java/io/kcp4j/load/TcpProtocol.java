package io.kcp4j.load;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import java.net.InetSocketAddress;

/** The kernel's TCP, which sizes its buffers itself, without Nagle's algorithm. */
final class TcpProtocol implements LoadProtocol {

  @Override
  public Channel listen(EventLoopGroup group, InetSocketAddress local, ChannelHandler handler)
      throws InterruptedException {
    return new ServerBootstrap()
        .group(group)
        .channel(EpollServerSocketChannel.class)
        .childOption(ChannelOption.TCP_NODELAY, true)
        .childOption(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
        .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
        .childHandler(handler)
        .bind(local)
        .sync()
        .channel();
  }

  @Override
  public Channel connect(EventLoopGroup group, InetSocketAddress remote, ChannelHandler handler)
      throws InterruptedException {
    return new Bootstrap()
        .group(group)
        .channel(EpollSocketChannel.class)
        .option(ChannelOption.TCP_NODELAY, true)
        .option(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
        .option(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
        .handler(handler)
        .connect(remote)
        .sync()
        .channel();
  }
}
