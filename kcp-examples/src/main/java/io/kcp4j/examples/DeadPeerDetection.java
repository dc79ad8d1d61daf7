package io.kcp4j.examples;

import static java.util.concurrent.TimeUnit.SECONDS;

import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.kcp4j.netty.KcpChannelOption;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;

/**
 * The recipes of the guide for noticing within 5 s that a peer is gone: its process was killed, its
 * host has lost power, or the link is down.
 */
final class DeadPeerDetection {

  private static final int INTERVAL_MS = 1000;
  private static final int PROBES = 3;

  private DeadPeerDetection() {}

  /** A client of a game, or of RPC with a protocol of its own. */
  static void apply(Bootstrap client) {
    client.option(KcpChannelOption.KEEP_ALIVE_INTERVAL, INTERVAL_MS);
    client.option(KcpChannelOption.KEEP_ALIVE_PROBES, PROBES);
  }

  /** A server of a game, or of RPC with a protocol of its own. */
  static void apply(ServerBootstrap server) {
    server.childOption(KcpChannelOption.KEEP_ALIVE_INTERVAL, INTERVAL_MS);
    server.childOption(KcpChannelOption.KEEP_ALIVE_PROBES, PROBES);
  }

  /** A client of gRPC. */
  static NettyChannelBuilder apply(NettyChannelBuilder client) {
    return client
        .withOption(KcpChannelOption.KEEP_ALIVE_INTERVAL, INTERVAL_MS)
        .withOption(KcpChannelOption.KEEP_ALIVE_PROBES, PROBES);
  }

  /** A server of gRPC: its pings keep idle sessions busy, so that single losses end none. */
  static NettyServerBuilder apply(NettyServerBuilder server) {
    return server
        .withChildOption(KcpChannelOption.KEEP_ALIVE_INTERVAL, INTERVAL_MS)
        .withChildOption(KcpChannelOption.KEEP_ALIVE_PROBES, PROBES)
        .keepAliveTime(1, SECONDS)
        .keepAliveTimeout(3, SECONDS);
  }
}
