package io.kcp4j.netty.smux.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketCloseForciblyTest;
import java.util.List;
import org.junit.jupiter.params.Parameter;

@OnEveryConnection
class SmuxSocketCloseForciblyTest extends SocketCloseForciblyTest {

  @Parameter StreamBootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }

  /** Netty's own casts the child to a {@code SocketChannel}, in the pipeline of the server. */
  @Override
  public void testCloseForcibly(ServerBootstrap sb, Bootstrap cb) throws Throwable {
    sb.childHandler(
        new ChannelInboundHandlerAdapter() {
          @Override
          public boolean isSharable() {
            return true;
          }

          @Override
          public void channelActive(ChannelHandlerContext ctx) {
            ctx.channel().unsafe().closeForcibly();
          }
        });
    cb.handler(new ChannelInboundHandlerAdapter());
    Channel sc = sb.bind().sync().channel();
    cb.connect(sc.localAddress()).channel().closeFuture().syncUninterruptibly();
    sc.close().sync();
  }
}
