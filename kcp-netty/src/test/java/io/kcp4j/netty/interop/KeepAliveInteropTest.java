package io.kcp4j.netty.interop;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** An idle kcp-go answers the challenges of keep-alive probes: protocol.md 7.3. */
class KeepAliveInteropTest {

  @Test
  void idleSessionWithKcpGoStaysAlive() throws Exception {
    SessionSettings settings = SessionSettings.DEFAULT;
    EventLoopGroup group = PeerTransport.NIO.newGroup();
    try (GoPeer server = GoPeer.server("echo-server", settings.goFlags())) {
      Bootstrap bootstrap =
          new Bootstrap()
              .group(group)
              .channel(KcpChannel.class)
              .option(KcpChannelOption.CONFIG, settings.config())
              .option(KcpChannelOption.FEC, settings.fec())
              .option(KcpChannelOption.KEY_RING, settings.keys())
              .option(KcpChannelOption.KEEP_ALIVE_INTERVAL, 1_000)
              .option(KcpChannelOption.KEEP_ALIVE_PROBES, 1)
              .handler(new ChannelInboundHandlerAdapter());
      KcpChannel client = (KcpChannel) bootstrap.connect(server.address()).sync().channel();
      client.writeAndFlush(Unpooled.wrappedBuffer(new byte[100])).sync();

      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> client.stats().get(KcpCounter.PROBES_OUT) >= 2 || !client.isActive());

      assertTrue(client.isActive(), () -> "ended: " + client.endReason());
      assertTrue(client.stats().get(KcpCounter.DATAGRAMS_IN) >= 2);
      client.close().sync();
    } finally {
      group.shutdownGracefully(0, 5, SECONDS).sync();
    }
  }
}
