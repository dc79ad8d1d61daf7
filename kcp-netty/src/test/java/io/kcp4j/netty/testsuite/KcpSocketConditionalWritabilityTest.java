package io.kcp4j.netty.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketConditionalWritabilityTest;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

@Tag("slow")
@OnEveryTransport
class KcpSocketConditionalWritabilityTest extends SocketConditionalWritabilityTest {

  @Parameter Bootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }

  /**
   * Moves 300 MB. Netty's 30 s are meant for a socket that takes them in pieces of 16 KiB; here
   * they are 200,000 datagrams, and leak detection follows every one.
   */
  @Override
  @Test
  @Timeout(300)
  public void testConditionalWritability(TestInfo testInfo) throws Throwable {
    super.testConditionalWritability(testInfo);
  }
}
