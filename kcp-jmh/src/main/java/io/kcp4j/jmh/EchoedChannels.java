package io.kcp4j.jmh;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * A server over loopback whose channels, with one handler each, have echoed once and are idle since
 * then. Its peers no longer exist.
 */
final class EchoedChannels implements AutoCloseable {

  private static final int ECHO_BYTES = 100;
  private static final int TIMEOUT_MS = 10_000;

  private final EventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final KcpServerChannel server;
  private final KcpContext peers = KcpContext.of(KcpBenchmark.ALLOCATOR);
  private final DatagramSlots slots = new DatagramSlots();

  EchoedChannels() {
    Echo echo = new Echo();
    server =
        (KcpServerChannel)
            new ServerBootstrap()
                .group(group)
                .channel(KcpServerChannel.class)
                .option(ChannelOption.ALLOCATOR, KcpBenchmark.ALLOCATOR)
                .childOption(ChannelOption.ALLOCATOR, KcpBenchmark.ALLOCATOR)
                .childHandler(
                    new ChannelInitializer<>() {
                      @Override
                      protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(echo);
                      }
                    })
                .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .syncUninterruptibly()
                .channel();
  }

  KcpServerChannel server() {
    return server;
  }

  /**
   * Lets a new peer send a message, wait for the echo and acknowledge it.
   *
   * @param conv its conversation id: 1 for the first peer, and so on
   */
  void add(int conv) throws IOException {
    Kcp peer = new Kcp(conv, KcpConfig.DEFAULT, peers, 0);
    try (DatagramSocket socket = new DatagramSocket()) {
      socket.connect(server.localAddress());
      socket.setSoTimeout(TIMEOUT_MS);
      peer.send(Unpooled.wrappedBuffer(new byte[ECHO_BYTES]));
      flush(peer, socket);
      DatagramPacket packet =
          new DatagramPacket(new byte[KcpBenchmark.MTU_BYTES], KcpBenchmark.MTU_BYTES);
      while (!peer.isReceivable() || !peer.isDrained()) {
        socket.receive(packet);
        peer.input(Unpooled.wrappedBuffer(packet.getData(), 0, packet.getLength()), 0);
        packet.setLength(KcpBenchmark.MTU_BYTES);
      }
      peer.receive().release();
      flush(peer, socket);
    }
    peer.close();
    awaitIdle(conv);
    KcpBenchmark.check(server.sessions() == conv, "sessions were lost");
  }

  private void flush(Kcp peer, DatagramSocket socket) throws IOException {
    peer.flush(0, slots);
    for (int i = 0; i < slots.size(); i++) {
      byte[] bytes = ByteBufUtil.getBytes(slots.datagram(i));
      socket.send(new DatagramPacket(bytes, bytes.length));
    }
    slots.clear();
  }

  /** Waits until the channel holds no data: all that it sent has been acknowledged. */
  private void awaitIdle(int conv) {
    long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MS);
    while (server.usedMemoryBytes() > 0) {
      KcpBenchmark.check(System.nanoTime() - deadlineNs < 0, "session " + conv + " is not idle");
      Thread.onSpinWait();
    }
  }

  @Override
  public void close() {
    server.close().syncUninterruptibly();
    group.shutdownGracefully(0, TIMEOUT_MS, TimeUnit.MILLISECONDS).syncUninterruptibly();
    slots.release();
  }

  @Sharable
  private static final class Echo extends ChannelInboundHandlerAdapter {

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      context.writeAndFlush(message);
    }
  }
}
