package io.kcp4j.netty.metrics;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kcp4j.Delivery;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.LaneMessage;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class KcpLaneMetricsTest {

  private final EventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final BlockingQueue<KcpChannel> children = new LinkedBlockingQueue<>();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  @AfterEach
  void stop() {
    group.shutdownGracefully(10, 5000, TimeUnit.MILLISECONDS).syncUninterruptibly();
  }

  private KcpChannel connect(Delivery delivery) {
    Channel server =
        new ServerBootstrap()
            .group(group)
            .channel(KcpServerChannel.class)
            .childOption(KcpChannelOption.DELIVERY, delivery)
            .childOption(ChannelOption.AUTO_READ, false)
            .childHandler(
                new ChannelInitializer<KcpChannel>() {
                  @Override
                  protected void initChannel(KcpChannel child) {
                    children.add(child);
                  }
                })
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .syncUninterruptibly()
            .channel();
    return (KcpChannel)
        new Bootstrap()
            .group(group)
            .channel(KcpChannel.class)
            .option(KcpChannelOption.DELIVERY, delivery)
            .handler(new ChannelInboundHandlerAdapter())
            .connect(server.localAddress())
            .syncUninterruptibly()
            .channel();
  }

  private void bind(KcpChannel channel, String side, int... lanes) {
    channel
        .eventLoop()
        .submit(() -> new KcpLaneMetrics(channel, Tags.of("side", side), lanes).bindTo(registry))
        .syncUninterruptibly();
  }

  private double counter(String side, String name, String lane) {
    return registry
        .get("kcp.lane." + name)
        .tags("side", side, "lane", lane)
        .functionCounter()
        .count();
  }

  private double gauge(String side, String name, String lane) {
    return registry.get("kcp.lane." + name).tags("side", side, "lane", lane).gauge().value();
  }

  @Test
  void metersAreThoseOfTheLaneUntilTheSessionCloses() throws Exception {
    KcpChannel client = connect(Delivery.LANES);
    KcpChannel child = children.poll(10, TimeUnit.SECONDS);
    assertNotNull(child);
    bind(client, "client", 3, 4);
    bind(child, "server", 3);
    for (int i = 0; i < 5; i++) {
      client.writeAndFlush(new LaneMessage(3, Unpooled.wrappedBuffer(new byte[100])));
    }
    await().until(() -> gauge("server", "unread", "3") == 5);
    assertEquals(5, counter("client", "messages.out", "3"));
    assertEquals(5, counter("server", "messages.in", "3"));
    assertEquals(5 * 164, gauge("client", "outstanding", "3"));
    assertEquals(0, gauge("client", "queued", "3"));
    assertEquals(0, counter("client", "messages.out", "4"));
    client.close().syncUninterruptibly();
    child.close().syncUninterruptibly();
    await().until(() -> registry.getMeters().isEmpty());
  }

  @Test
  void sessionsWithoutLanesHaveNoSuchMeters() {
    KcpChannel client = connect(Delivery.STREAM);
    assertThrows(IllegalArgumentException.class, () -> new KcpLaneMetrics(client, Tags.empty(), 0));
  }
}
