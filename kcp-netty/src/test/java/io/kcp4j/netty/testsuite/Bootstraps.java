package io.kcp4j.netty.testsuite;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpServerChannelOption;
import io.kcp4j.netty.KcpSocketOption;
import io.kcp4j.netty.ReceiveMode;
import io.netty.bootstrap.AbstractBootstrap;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.List;
import java.util.function.Supplier;

/**
 * The bootstraps that Netty's tests run with, for each transport. A client connects by a probe, and
 * a server accepts on it, so that both ends exist once {@code connect} is done, as the tests know
 * it from TCP.
 */
enum Bootstraps {
  NIO(true, NioIoHandler::newFactory),
  EPOLL(Epoll.isAvailable(), EpollIoHandler::newFactory),
  EPOLL_WITHOUT_OFFLOAD(Epoll.isAvailable(), EpollIoHandler::newFactory),
  IO_URING(IoUring.isAvailable(), IoUringIoHandler::newFactory);

  @SuppressWarnings("ImmutableEnumChecker") // Threads that all tests share.
  private final EventLoopGroup group;

  Bootstraps(boolean available, Supplier<IoHandlerFactory> handlers) {
    group =
        available
            ? new MultiThreadIoEventLoopGroup(
                4, new DefaultThreadFactory(name(), true), handlers.get())
            : null;
  }

  List<BootstrapFactory<Bootstrap>> clients() {
    assumeAvailable();
    return List.of(this::client);
  }

  List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> pairs() {
    assumeAvailable();
    return List.of(new Pair());
  }

  private void assumeAvailable() {
    assumeTrue(group != null, () -> name() + " is not available on this system");
  }

  private Bootstrap client() {
    return withOffload(new Bootstrap())
        .group(group)
        .channel(KcpChannel.class)
        .option(KcpChannelOption.CONNECT_PROBE, true);
  }

  private ServerBootstrap server() {
    return withOffload(new ServerBootstrap())
        .group(group)
        .channel(KcpServerChannel.class)
        .option(KcpServerChannelOption.ACCEPT_ON_PROBE, true);
  }

  private <B extends AbstractBootstrap<B, ?>> B withOffload(B bootstrap) {
    if (this != EPOLL_WITHOUT_OFFLOAD) {
      return bootstrap;
    }
    return bootstrap
        .option(KcpSocketOption.SEND_SEGMENTS, 1)
        .option(KcpSocketOption.RECEIVE, ReceiveMode.RECVMMSG);
  }

  private final class Pair implements BootstrapComboFactory<ServerBootstrap, Bootstrap> {

    @Override
    public ServerBootstrap newServerInstance() {
      return server();
    }

    @Override
    public Bootstrap newClientInstance() {
      return client();
    }
  }
}
