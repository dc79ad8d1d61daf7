/** smux: many streams over one connection of Netty, as channels. */
module io.kcp4j.netty.smux {
  requires transitive io.netty.buffer;
  requires transitive io.netty.common;
  requires transitive io.netty.transport;
  requires io.kcp4j.core;
  requires io.kcp4j.netty;

  exports io.kcp4j.netty.smux;
  exports io.kcp4j.smux;
}
