package io.kcp4j.netty;

import io.netty.bootstrap.AbstractBootstrap;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import java.util.Arrays;
import java.util.stream.Stream;

/** The transports that tests run over, if they are available. */
public enum TransportUnderTest {
  NIO,
  EPOLL,
  EPOLL_WITHOUT_OFFLOAD,
  IO_URING;

  static Stream<TransportUnderTest> available() {
    return Arrays.stream(values()).filter(TransportUnderTest::isAvailable);
  }

  private boolean isAvailable() {
    return switch (this) {
      case NIO -> true;
      case EPOLL, EPOLL_WITHOUT_OFFLOAD -> Epoll.isAvailable();
      case IO_URING -> IoUring.isAvailable();
    };
  }

  public MultiThreadIoEventLoopGroup newGroup(int threads) {
    IoHandlerFactory factory =
        switch (this) {
          case NIO -> NioIoHandler.newFactory();
          case EPOLL, EPOLL_WITHOUT_OFFLOAD -> EpollIoHandler.newFactory();
          case IO_URING -> IoUringIoHandler.newFactory();
        };
    return new MultiThreadIoEventLoopGroup(threads, factory);
  }

  /** Sets the options of this transport. */
  void configure(AbstractBootstrap<?, ?> bootstrap) {
    if (this == EPOLL_WITHOUT_OFFLOAD) {
      bootstrap.option(KcpChannelOption.SOCKET_CONFIG, withoutOffload().build());
    }
  }

  /** Settings of sockets without GSO and GRO. */
  public static KcpSocketConfig.Builder withoutOffload() {
    return KcpSocketConfig.builder().offload(false);
  }
}
