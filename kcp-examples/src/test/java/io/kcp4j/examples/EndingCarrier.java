package io.kcp4j.examples;

import io.kcp4j.Delivery;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.LaneMessage;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.netty.smux.SmuxStreamChannelBootstrap;
import io.kcp4j.smux.SmuxConfig;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.MessageToMessageCodec;
import java.util.List;
import java.util.function.Supplier;

/** What carries the bytes of an application between two processes. */
enum EndingCarrier {
  STREAM,
  MESSAGE,
  LANES,
  /** One stream of smux. */
  SMUX,
  /** The kernel's TCP. */
  TCP;

  /**
   * NIO sockets for TCP; epoll, whose sockets write at once when their event loop ends, for KCP.
   */
  EventLoopGroup newGroup() {
    IoHandlerFactory io = this == TCP ? NioIoHandler.newFactory() : EpollIoHandler.newFactory();
    return new MultiThreadIoEventLoopGroup(1, io);
  }

  void apply(Bootstrap client) {
    client.channel(this == TCP ? NioSocketChannel.class : KcpChannel.class);
    if (delivery() != null) {
      client.option(KcpChannelOption.DELIVERY, delivery());
    }
  }

  void apply(ServerBootstrap server) {
    server.channel(this == TCP ? NioServerSocketChannel.class : KcpServerChannel.class);
    if (delivery() != null) {
      server.childOption(KcpChannelOption.DELIVERY, delivery());
    }
  }

  private Delivery delivery() {
    return switch (this) {
      case TCP -> null;
      case MESSAGE -> Delivery.MESSAGE;
      case LANES -> Delivery.LANES;
      case STREAM, SMUX -> Delivery.STREAM;
    };
  }

  /** Adds the application's handlers to a session, or to its stream. */
  ChannelHandler initializer(boolean isClient, Supplier<ChannelHandler> application) {
    return new ChannelInitializer<Channel>() {
      @Override
      protected void initChannel(Channel session) {
        switch (EndingCarrier.this) {
          case SMUX -> session.pipeline().addLast(smux(isClient, application));
          case LANES -> session.pipeline().addLast(new OneLane(), application.get());
          case STREAM, MESSAGE, TCP -> session.pipeline().addLast(application.get());
        }
      }
    };
  }

  private static SmuxHandler smux(boolean isClient, Supplier<ChannelHandler> application) {
    ChannelHandler streams =
        new ChannelInitializer<Channel>() {
          @Override
          protected void initChannel(Channel stream) {
            stream.pipeline().addLast(application.get());
          }
        };
    return new SmuxHandler(SmuxConfig.DEFAULT, isClient, isClient ? null : streams);
  }

  /** Opens the client's stream in a session that is connected. */
  void open(Channel session, Supplier<ChannelHandler> application) {
    if (this == SMUX) {
      new SmuxStreamChannelBootstrap(session).handler(application.get()).open();
    }
  }

  /** Each buffer is a message of lane 0. */
  private static final class OneLane extends MessageToMessageCodec<LaneMessage, ByteBuf> {

    @Override
    protected void encode(ChannelHandlerContext ctx, ByteBuf bytes, List<Object> out) {
      out.add(new LaneMessage(0, bytes.retain()));
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, LaneMessage message, List<Object> out) {
      out.add(message.content().retain());
    }
  }
}
