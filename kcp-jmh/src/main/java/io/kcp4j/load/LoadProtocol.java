package io.kcp4j.load;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import java.net.InetSocketAddress;

/** What carries streams of bytes between two processes. On epoll, as fast as it knows to be. */
interface LoadProtocol {

  /** As much as a few system calls carry, so that the transport never waits for its writer. */
  WriteBufferWaterMark WATER_MARK = new WriteBufferWaterMark(256 << 10, 512 << 10);

  /** Of UDP sockets, each way, in bytes. */
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
