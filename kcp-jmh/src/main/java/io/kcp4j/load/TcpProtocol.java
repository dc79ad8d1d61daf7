package io.kcp4j.load;

import io.netty.bootstrap.AbstractBootstrap;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.RawUnixChannelOption;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import picocli.CommandLine.Option;

/** The kernel's TCP, which sizes its buffers itself, without Nagle's algorithm. */
final class TcpProtocol implements LoadProtocol {

  private static final int MAX_NAME_BYTES = 16; // TCP_CA_NAME_MAX

  /** See tcp(7). Accepted sockets inherit it. */
  private static final ChannelOption<ByteBuffer> TCP_CONGESTION =
      new RawUnixChannelOption("TCP_CONGESTION", 6, 13, MAX_NAME_BYTES);

  @Option(
      names = "--tcp-congestion-control",
      paramLabel = "NAME",
      description = "Congestion control of TCP, as the kernel names it (default: the system's).")
  private String congestionControl;

  @Override
  public Channel listen(EventLoopGroup group, InetSocketAddress local, ChannelHandler handler)
      throws InterruptedException {
    return configured(new ServerBootstrap())
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
    return configured(new Bootstrap())
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

  private <B extends AbstractBootstrap<B, ?>> B configured(B bootstrap) {
    return congestionControl == null ? bootstrap : bootstrap.option(TCP_CONGESTION, name());
  }

  private ByteBuffer name() {
    byte[] name = congestionControl.getBytes(StandardCharsets.US_ASCII);
    return ByteBuffer.wrap(Arrays.copyOf(name, MAX_NAME_BYTES));
  }
}
