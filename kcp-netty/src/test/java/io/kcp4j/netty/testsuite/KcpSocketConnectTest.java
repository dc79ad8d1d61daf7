package io.kcp4j.netty.testsuite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketConnectTest;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.params.Parameter;

@OnEveryTransport
class KcpSocketConnectTest extends SocketConnectTest {

  @Parameter Bootstraps bootstraps;

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.pairs();
  }

  /**
   * Netty's own casts the channel to a {@code SocketChannel}, and asks for TCP's Fast Open. What
   * remains is that bytes may be written before {@code connect}.
   */
  @Override
  protected void testWriteWithFastOpenBeforeConnect(
      ServerBootstrap sb, Bootstrap cb, Function<Channel, ByteBuf> first, String expected)
      throws Throwable {
    CompletableFuture<String> received = new CompletableFuture<>();
    Channel server =
        sb.childHandler(new Collector(expected.length(), received)).bind().sync().channel();
    Channel client = cb.handler(new ChannelInboundHandlerAdapter()).register().sync().channel();
    ChannelFuture written = client.write(first.apply(client));
    client.connect(server.localAddress()).sync();
    client.flush();
    written.sync();
    assertEquals(expected, received.get(30, TimeUnit.SECONDS));
    client.close().sync();
    server.close().sync();
  }

  private static final class Collector extends SimpleChannelInboundHandler<ByteBuf> {

    private final StringBuilder text = new StringBuilder();
    private final int length;
    private final CompletableFuture<String> done;

    Collector(int length, CompletableFuture<String> done) {
      this.length = length;
      this.done = done;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf bytes) {
      text.append(bytes.toString(StandardCharsets.US_ASCII));
      if (text.length() >= length) {
        done.complete(text.toString());
      }
    }
  }
}
