package io.kcp4j.netty.udp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandler;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.kqueue.KQueueDatagramChannel;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.unix.Errors.NativeIoException;
import io.netty.channel.unix.SegmentedDatagramPacket;
import io.netty.channel.unix.UnixChannelOption;
import io.netty.channel.uring.IoUringDatagramChannel;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.util.Set;

/**
 * What carries the datagrams; the event loop decides. All but NIO live in optional artifacts, whose
 * classes are touched only after an event loop of theirs has been seen.
 */
public enum UdpTransport {
  NIO("io.netty.channel.nio.NioIoHandler"),
  EPOLL("io.netty.channel.epoll.EpollIoHandler"),
  IO_URING("io.netty.channel.uring.IoUringIoHandler"),
  KQUEUE("io.netty.channel.kqueue.KQueueIoHandler");

  /** Larger than any datagram that we take, so that one which is too large shows. */
  public static final int SLOT_BYTES = 2048;

  /** As many datagrams as one wake-up takes in without epoll's help. */
  private static final int DATAGRAMS_PER_BATCH = 64;

  private static final WriteBufferWaterMark WATER_MARK = new WriteBufferWaterMark(1 << 20, 4 << 20);

  /** A sender, for packets without a recipient: Netty wants one of the two. */
  private static final InetSocketAddress UNSPECIFIED = new InetSocketAddress(0);

  // Linux's, as Netty's native code reports them.
  private static final int EIO = -5;
  private static final int EINVAL = -22;
  private static final int EMSGSIZE = -90;

  private final Class<? extends IoHandler> handlerType;

  UdpTransport(String handlerTypeName) {
    handlerType = find(handlerTypeName);
  }

  private static Class<? extends IoHandler> find(String handlerTypeName) {
    try {
      return Class.forName(handlerTypeName, false, UdpTransport.class.getClassLoader())
          .asSubclass(IoHandler.class);
    } catch (ClassNotFoundException | LinkageError e) {
      return null;
    }
  }

  /** The transport of an event loop, or null if it has none that carries datagrams. */
  public static UdpTransport of(EventLoop eventLoop) {
    if (eventLoop instanceof IoEventLoop loop) {
      for (UdpTransport transport : values()) {
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
    if (this != EPOLL) {
      FixedRecvByteBufAllocator slot = new FixedRecvByteBufAllocator(SLOT_BYTES);
      slot.maxMessagesPerRead(DATAGRAMS_PER_BATCH);
      channel.config().setOption(ChannelOption.RECVBUF_ALLOCATOR, slot);
    }
    return channel;
  }

  /**
   * Has a channel receive into {@code space} by one of the {@code allowed} calls, if this transport
   * can; the others know only {@link ReceiveCall#RECVMSG}.
   *
   * @param allowed one call, or GRO and RECVMMSG, of which the socket then uses the better one
   */
  void receive(DatagramChannel channel, ReceiveSpace space, Set<ReceiveCall> allowed) {
    if (this == EPOLL) {
      ReceiveBuffers.install(((EpollDatagramChannel) channel).config(), space, allowed);
    }
  }

  /**
   * Lets a channel of this transport be bound to an address that others are bound to.
   *
   * @return whether the system has that
   */
  boolean shareAddress(DatagramChannel channel) {
    ChannelOption<Boolean> reusePort =
        this == NIO
            ? NioChannelOption.of(StandardSocketOptions.SO_REUSEPORT)
            : UnixChannelOption.SO_REUSEPORT;
    return channel.config().setOption(reusePort, true);
  }

  /** Whether channels of this transport can send several datagrams as one. */
  boolean sendsSegments() {
    return this == EPOLL && EpollDatagramChannel.isSegmentedDatagramPacketSupported();
  }

  /**
   * Several datagrams as one message of such a channel, a GSO batch.
   *
   * @param remote null for a connected one
   */
  static Object segmented(ByteBuf datagrams, int bytes, InetSocketAddress remote) {
    return new SegmentedDatagramPacket(datagrams, bytes, remote, UNSPECIFIED);
  }

  /** The bytes of each datagram of such a message; the last may be shorter. */
  static int segmentBytes(Object batch) {
    return ((SegmentedDatagramPacket) batch).segmentSize();
  }

  /** Whether {@code cause}, of a GSO batch, says that single datagrams may still be sent. */
  static boolean isGsoRefusal(Throwable cause) {
    return isDeviceRefusal(cause) || isError(cause, EMSGSIZE) || isError(cause, EINVAL);
  }

  /** Whether {@code cause}, of a GSO batch, says that the device can send none. */
  static boolean isDeviceRefusal(Throwable cause) {
    return isError(cause, EIO);
  }

  private static boolean isError(Throwable cause, int error) {
    return cause instanceof NativeIoException e && e.expectedErr() == error;
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
