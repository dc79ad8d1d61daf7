package io.kcp4j.examples;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.DisposableServer;
import reactor.netty.resources.LoopResources;
import reactor.netty.tcp.TcpClient;
import reactor.netty.tcp.TcpServer;

/**
 * Reactor Netty over KCP: its TCP server and its TCP client use the channels that their {@code
 * LoopResources} make. RSocket, which builds on them, works in the same way.
 */
public final class ReactorEcho {

  private ReactorEcho() {}

  /** Sends a greeting to an echo server. Server and client share this JVM. */
  public static void main(String[] args) throws InterruptedException {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    try {
      LoopResources loops = new KcpResources(group);
      DisposableServer server =
          TcpServer.create()
              .runOn(loops)
              .bindAddress(() -> new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
              .handle((in, out) -> out.send(in.receive().retain()))
              .bindNow();
      Connection client =
          TcpClient.newConnection().runOn(loops).remoteAddress(server::address).connectNow();
      client.outbound().sendString(Mono.just("hello, Reactor")).then().block();
      System.out.println(client.inbound().receive().asString().blockFirst());
      client.disposeNow();
      server.disposeNow();
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  /** Makes channels of KCP where Reactor Netty asks for channels of TCP. */
  private record KcpResources(EventLoopGroup group) implements LoopResources {

    @Override
    public EventLoopGroup onServer(boolean useNative) {
      return group;
    }

    @Override
    @SuppressWarnings("unchecked") // Reactor Netty uses what it gets as a Channel.
    public <C extends Channel> C onChannel(Class<C> type, EventLoopGroup group) {
      if (type == ServerSocketChannel.class) {
        return (C) new KcpServerChannel();
      }
      return type == SocketChannel.class
          ? (C) new KcpChannel()
          : LoopResources.super.onChannel(type, group);
    }
  }
}
