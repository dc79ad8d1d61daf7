package io.kcp4j.netty.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.SocketShutdownOutputBySelfTest;
import java.util.List;

class KcpSocketShutdownOutputBySelfTest extends SocketShutdownOutputBySelfTest {

  @Override
  protected List<BootstrapFactory<Bootstrap>> newFactories() {
    return Permutations.clients();
  }
}
