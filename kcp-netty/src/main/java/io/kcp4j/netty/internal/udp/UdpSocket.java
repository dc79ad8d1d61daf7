package io.kcp4j.netty.internal.udp;

import io.kcp4j.KcpCounters;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.DatagramChannel;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** A UDP socket on an event loop, and the writer of its datagrams. */
public final class UdpSocket {

  private final UdpTransport transport;
  private final DatagramChannel channel;
  private final DatagramWriter writer;
  private final Runnable resumption = this::resumeReads;

  /**
   * Opens a socket, to be registered with {@code eventLoop}.
   *
   * @param space where an epoll socket receives, shared by all sockets of the event loop
   * @param isOffloadAllowed whether an epoll socket may send GSO batches (UDP_SEGMENT) and receive
   *     GRO batches (UDP_GRO)
   * @param counters where refused GSO batches are counted
   * @param nowUs the time, in microseconds
   */
  public UdpSocket(
      EventLoop eventLoop,
      ReceiveSpace space,
      boolean isOffloadAllowed,
      KcpCounters counters,
      LongSupplier nowUs) {
    transport = UdpTransport.of(eventLoop);
    channel = transport.newDatagramChannel();
    transport.receive(channel, space, isOffloadAllowed);
    boolean isBatched = isOffloadAllowed && transport.sendsSegments();
    int maxSegments = isBatched ? DatagramWriter.MAX_SEGMENTS : 1;
    writer = new DatagramWriter(channel, counters, maxSegments, nowUs);
  }

  /** The channel that sends and receives. */
  public DatagramChannel channel() {
    return channel;
  }

  /** The writer of datagrams, for a {@link UdpBatchWriter}. */
  public DatagramWriter writer() {
    return writer;
  }

  /** Binds the socket at once, or throws the failure. */
  public void bind(SocketAddress local) {
    ChannelFuture bound = channel.bind(local).awaitUninterruptibly();
    if (bound.cause() instanceof IOException e) { // The system's message lacks the address.
      BindException failure = new BindException(local + ": " + e.getMessage());
      failure.initCause(e);
      bound = channel.newFailedFuture(failure);
    }
    bound.syncUninterruptibly();
  }

  /**
   * Sets SO_REUSEPORT, so that several sockets can be bound to one address.
   *
   * @return whether the system supports it
   */
  public boolean shareAddress() {
    return transport.shareAddress(channel);
  }

  /** Whether SO_REUSEPORT is set. */
  public boolean isAddressShared() {
    return transport.isAddressShared(channel);
  }

  /** Connects the socket, which then receives from {@code remote} only. */
  public ChannelFuture connect(SocketAddress remote, SocketAddress local) {
    return channel.connect(remote, local);
  }

  /** The address that the socket is bound to, or null. */
  public InetSocketAddress localAddress() {
    return channel.localAddress();
  }

  /** The address that the socket is connected to, or null. */
  public InetSocketAddress remoteAddress() {
    return channel.remoteAddress();
  }

  /** Whether the socket is connected. */
  public boolean isConnected() {
    return channel.isConnected();
  }

  /** Whether the socket has not been closed. */
  public boolean isOpen() {
    return channel.isOpen();
  }

  /** Whether the socket can send. */
  public boolean isActive() {
    return channel.isActive();
  }

  /** Whether the outbound buffer of the socket is below its high water mark. */
  public boolean isWritable() {
    return channel.isWritable();
  }

  /**
   * Lets datagrams wait in the socket for a while, if this is epoll, so that one system call
   * receives more of them. Other transports read on.
   *
   * @param us how long, in microseconds
   */
  public void pauseReads(long us) {
    if (transport == UdpTransport.EPOLL && channel.config().isAutoRead()) {
      channel.config().setAutoRead(false);
      channel.eventLoop().schedule(resumption, us, TimeUnit.MICROSECONDS);
    }
  }

  private void resumeReads() {
    if (channel.isOpen()) {
      channel.config().setAutoRead(true);
    }
  }

  /**
   * Opens a socket that has the address of this one, which has closed. The port of one of NIO stays
   * in use until the selector has noticed.
   *
   * @throws IOException if the address cannot be bound again
   */
  public java.nio.channels.DatagramChannel reopen() throws IOException {
    java.nio.channels.DatagramChannel again = java.nio.channels.DatagramChannel.open();
    try {
      if (again.supportedOptions().contains(StandardSocketOptions.SO_REUSEPORT)) {
        again.setOption(StandardSocketOptions.SO_REUSEPORT, true); // Others may share the port.
      }
      return again.bind(localAddress());
    } catch (IOException | RuntimeException e) {
      again.close();
      throw e;
    }
  }

  /** Closes the socket. */
  public void close() {
    channel.close();
  }

  @Override
  public String toString() {
    return channel.toString();
  }
}
