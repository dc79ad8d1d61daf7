package io.kcp4j.netty;

import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.BindException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import org.junit.jupiter.api.Test;

/** Tests that need a closed port have one for as long as they need it. */
class ClosedPortTest {

  @Test
  void nobodyElseGetsThePort() throws Exception {
    try (ClosedPort closed = new ClosedPort()) {
      InetSocketAddress address = closed.address();
      assertThrows(BindException.class, () -> new DatagramSocket(address).close());
    }
  }

  @Test
  void datagramsAreRefused() throws Exception {
    try (ClosedPort closed = new ClosedPort();
        DatagramSocket socket = new DatagramSocket(Fixture.ANY_PORT)) {
      socket.connect(closed.address());
      socket.send(new DatagramPacket(new byte[1], 1));
      socket.setSoTimeout(10_000);
      assertThrows(
          PortUnreachableException.class, () -> socket.receive(new DatagramPacket(new byte[1], 1)));
    }
  }
}
