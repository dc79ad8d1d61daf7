package io.kcp4j.netty;

import io.kcp4j.netty.udp.UdpTransport;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Selects the event loops of a server's sockets. */
final class SocketLoops {

  private SocketLoops() {}

  /**
   * The event loops of one or several sockets, in the order in which the sockets use them.
   *
   * @param server the server's event loop, which the first socket uses if {@code group} is null
   * @param group the group whose event loops are used, or null for that of {@code server}
   * @throws IllegalArgumentException if event loops of {@code group} have no UDP sockets
   * @throws RuntimeException if {@code group} has no event loop
   */
  static List<EventLoop> select(EventLoop server, EventLoopGroup group, int sockets) {
    if (group == null) {
      return sockets == 1 || server.parent() == null
          ? List.of(server)
          : beginningWith(server, server.parent());
    }
    EventLoop next = group.next();
    List<EventLoop> loops = sockets == 1 ? List.of(next) : beginningWith(next, group);
    loops.forEach(SocketLoops::check);
    return loops;
  }

  private static List<EventLoop> beginningWith(EventLoop first, EventLoopGroup group) {
    List<EventLoop> loops = new ArrayList<>();
    for (EventExecutor executor : group) {
      loops.add((EventLoop) executor);
    }
    if (!loops.contains(first)) { // The group has changed since.
      loops.add(0, first);
    }
    Collections.rotate(loops, -loops.indexOf(first));
    return loops;
  }

  private static void check(EventLoop loop) {
    if (UdpTransport.of(loop) == null) {
      throw new IllegalArgumentException(
          KcpServerChannelOption.SOCKET_GROUP
              + ": "
              + loop.getClass().getName()
              + " (expected: event loops of NIO, epoll, io_uring or kqueue)");
    }
  }
}
