package io.kcp4j.netty.internal.udp;

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
import io.netty.util.Version;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;

/**
 * The transports of Netty that have UDP sockets. The event loop decides which one is used. All but
 * NIO are in optional artifacts, whose classes are loaded only for an event loop of theirs.
 */
public enum UdpTransport {
  NIO("io.netty.channel.nio.NioIoHandler"),
  EPOLL("io.netty.channel.epoll.EpollIoHandler"),
  IO_URING("io.netty.channel.uring.IoUringIoHandler"),
  KQUEUE("io.netty.channel.kqueue.KQueueIoHandler");

  /** Larger than any accepted datagram, so that one that is too large can be recognized. */
  public static final int SLOT_BYTES = 2048;

  /** The most datagrams received at one wake-up, except with epoll. */
  private static final int DATAGRAMS_PER_BATCH = 64;

  private static final WriteBufferWaterMark WATER_MARK = new WriteBufferWaterMark(1 << 20, 4 << 20);

  /** A sender for packets without a recipient: Netty requires one of the two. */
  private static final InetSocketAddress UNSPECIFIED = new InetSocketAddress(0);

  private static final int NO_SCOPE = -1;

  /** Null if Netty is new enough. */
  private static final String VERSION_MISTAKE = versionMistake();

  // Linux's, as Netty's native code reports them.
  private static final int EIO = -5;
  private static final int EINVAL = -22;
  private static final int EMSGSIZE = -90;

  private final Class<? extends IoHandler> handlerType;

  UdpTransport(String handlerTypeName) {
    handlerType = find(handlerTypeName);
  }

  private static String versionMistake() {
    try {
      Class.forName("io.netty.channel.IoEventLoop", false, UdpTransport.class.getClassLoader());
      return null;
    } catch (ClassNotFoundException e) {
      Version transport = Version.identify().get("netty-transport");
      String found = transport == null ? "an older one" : transport.artifactVersion();
      return "kcp4j needs Netty 4.2: the class path has "
          + found
          + " (expected: one version of 4.2, as of io.netty:netty-bom, for all io.netty artifacts)";
    }
  }

  private static Class<? extends IoHandler> find(String handlerTypeName) {
    try {
      return Class.forName(handlerTypeName, false, UdpTransport.class.getClassLoader())
          .asSubclass(IoHandler.class);
    } catch (ClassNotFoundException | LinkageError e) {
      return null;
    }
  }

  /**
   * The transport of an event loop, or null if that has no UDP sockets.
   *
   * @throws IllegalStateException if Netty on the class path is older than 4.2. Frameworks often
   *     pin Netty 4.1, which lacks these event loops: the error of a missing class would follow.
   */
  public static UdpTransport of(EventLoop eventLoop) {
    if (VERSION_MISTAKE != null) {
      throw new IllegalStateException(VERSION_MISTAKE);
    }
    if (eventLoop instanceof IoEventLoop loop) {
      for (UdpTransport transport : values()) {
        if (transport.handlerType != null && loop.isIoType(transport.handlerType)) {
          return transport;
        }
      }
    }
    return null;
  }

  /**
   * An address without the IPv6 scope 0; null for null. Netty's native transports give global
   * addresses this scope, which is none, and which the text of the address has as {@code %0}. Such
   * an address equals the one without, but lists of addresses are often kept as text.
   */
  public static InetSocketAddress withoutZeroScope(InetSocketAddress address) {
    if (address == null
        || !(address.getAddress() instanceof Inet6Address ipv6)
        || ipv6.getScopeId() != 0) {
      return address;
    }
    try {
      Inet6Address global = Inet6Address.getByAddress(null, ipv6.getAddress(), NO_SCOPE);
      return new InetSocketAddress(global, address.getPort());
    } catch (UnknownHostException e) {
      throw new AssertionError(e); // Only for another length.
    }
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
   * Makes an epoll channel receive into {@code space}: by recvmmsg, of which one call receives up
   * to {@value ReceiveBuffers#MAX_SLOTS} datagrams of any peers, or by UDP_GRO. Other transports
   * receive one datagram by each call, into buffers of their own.
   *
   * @param isGroAllowed whether UDP_GRO may be used while that is faster: one call receives a GRO
   *     batch from one peer
   */
  void receive(DatagramChannel channel, ReceiveSpace space, boolean isGroAllowed) {
    if (this == EPOLL) {
      ReceiveBuffers.install(((EpollDatagramChannel) channel).config(), space, isGroAllowed);
    }
  }

  /**
   * Sets SO_REUSEPORT, so that several channels can be bound to one address.
   *
   * @return whether the system supports it
   */
  boolean shareAddress(DatagramChannel channel) {
    return channel.config().setOption(reusePort(), true);
  }

  /** Whether that is set. */
  boolean isAddressShared(DatagramChannel channel) {
    return Boolean.TRUE.equals(channel.config().getOption(reusePort()));
  }

  private ChannelOption<Boolean> reusePort() {
    return this == NIO
        ? NioChannelOption.of(StandardSocketOptions.SO_REUSEPORT)
        : UnixChannelOption.SO_REUSEPORT;
  }

  /** Whether channels of this transport can send GSO batches. */
  boolean sendsSegments() {
    return this == EPOLL && EpollDatagramChannel.isSegmentedDatagramPacketSupported();
  }

  /**
   * Makes a GSO batch, one message of several datagrams.
   *
   * @param remote null for a connected one
   */
  static Object segmented(ByteBuf datagrams, int bytes, InetSocketAddress remote) {
    return new SegmentedDatagramPacket(datagrams, bytes, remote, UNSPECIFIED);
  }

  /** The size of each datagram of a GSO batch, in bytes; the last may be shorter. */
  static int segmentBytes(Object batch) {
    return ((SegmentedDatagramPacket) batch).segmentSize();
  }

  /** Whether a GSO batch that failed with {@code cause} can be sent as single datagrams. */
  static boolean isGsoRefusal(Throwable cause) {
    return isDeviceRefusal(cause) || isError(cause, EMSGSIZE) || isError(cause, EINVAL);
  }

  /** Whether {@code cause} means that the device cannot send GSO batches. */
  static boolean isDeviceRefusal(Throwable cause) {
    return isError(cause, EIO);
  }

  private static boolean isError(Throwable cause, int error) {
    return cause instanceof NativeIoException e && e.expectedErr() == error;
  }

  /**
   * Has one return statement for each type: for a switch expression, the verifier would load all of
   * the classes to find their common type.
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
