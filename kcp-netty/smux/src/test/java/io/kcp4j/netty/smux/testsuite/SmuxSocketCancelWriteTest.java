package io.kcp4j.netty.smux.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketCancelWriteTest;
import java.util.List;
import org.junit.jupiter.params.Parameter;

@OnEveryConnection
class SmuxSocketCancelWriteTest extends SocketCancelWriteTest {

  @Parameter StreamBootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }
}
