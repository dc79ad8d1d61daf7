package io.kcp4j.command;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.kqueue.KQueue;
import io.netty.channel.kqueue.KQueueIoHandler;
import io.netty.channel.kqueue.KQueueServerSocketChannel;
import io.netty.channel.kqueue.KQueueSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringServerSocketChannel;
import io.netty.channel.uring.IoUringSocketChannel;
import java.util.Locale;

/** Netty's transports. A KCP channel uses the transport of its event loop. */
public enum TransportChoice {
  /** The fastest that is available: epoll, kqueue or NIO. */
  AUTO,
  /** Epoll, on Linux. */
  EPOLL,
  /** The JDK's selectors. */
  NIO,
  /** The io_uring of Linux. */
  IO_URING,
  /** Kqueue, on macOS and BSD. */
  KQUEUE;

  /**
   * The transport that {@link #AUTO} selects, otherwise this one.
   *
   * @throws CommandFailure if it is not available on this machine
   */
  public TransportChoice resolve() throws CommandFailure {
    switch (this) {
      case EPOLL -> require(Epoll.isAvailable(), Epoll.unavailabilityCause());
      case KQUEUE -> require(KQueue.isAvailable(), KQueue.unavailabilityCause());
      case IO_URING -> require(IoUring.isAvailable(), IoUring.unavailabilityCause());
      case AUTO -> {
        if (Epoll.isAvailable()) {
          return EPOLL;
        }
        return KQueue.isAvailable() ? KQUEUE : NIO;
      }
      case NIO -> {}
    }
    return this;
  }

  /**
   * An event loop group of this transport.
   *
   * @throws CommandFailure if it is not available on this machine
   */
  public EventLoopGroup newGroup(int threads) throws CommandFailure {
    return switch (resolve()) {
      case EPOLL -> new EpollGroup(threads);
      case KQUEUE -> new MultiThreadIoEventLoopGroup(threads, KQueueIoHandler.newFactory());
      case IO_URING -> new MultiThreadIoEventLoopGroup(threads, IoUringIoHandler.newFactory());
      default -> new MultiThreadIoEventLoopGroup(threads, NioIoHandler.newFactory());
    };
  }

  /** The channel of a TCP connection. This is a {@linkplain #resolve() resolved} transport. */
  public Class<? extends SocketChannel> socketChannel() {
    return switch (resolved()) {
      case EPOLL -> EpollSocketChannel.class;
      case KQUEUE -> KQueueSocketChannel.class;
      case IO_URING -> IoUringSocketChannel.class;
      default -> NioSocketChannel.class;
    };
  }

  /** The channel of a TCP server. This is a {@linkplain #resolve() resolved} transport. */
  public Class<? extends ServerSocketChannel> serverSocketChannel() {
    return switch (resolved()) {
      case EPOLL -> EpollServerSocketChannel.class;
      case KQUEUE -> KQueueServerSocketChannel.class;
      case IO_URING -> IoUringServerSocketChannel.class;
      default -> NioServerSocketChannel.class;
    };
  }

  private TransportChoice resolved() {
    if (this == AUTO) {
      throw new IllegalStateException(this + " (expected: resolved)");
    }
    return this;
  }

  private void require(boolean available, Throwable cause) throws CommandFailure {
    if (!available) {
      String name = name().toLowerCase(Locale.ROOT);
      throw new CommandFailure(name + " is not available: " + CommandFailure.describe(cause));
    }
  }
}
