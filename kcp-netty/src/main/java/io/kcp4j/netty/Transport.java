package io.kcp4j.netty;

import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandler;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.kqueue.KQueueDatagramChannel;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.uring.IoUringDatagramChannel;

/**
 * What carries the datagrams; the event loop decides. All but NIO live in optional artifacts, whose
 * classes are touched only after an event loop of theirs has been seen.
 */
enum Transport {
  NIO("io.netty.channel.nio.NioIoHandler"),
  EPOLL("io.netty.channel.epoll.EpollIoHandler"),
  IO_URING("io.netty.channel.uring.IoUringIoHandler"),
  KQUEUE("io.netty.channel.kqueue.KQueueIoHandler");

  /** Larger than any datagram that we take, so that one which is too large shows. */
  static final int SLOT_BYTES = 2048;

  /** As many datagrams as one recvmmsg takes in. */
  private static final int SLOTS = 64;

  private static final WriteBufferWaterMark WATER_MARK = new WriteBufferWaterMark(1 << 20, 4 << 20);

  private final Class<? extends IoHandler> handlerType;

  Transport(String handlerTypeName) {
    handlerType = find(handlerTypeName);
  }

  private static Class<? extends IoHandler> find(String handlerTypeName) {
    try {
      return Class.forName(handlerTypeName, false, Transport.class.getClassLoader())
          .asSubclass(IoHandler.class);
    } catch (ClassNotFoundException | LinkageError e) {
      return null;
    }
  }

  /** The transport of an event loop, or null if it has none that carries datagrams. */
  static Transport of(EventLoop eventLoop) {
    if (eventLoop instanceof IoEventLoop loop) {
      for (Transport transport : values()) {
        if (transport.handlerType != null && loop.isIoType(transport.handlerType)) {
          return transport;
        }
      }
    }
    return null;
  }

  /** Makes a datagram channel for event loops of this transport. */
  DatagramChannel newDatagramChannel() {
    DatagramChannel channel = open();
    channel.config().setOption(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT);
    channel.config().setOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK);
    FixedRecvByteBufAllocator slots =
        new FixedRecvByteBufAllocator(this == EPOLL ? SLOTS * SLOT_BYTES : SLOT_BYTES);
    channel.config().setOption(ChannelOption.RECVBUF_ALLOCATOR, slots.maxMessagesPerRead(SLOTS));
    if (this == EPOLL) {
      // Together with the large buffer this is what makes Netty use recvmmsg.
      channel.config().setOption(EpollChannelOption.MAX_DATAGRAM_PAYLOAD_SIZE, SLOT_BYTES);
    }
    return channel;
  }

  /**
   * A return for each, and no switch expression: the class where their types meet would have the
   * verifier load them all.
   */
  private DatagramChannel open() {
    switch (this) {
      case NIO -> {
        return new NioDatagramChannel();
      }
      case EPOLL -> {
        return new EpollDatagramChannel();
      }
      case IO_URING -> {
        return new IoUringDatagramChannel();
      }
      case KQUEUE -> {
        return new KQueueDatagramChannel();
      }
    }
    throw new AssertionError(this);
  }
}
