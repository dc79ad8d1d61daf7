package io.kcp4j.examples;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.kqueue.KQueue;
import io.netty.channel.kqueue.KQueueIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import java.util.Locale;

/** Netty's transports. A KCP channel uses the transport of its event loop. */
enum TransportChoice {
  AUTO,
  EPOLL,
  NIO,
  IO_URING;

  /**
   * An event loop group of this transport.
   *
   * @throws CommandFailure if it is not available on this machine
   */
  EventLoopGroup newGroup(int threads) throws CommandFailure {
    return new MultiThreadIoEventLoopGroup(threads, ioHandlerFactory());
  }

  private IoHandlerFactory ioHandlerFactory() throws CommandFailure {
    return switch (this) {
      case AUTO -> best();
      case NIO -> NioIoHandler.newFactory();
      case EPOLL -> {
        require(Epoll.isAvailable(), Epoll.unavailabilityCause());
        yield EpollIoHandler.newFactory();
      }
      case IO_URING -> {
        require(IoUring.isAvailable(), IoUring.unavailabilityCause());
        yield IoUringIoHandler.newFactory();
      }
    };
  }

  private static IoHandlerFactory best() {
    if (Epoll.isAvailable()) {
      return EpollIoHandler.newFactory();
    }
    return KQueue.isAvailable() ? KQueueIoHandler.newFactory() : NioIoHandler.newFactory();
  }

  private void require(boolean available, Throwable cause) throws CommandFailure {
    if (!available) {
      String name = name().toLowerCase(Locale.ROOT);
      throw new CommandFailure(name + " is not available: " + CommandFailure.describe(cause));
    }
  }
}
