package io.kcp4j.netty.smux.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketDataReadInitialStateTest;
import java.util.List;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** A server of KCP that does not accept has no backlog to connect to. */
@ParameterizedClass(name = "{0}")
@EnumSource(names = {"TCP_VERSION_1", "TCP_VERSION_2", "TLS_VERSION_2"})
class SmuxSocketDataReadInitialStateTest extends SocketDataReadInitialStateTest {

  @Parameter StreamBootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }
}
