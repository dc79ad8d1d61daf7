package io.kcp4j.netty.smux.testsuite;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.channel.socket.DuplexChannel;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketHalfClosedTest;
import io.netty.util.ReferenceCountUtil;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.params.Parameter;

@Tag("slow")
@OnEveryConnection
class SmuxSocketHalfClosedTest extends SocketHalfClosedTest {

  @Parameter StreamBootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }

  /**
   * Not a test here: smux has no reset, so nothing tells a writer that its peer has closed before
   * {@code closeTimeoutMs}.
   */
  @Override
  public void testAutoCloseFalseDoesShutdownOutput(TestInfo testInfo) {}

  /**
   * Not a test here, as it is not for Netty's NIO sockets: with {@code autoRead} off, the end of
   * the input waits for a read.
   */
  @Override
  public void testAllDataReadEventTriggeredAfterHalfClosure(TestInfo testInfo) {}

  /** Netty's own casts the child to a {@code SocketChannel}. */
  @Override
  @Test
  public void testHalfClosureReceiveDataOnFinalWait2StateWhenSoLingerSet(TestInfo testInfo)
      throws Throwable {
    run(testInfo, SmuxSocketHalfClosedTest::answerAfterHalfClosure);
  }

  private static void answerAfterHalfClosure(ServerBootstrap sb, Bootstrap cb) throws Exception {
    CountDownLatch received = new CountDownLatch(1);
    sb.childHandler(
        new ChannelInboundHandlerAdapter() {
          @Override
          public void channelActive(ChannelHandlerContext ctx) {
            ((DuplexChannel) ctx.channel()).shutdownOutput();
          }

          @Override
          public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ReferenceCountUtil.release(msg);
            received.countDown();
          }
        });
    cb.option(ChannelOption.ALLOW_HALF_CLOSURE, true);
    cb.handler(
        new ChannelInboundHandlerAdapter() {
          @Override
          public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event == ChannelInputShutdownEvent.INSTANCE) {
              ctx.writeAndFlush(ctx.alloc().buffer().writeZero(16));
            } else if (event == ChannelInputShutdownReadComplete.INSTANCE) {
              ctx.close();
            }
          }
        });
    Channel server = sb.bind().sync().channel();
    Channel client = cb.connect(server.localAddress()).sync().channel();
    assertTrue(received.await(20, TimeUnit.SECONDS));
    client.close().sync();
    server.close().sync();
  }
}
