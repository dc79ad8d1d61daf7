package io.kcp4j.netty;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;

/** A socket that receives datagrams and sends none. */
record UnresponsivePeer(DatagramSocket socket) implements AutoCloseable {

  UnresponsivePeer() throws IOException {
    this(new DatagramSocket(Fixture.ANY_PORT));
  }

  InetSocketAddress address() {
    return (InetSocketAddress) socket.getLocalSocketAddress();
  }

  @Override
  public void close() {
    socket.close();
  }
}
