package io.kcp4j.examples;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpServerChannelOption;
import io.netty.bootstrap.AbstractBootstrap;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;

/**
 * What a session is set to, as bootstraps that carry it.
 *
 * @param config the ARQ's settings
 * @param keys what packets are sealed with
 * @param fec the forward error correction of both sides
 * @param conv a client's conversation id, 0 for a random one
 * @param socketBufferBytes the UDP socket's buffers, in bytes, 0 for the endpoint's default
 * @param idleTimeoutS when a session ends in which nothing moves, in seconds; 0 never
 */
record SessionSettings(
    KcpConfig config,
    KeyRing keys,
    FecConfig fec,
    int conv,
    int socketBufferBytes,
    int idleTimeoutS) {

  /** How long a client waits for the first sign of its server. */
  private static final int CONNECT_TIMEOUT_MS = 3000;

  /** As much as a few system calls carry, so that the session never waits for its writer. */
  private static final WriteBufferWaterMark WATER_MARK =
      new WriteBufferWaterMark(256 * 1024, 512 * 1024);

  /** These settings with another ARQ configuration and other FEC. */
  SessionSettings with(KcpConfig otherConfig, FecConfig otherFec) {
    return new SessionSettings(otherConfig, keys, otherFec, conv, socketBufferBytes, idleTimeoutS);
  }

  /** How many bytes to write at once: a message that any peer takes, or a good part of a stream. */
  int chunkBytes() {
    return config.delivery() == Delivery.MESSAGE ? 16 * config.mssBytes() : 64 * 1024;
  }

  /** A server of sessions with these settings. */
  ServerBootstrap server(EventLoopGroup group) {
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(group)
            .channel(KcpServerChannel.class)
            .option(KcpServerChannelOption.KEY_RING, keys)
            .childOption(KcpChannelOption.CONFIG, config)
            .childOption(KcpChannelOption.FEC, fec)
            .childOption(KcpChannelOption.IDLE_TIMEOUT, idleTimeoutS * 1000)
            .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK);
    setSocketBuffers(bootstrap);
    return bootstrap;
  }

  /** A client with these settings, which is connected when the server has answered. */
  Bootstrap client(EventLoopGroup group) {
    Bootstrap bootstrap =
        new Bootstrap()
            .group(group)
            .channel(KcpChannel.class)
            .option(KcpChannelOption.KEY_RING, keys)
            .option(KcpChannelOption.CONFIG, config)
            .option(KcpChannelOption.FEC, fec)
            .option(KcpChannelOption.CONV, conv)
            .option(KcpChannelOption.IDLE_TIMEOUT, idleTimeoutS * 1000)
            .option(KcpChannelOption.CONNECT_PROBE, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MS)
            .option(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK);
    setSocketBuffers(bootstrap);
    return bootstrap;
  }

  private void setSocketBuffers(AbstractBootstrap<?, ?> bootstrap) {
    if (socketBufferBytes != 0) {
      bootstrap.option(ChannelOption.SO_RCVBUF, socketBufferBytes);
      bootstrap.option(ChannelOption.SO_SNDBUF, socketBufferBytes);
    }
  }
}
