package io.kcp4j.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.smux.SmuxChannelOption;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.kcp4j.netty.smux.SmuxStreamChannelBootstrap;
import io.kcp4j.smux.SmuxConfig;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.util.concurrent.CompletableFuture;

/** Streams of smux in one session: a short answer does not wait behind a long one. */
public final class Streams {

  private Streams() {}

  /** Asks for a long and a short answer at once. Server and client share this JVM. */
  public static void main(String[] args) throws Exception {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    try {
      ServerBootstrap server = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
      server.childHandler(smux(false));
      Channel listening = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();

      Bootstrap client = new Bootstrap().group(group).channel(KcpChannel.class);
      client.handler(smux(true));
      Channel session = client.connect(listening.localAddress()).sync().channel();
      CompletableFuture<Integer> download = ask(session, 4_000_000);
      CompletableFuture<Integer> greeting = ask(session, 13);
      System.out.println("short answer: " + greeting.get() + " bytes");
      System.out.println("long answer: " + download.get() + " bytes");
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  private static ChannelInitializer<Channel> smux(boolean client) {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel session) {
        Answers answers = client ? null : new Answers();
        session.pipeline().addLast(new SmuxHandler(SmuxConfig.DEFAULT, client, answers));
      }
    };
  }

  private static CompletableFuture<Integer> ask(Channel session, int bytes) throws Exception {
    Answer answer = new Answer();
    var opening = new SmuxStreamChannelBootstrap(session).handler(answer).open();
    SmuxStreamChannel stream = opening.sync().getNow();
    stream.writeAndFlush(ByteBufUtil.writeUtf8(stream.alloc(), "" + bytes));
    return answer.received;
  }

  /** Serves each stream: answers with as many bytes as the client asks for. */
  @Sharable
  private static final class Answers extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf request) {
      int bytes = Integer.parseInt(request.toString(UTF_8));
      ctx.channel().config().setOption(SmuxChannelOption.PRIORITY, bytes < 1000 ? 0 : 7);
      ctx.writeAndFlush(ctx.alloc().buffer(bytes).writeZero(bytes));
      ctx.close();
    }
  }

  /** Counts the bytes of an answer, until the server closes the stream. */
  private static final class Answer extends SimpleChannelInboundHandler<ByteBuf> {

    private final CompletableFuture<Integer> received = new CompletableFuture<>();
    private int bytes;

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf part) {
      bytes += part.readableBytes();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
      received.complete(bytes);
    }
  }
}
