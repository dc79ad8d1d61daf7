package io.kcp4j.netty.testsuite;

import io.kcp4j.netty.KcpChannelOption;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.CompositeBufferGatheringWriteTest;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.Parameter;

@Tag("slow")
@OnEveryTransport
class KcpCompositeBufferGatheringWriteTest extends CompositeBufferGatheringWriteTest {

  @Parameter Bootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }

  /**
   * The test waits until the client has seen that the server closed. The idle timeout ends the
   * client's session.
   */
  @Override
  protected void configure(ServerBootstrap sb, Bootstrap cb, ByteBufAllocator allocator) {
    super.configure(sb, cb, allocator);
    cb.option(KcpChannelOption.IDLE_TIMEOUT, 500);
  }
}
