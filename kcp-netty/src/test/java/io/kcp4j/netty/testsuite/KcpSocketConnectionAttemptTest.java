package io.kcp4j.netty.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.SocketConnectionAttemptTest;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.Parameter;

@Tag("slow")
@OnEveryTransport
class KcpSocketConnectionAttemptTest extends SocketConnectionAttemptTest {

  private static ServerSocket tcp;
  private static DatagramSocket udp;

  @Parameter Bootstraps bootstraps;

  /**
   * Gives Netty's test a host that does not answer, on loopback: a UDP socket that is never read.
   * The TCP socket is for a check of the test, that TCP's connection to it would not be refused.
   */
  @BeforeAll
  static void openUnresponsiveHost() throws IOException {
    if (udp == null) {
      InetAddress loopback = InetAddress.getLoopbackAddress();
      tcp = new ServerSocket(0, 1, loopback);
      udp = new DatagramSocket(new InetSocketAddress(loopback, tcp.getLocalPort()));
      System.setProperty("io.netty.testsuite.badHost", loopback.getHostAddress());
      System.setProperty("io.netty.testsuite.badPort", String.valueOf(tcp.getLocalPort()));
    }
  }

  @Override
  protected List<BootstrapFactory<Bootstrap>> newFactories() {
    return bootstraps.clients();
  }
}
