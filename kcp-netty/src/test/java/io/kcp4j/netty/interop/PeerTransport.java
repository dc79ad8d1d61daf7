package io.kcp4j.netty.interop;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import org.junit.jupiter.api.Assumptions;

/** The transports on which kcp4j meets the peers. */
enum PeerTransport {
  NIO {
    @Override
    IoHandlerFactory ioHandlerFactory() {
      return NioIoHandler.newFactory();
    }
  },
  EPOLL {
    @Override
    IoHandlerFactory ioHandlerFactory() {
      Assumptions.assumeTrue(Epoll.isAvailable(), "Skipped: epoll is not available");
      return EpollIoHandler.newFactory();
    }
  };

  abstract IoHandlerFactory ioHandlerFactory();

  EventLoopGroup newGroup() {
    return new MultiThreadIoEventLoopGroup(1, ioHandlerFactory());
  }
}
