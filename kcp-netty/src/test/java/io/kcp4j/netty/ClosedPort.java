package io.kcp4j.netty;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;

/**
 * A port that nobody can open and where nobody listens: datagrams to it are answered with "port
 * unreachable". A port whose socket has been closed may soon be the port of another test's server.
 */
final class ClosedPort implements AutoCloseable {

  private final DatagramSocket socket = new DatagramSocket(Fixture.ANY_PORT);
  private final InetSocketAddress address = (InetSocketAddress) socket.getLocalSocketAddress();

  ClosedPort() throws IOException {
    socket.connect(address); // The kernel delivers nothing from any other address.
  }

  InetSocketAddress address() {
    return address;
  }

  /** Lets another socket open the port. */
  void release() {
    socket.close();
  }

  @Override
  public void close() {
    release();
  }
}
