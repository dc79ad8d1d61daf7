package io.kcp4j.netty.metrics;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.BbrState;
import io.kcp4j.CongestionControl;
import io.kcp4j.KcpStats;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class KcpCongestionMetricsTest {

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  private double gauge(String name) {
    return registry.get("kcp.congestion." + name).tag("endpoint", "clients").gauge().value();
  }

  private double sessions(BbrState state) {
    String name = state.name().toLowerCase(Locale.ROOT);
    return registry.get("kcp.congestion.sessions").tag("state", name).gauge().value();
  }

  /** Does nothing. */
  private static ChannelInitializer<Channel> idle() {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel channel) {}
    };
  }

  private double sessionsInAnyState() {
    return Stream.of(BbrState.values()).mapToDouble(this::sessions).sum();
  }

  @Test
  void gaugesAreThoseOfTheSessionsThatAreOpen() throws Exception {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    try {
      Channel server =
          new ServerBootstrap()
              .group(group)
              .channel(KcpServerChannel.class)
              .childHandler(idle())
              .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
              .sync()
              .channel();
      Bootstrap bootstrap = new Bootstrap().group(group).channel(KcpChannel.class).handler(idle());
      KcpCongestionMetrics metrics = new KcpCongestionMetrics(Tags.of("endpoint", "clients"));
      metrics.bindTo(registry);
      assertEquals(0, gauge("pacing.rate"));

      bootstrap.option(KcpChannelOption.CONGESTION_CONTROL, CongestionControl.NONE);
      KcpChannel none = (KcpChannel) bootstrap.connect(server.localAddress()).sync().channel();
      bootstrap.option(KcpChannelOption.CONGESTION_CONTROL, CongestionControl.BBR);
      KcpChannel bbr = (KcpChannel) bootstrap.connect(server.localAddress()).sync().channel();
      metrics.add(none);
      metrics.add(bbr);
      assertEquals(1, sessionsInAnyState());
      assertEquals(1, sessions(BbrState.STARTUP));
      none.writeAndFlush(Unpooled.wrappedBuffer(new byte[100_000]));
      bbr.writeAndFlush(Unpooled.wrappedBuffer(new byte[100_000]));
      await().until(() -> gauge("bandwidth") > 0 && gauge("application.limited") == 1);
      // After the last acknowledgement nothing changes any more.
      await().until(() -> bbr.stats().queued() == 0 && bbr.stats().inFlight() == 0);
      bbr.eventLoop().submit(() -> {}).sync();
      KcpStats.Congestion stats = bbr.stats().congestion();
      assertEquals((double) stats.bandwidthBytesPerSecond(), gauge("bandwidth"));
      assertEquals((double) stats.pacingBytesPerSecond(), gauge("pacing.rate"));
      double queue = registry.get("kcp.congestion.queue").timeGauge().value(TimeUnit.MICROSECONDS);
      assertEquals(stats.queueUs(), queue, 1e-3);
      assertEquals(KcpStats.Congestion.NONE, none.stats().congestion());

      bbr.close().sync();
      await().until(() -> sessionsInAnyState() == 0 && gauge("bandwidth") == 0);
    } finally {
      group.shutdownGracefully(10, 2000, TimeUnit.MILLISECONDS).sync();
    }
  }
}
