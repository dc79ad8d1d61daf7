package io.kcp4j.netty.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketStartTlsTest;
import java.util.List;
import org.junit.jupiter.params.Parameter;

@OnEveryTransport
class KcpSocketStartTlsTest extends SocketStartTlsTest {

  @Parameter Bootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }

  /**
   * The test waits until the server has seen that the client closed: here it closes on TLS's {@code
   * close_notify}.
   */
  @Override
  protected void configure(ServerBootstrap sb, Bootstrap cb, ByteBufAllocator allocator) {
    super.configure(sb, cb, allocator);
    sb.handler(
        new ChannelInboundHandlerAdapter() {
          @Override
          public void channelRead(ChannelHandlerContext ctx, Object child) {
            ctx.fireChannelRead(child); // Registers it, and adds the test's own handlers.
            ((Channel) child).pipeline().addLast(new CloseOnCloseNotify());
          }
        });
  }

  private static final class CloseOnCloseNotify extends ChannelInboundHandlerAdapter {

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
      if (event instanceof SslCloseCompletionEvent) {
        ctx.close();
      }
    }
  }
}
