package io.kcp4j.netty.testsuite;

import io.kcp4j.netty.KcpChannelOption;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketDataReadInitialStateTest;
import java.util.List;
import org.junit.jupiter.params.Parameter;

@OnEveryTransport
class KcpSocketDataReadInitialStateTest extends SocketDataReadInitialStateTest {

  @Parameter Bootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }

  /**
   * The test connects to a server that does not accept yet. TCP's backlog answers for it; here
   * nothing does, so the client connects without a probe.
   */
  @Override
  protected void configure(ServerBootstrap sb, Bootstrap cb, ByteBufAllocator allocator) {
    super.configure(sb, cb, allocator);
    cb.option(KcpChannelOption.CONNECT_PROBE, false);
  }
}
