package io.kcp4j.netty.interop;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpSessionClosedException;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import org.junit.jupiter.api.Test;

/** A peer that is kcp-go has no lanes. */
class LanesInteropTest {

  @Test
  void connectWithLanesFailsWithKcpGo() throws Exception {
    SessionSettings settings =
        SessionSettings.DEFAULT.with(CipherAlgorithm.NULL).with(FecConfig.NONE, FecConfig.NONE);
    EventLoopGroup group = PeerTransport.NIO.newGroup();
    try (GoPeer server = GoPeer.server("echo-server", settings.goFlags())) {
      ChannelFuture connected =
          new Bootstrap()
              .group(group)
              .channel(KcpChannel.class)
              .option(KcpChannelOption.DELIVERY, Delivery.LANES)
              .handler(new ChannelInboundHandlerAdapter())
              .connect(server.address())
              .awaitUninterruptibly();
      KcpSessionClosedException cause =
          assertInstanceOf(KcpSessionClosedException.class, connected.cause());
      assertEquals(EndReason.LANES_UNSUPPORTED, cause.reason());
    } finally {
      group.shutdownGracefully(0, 5, SECONDS).syncUninterruptibly();
    }
  }
}
