package io.kcp4j.netty.testsuite;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpServerChannelOption;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.ArrayList;
import java.util.List;

/**
 * The bootstraps that Netty's tests run with: NIO, and epoll wherever there is any. A client
 * connects by a probe, and a server accepts on it, so that both ends exist once {@code connect} is
 * done, as the tests know it from TCP.
 */
final class Permutations {

  private static final List<EventLoopGroup> GROUPS = groups();

  private Permutations() {}

  private static List<EventLoopGroup> groups() {
    List<EventLoopGroup> groups = new ArrayList<>();
    groups.add(group("nio", NioIoHandler.newFactory()));
    if (Epoll.isAvailable()) {
      groups.add(group("epoll", EpollIoHandler.newFactory()));
    }
    return List.copyOf(groups);
  }

  private static EventLoopGroup group(String name, IoHandlerFactory factory) {
    return new MultiThreadIoEventLoopGroup(4, new DefaultThreadFactory(name, true), factory);
  }

  static List<BootstrapFactory<Bootstrap>> clients() {
    return GROUPS.stream().<BootstrapFactory<Bootstrap>>map(g -> () -> client(g)).toList();
  }

  static List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> pairs() {
    return GROUPS.stream()
        .<BootstrapComboFactory<ServerBootstrap, Bootstrap>>map(Pair::new)
        .toList();
  }

  private static Bootstrap client(EventLoopGroup group) {
    return new Bootstrap()
        .group(group)
        .channel(KcpChannel.class)
        .option(KcpChannelOption.CONNECT_PROBE, true);
  }

  private static ServerBootstrap server(EventLoopGroup group) {
    return new ServerBootstrap()
        .group(group)
        .channel(KcpServerChannel.class)
        .option(KcpServerChannelOption.ACCEPT_ON_PROBE, true);
  }

  private record Pair(EventLoopGroup group)
      implements BootstrapComboFactory<ServerBootstrap, Bootstrap> {

    @Override
    public ServerBootstrap newServerInstance() {
      return server(group);
    }

    @Override
    public Bootstrap newClientInstance() {
      return client(group);
    }
  }
}
