/** KCP sessions as Netty channels. */
module io.kcp4j.netty {
  requires transitive io.kcp4j.core;
  requires transitive io.netty.common;
  requires transitive io.netty.transport;
  requires static io.netty.transport.classes.epoll;
  requires static io.netty.transport.classes.io_uring;
  requires static io.netty.transport.classes.kqueue;
  requires static io.netty.transport.unix.common;
  requires static micrometer.core;

  exports io.kcp4j.netty;
  exports io.kcp4j.netty.internal to
      io.kcp4j.netty.smux;
  exports io.kcp4j.netty.metrics;
}
