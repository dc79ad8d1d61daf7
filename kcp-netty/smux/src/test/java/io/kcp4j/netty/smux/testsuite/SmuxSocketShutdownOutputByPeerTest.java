package io.kcp4j.netty.smux.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.DuplexChannel;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.AbstractSocketShutdownOutputByPeerTest;
import java.net.SocketAddress;
import java.util.List;
import org.junit.jupiter.params.Parameter;

@OnEveryConnection
class SmuxSocketShutdownOutputByPeerTest
    extends AbstractSocketShutdownOutputByPeerTest<SmuxSocketShutdownOutputByPeerTest.Peer> {

  @Parameter StreamBootstraps bootstraps;

  private BootstrapComboFactory<ServerBootstrap, Bootstrap> pair;

  /** A stream that is opened by the address of a server. */
  static final class Peer {
    DuplexChannel stream;
  }

  @Override
  protected List<BootstrapFactory<ServerBootstrap>> newFactories() {
    pair = bootstraps.pairs().get(0);
    return List.of(pair::newServerInstance);
  }

  @Override
  protected Peer newSocket() {
    return new Peer();
  }

  @Override
  protected void connect(Peer peer, SocketAddress address) {
    Bootstrap client =
        pair.newClientInstance()
            .option(ChannelOption.ALLOW_HALF_CLOSURE, true)
            .handler(new ChannelInboundHandlerAdapter());
    peer.stream = (DuplexChannel) client.connect(address).channel();
  }

  @Override
  protected void write(Peer peer, int data) {
    byte[] bytes = {(byte) data};
    peer.stream.writeAndFlush(Unpooled.wrappedBuffer(bytes)).syncUninterruptibly();
  }

  @Override
  protected void shutdownOutput(Peer peer) {
    peer.stream.shutdownOutput().syncUninterruptibly();
  }

  @Override
  protected void close(Peer peer) {
    Channel stream = peer.stream;
    if (stream != null) {
      stream.close().syncUninterruptibly();
    }
  }
}
