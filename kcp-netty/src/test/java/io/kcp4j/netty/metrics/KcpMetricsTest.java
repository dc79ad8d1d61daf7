package io.kcp4j.netty.metrics;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.lang.ref.WeakReference;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class KcpMetricsTest {

  @Test
  void countersAndGaugesAreThoseOfTheEndpoint() throws Exception {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    BlockingQueue<KcpChannel> children = new LinkedBlockingQueue<>();
    try {
      KcpServerChannel server =
          (KcpServerChannel)
              new ServerBootstrap()
                  .group(group)
                  .channel(KcpServerChannel.class)
                  .childHandler(
                      new ChannelInitializer<KcpChannel>() {
                        @Override
                        protected void initChannel(KcpChannel child) {
                          children.add(child);
                        }
                      })
                  .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                  .sync()
                  .channel();
      KcpChannel client =
          (KcpChannel)
              new Bootstrap()
                  .group(group)
                  .channel(KcpChannel.class)
                  .option(KcpChannelOption.CONFIG, KcpConfig.builder().extension(false).build())
                  .handler(new ChannelInboundHandlerAdapter())
                  .connect(server.localAddress())
                  .sync()
                  .channel();
      SimpleMeterRegistry registry = new SimpleMeterRegistry();
      new KcpMetrics(server, Tags.of("endpoint", "server")).bindTo(registry);
      new KcpMetrics(client, Tags.of("endpoint", "client")).bindTo(registry);

      client.writeAndFlush(Unpooled.wrappedBuffer(new byte[1000]));
      KcpChannel child = children.take();
      await().until(() -> counter(registry, "kcp.payload.in", "server").count() == 1000);

      assertEquals(1000, counter(registry, "kcp.payload.out", "client").count());
      assertEquals("bytes", counter(registry, "kcp.payload.in", "server").getId().getBaseUnit());
      for (String endpoint : new String[] {"server", "client"}) {
        assertEquals(1, registry.get("kcp.sessions").tag("endpoint", endpoint).gauge().value());
        assertTrue(registry.get("kcp.memory.used").tag("endpoint", endpoint).gauge().value() >= 0);
        for (KcpCounter counter : KcpCounter.values()) {
          assertEquals(
              counter.unit(),
              counter(registry, "kcp." + counter.metricName(), endpoint).getId().getBaseUnit());
        }
      }
      assertThrows(IllegalArgumentException.class, () -> new KcpMetrics(child, Tags.empty()));

      server.close().sync();
      client.writeAndFlush(Unpooled.wrappedBuffer(new byte[1000]));
      await().until(() -> counter(registry, "kcp.payload.in", "server").count() == 2000);
      assertEquals(1, registry.get("kcp.sessions").tag("endpoint", "server").gauge().value());
      assertFalse(server.terminationFuture().isDone());

      child.close().sync();
      server.terminationFuture().sync();
      assertEquals(0, registry.find("kcp.sessions").tag("endpoint", "server").gauges().size());
      assertEquals(1, registry.find("kcp.sessions").tag("endpoint", "client").gauges().size());
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  @Test
  void endpointsOfEqualTagsAreAddedUpAlsoAfterTheyHaveClosed() throws Exception {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    try (DatagramSocket unresponsive = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
      Bootstrap bootstrap =
          new Bootstrap()
              .group(group)
              .channel(KcpChannel.class)
              .option(KcpChannelOption.LINGER, 0)
              .handler(
                  new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel client) {}
                  });
      KcpChannel first =
          (KcpChannel) bootstrap.connect(unresponsive.getLocalSocketAddress()).sync().channel();
      KcpChannel second =
          (KcpChannel) bootstrap.connect(unresponsive.getLocalSocketAddress()).sync().channel();
      SimpleMeterRegistry registry = new SimpleMeterRegistry();
      SimpleMeterRegistry other = new SimpleMeterRegistry();
      for (KcpChannel client : new KcpChannel[] {first, second, second}) {
        new KcpMetrics(client, Tags.of("endpoint", "both")).bindTo(registry);
      }
      new KcpMetrics(second, Tags.of("endpoint", "both")).bindTo(other);

      first.writeAndFlush(Unpooled.wrappedBuffer(new byte[1000])).sync();
      second.writeAndFlush(Unpooled.wrappedBuffer(new byte[200])).sync();
      assertEquals(1200, counter(registry, "kcp.payload.out", "both").count());
      assertEquals(200, counter(other, "kcp.payload.out", "both").count());
      assertEquals(2, registry.get("kcp.sessions").gauge().value());

      first.close().sync();
      second.writeAndFlush(Unpooled.wrappedBuffer(new byte[30])).sync();
      assertEquals(1230, counter(registry, "kcp.payload.out", "both").count());
      assertEquals(1, registry.get("kcp.sessions").gauge().value());

      second.close().sync();
      await().until(() -> registry.getMeters().isEmpty() && other.getMeters().isEmpty());
    } finally {
      group.shutdownGracefully(10, 2000, TimeUnit.MILLISECONDS).sync();
    }
  }

  @Test
  void terminationOfAServerThatWasNeverBoundIsItsClosing() throws Exception {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    try {
      KcpServerChannel server = new KcpServerChannel();
      group.register(server).sync();
      assertFalse(server.terminationFuture().isDone());
      server.close().sync();
      server.terminationFuture().sync();

      KcpServerChannel unregistered = new KcpServerChannel();
      unregistered.unsafe().closeForcibly();
      assertTrue(unregistered.terminationFuture().isDone());
    } finally {
      group.shutdownGracefully(10, 2000, TimeUnit.MILLISECONDS).sync();
    }
  }

  @Test
  void registryReferencesTheChannelWeakly() {
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    WeakReference<KcpChannel> client = new WeakReference<>(published(registry));

    await()
        .until(
            () -> {
              System.gc();
              return client.get() == null;
            });
    assertFalse(registry.getMeters().isEmpty());
  }

  private static KcpChannel published(SimpleMeterRegistry registry) {
    KcpChannel client = new KcpChannel();
    new KcpMetrics(client, Tags.empty()).bindTo(registry);
    return client;
  }

  private static FunctionCounter counter(
      SimpleMeterRegistry registry, String name, String endpoint) {
    return registry.get(name).tag("endpoint", endpoint).functionCounter();
  }
}
