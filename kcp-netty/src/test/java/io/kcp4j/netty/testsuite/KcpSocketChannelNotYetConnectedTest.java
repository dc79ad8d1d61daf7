package io.kcp4j.netty.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.SocketChannelNotYetConnectedTest;
import java.util.List;

class KcpSocketChannelNotYetConnectedTest extends SocketChannelNotYetConnectedTest {

  @Override
  protected List<BootstrapFactory<Bootstrap>> newFactories() {
    return Permutations.clients();
  }
}
