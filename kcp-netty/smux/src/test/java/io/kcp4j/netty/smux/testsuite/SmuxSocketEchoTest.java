package io.kcp4j.netty.smux.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketEchoTest;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.Parameter;

@Tag("slow")
@OnEveryConnection
class SmuxSocketEchoTest extends SocketEchoTest {

  @Parameter StreamBootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.relayedPairs();
  }
}
