package io.kcp4j.netty;

import io.kcp4j.netty.udp.UdpSocket;
import io.netty.channel.EventLoop;

/**
 * Schedules a flush of an endpoint's sessions when the session table requests it, or when the
 * socket becomes writable after that. Used by the event loop.
 */
final class FlushRequests {

  private final EventLoop eventLoop;
  private final UdpSocket socket;
  private final Runnable flush;

  /** Whether a request waits for the socket. */
  private boolean isWaiting;

  FlushRequests(EventLoop eventLoop, UdpSocket socket, Runnable flush) {
    this.eventLoop = eventLoop;
    this.socket = socket;
    this.flush = flush;
  }

  /** Requests a flush in the next turn of the event loop. */
  void add() {
    isWaiting = !socket.isWritable();
    if (!isWaiting) {
      eventLoop.execute(flush);
    }
  }

  /** The writability of the socket has changed. */
  void writabilityChanged() {
    if (isWaiting && socket.isWritable()) {
      add();
    }
  }
}
