package io.kcp4j.command;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.netty.internal.udp.UdpTransport;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.channel.socket.SocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class EpollGroupTest {

  private static final int TIMEOUT_MS = 60_000;

  private EventLoopGroup group;

  @BeforeEach
  void start() {
    assumeTrue(Epoll.isAvailable());
    group = new EpollGroup(1);
  }

  @AfterEach
  void stop() {
    if (group != null) {
      group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
    }
  }

  @Test
  void kcpUsesEpoll() {
    assertEquals(UdpTransport.EPOLL, UdpTransport.of((EventLoop) group.iterator().next()));
  }

  @Test
  void aPeerThatHasEndedItsOutputGetsMoreThanBuffersHold() throws Exception {
    byte[] answer = new byte[30_000_000]; // More than all buffers hold.
    new SplittableRandom(1).nextBytes(answer);
    Channel server =
        new ServerBootstrap()
            .group(group)
            .channel(EpollServerSocketChannel.class)
            .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
            .childHandler(
                new ChannelInitializer<SocketChannel>() {
                  @Override
                  protected void initChannel(SocketChannel channel) {
                    channel.pipeline().addLast(new AnswerAfterTheEnd(answer));
                  }
                })
            .bind(InetAddress.getLoopbackAddress(), 0)
            .sync()
            .channel();
    int port = ((InetSocketAddress) server.localAddress()).getPort();
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(TIMEOUT_MS);
      socket.shutdownOutput();
      assertArrayEquals(answer, socket.getInputStream().readAllBytes());
    }
  }

  /** Writes when it is sure that the channel waits for no input. */
  private static final class AnswerAfterTheEnd extends ChannelInboundHandlerAdapter {

    private final byte[] answer;

    AnswerAfterTheEnd(byte[] answer) {
      this.answer = answer;
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
      if (event == ChannelInputShutdownReadComplete.INSTANCE) {
        ctx.executor().execute(() -> answer(ctx));
      }
    }

    private void answer(ChannelHandlerContext ctx) {
      ctx.writeAndFlush(Unpooled.wrappedBuffer(answer))
          .addListener(written -> ctx.channel().close());
    }
  }
}
