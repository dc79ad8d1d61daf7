package io.kcp4j.netty.testsuite;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketAddressesTest;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import org.junit.jupiter.params.Parameter;

@OnEveryTransport
class KcpSocketAddressesTest extends SocketAddressesTest {

  @Parameter Bootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }

  @Override
  protected void assertAddress(SocketAddress address) {
    InetSocketAddress inet = (InetSocketAddress) address;
    assertTrue(inet.getPort() > 0);
    assertFalse(inet.getAddress().isAnyLocalAddress());
  }
}
