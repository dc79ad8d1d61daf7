package io.kcp4j.netty.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.WriteBeforeRegisteredTest;
import java.util.List;

class KcpWriteBeforeRegisteredTest extends WriteBeforeRegisteredTest {

  @Override
  protected List<BootstrapFactory<Bootstrap>> newFactories() {
    return Permutations.clients();
  }
}
