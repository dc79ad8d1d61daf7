package io.kcp4j.netty.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketObjectEchoTest;
import java.util.List;

class KcpSocketObjectEchoTest extends SocketObjectEchoTest {

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return Permutations.pairs();
  }
}
