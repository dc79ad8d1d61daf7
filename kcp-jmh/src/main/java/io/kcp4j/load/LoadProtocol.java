package io.kcp4j.load;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import java.net.InetSocketAddress;

/**
 * A protocol that carries streams of bytes between two processes, on epoll, with its fastest
 * settings.
 */
interface LoadProtocol {

  /** The data of a few system calls: the protocol never runs out of data to send. */
  WriteBufferWaterMark WATER_MARK = new WriteBufferWaterMark(256 << 10, 512 << 10);

  /** Size of each buffer of UDP sockets, in bytes. */
  int SOCKET_BUFFER_BYTES = 4 << 20;

  /**
   * Listens until the channel that it returns is closed.
   *
   * @param handler of every session, sharable
   */
  Channel listen(EventLoopGroup group, InetSocketAddress local, ChannelHandler handler)
      throws Exception;

  /** Opens a session, and returns its channel. */
  Channel connect(EventLoopGroup group, InetSocketAddress remote, ChannelHandler handler)
      throws Exception;
}
