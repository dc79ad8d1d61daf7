package io.kcp4j.netty.smux.testsuite;

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
@OnEveryConnection
class SmuxSocketConditionalWritabilityTest extends SocketConditionalWritabilityTest {

  @Parameter StreamBootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }

  /** Moves 300 MB, for which a KCP connection needs more than Netty's 30 s. */
  @Override
  @Test
  @Timeout(300)
  public void testConditionalWritability(TestInfo testInfo) throws Throwable {
    super.testConditionalWritability(testInfo);
  }
}
