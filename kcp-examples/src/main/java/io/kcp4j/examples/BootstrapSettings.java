package io.kcp4j.examples;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpTracerFactory;
import io.kcp4j.trace.QlogTracer.VantagePoint;
import io.netty.bootstrap.AbstractBootstrap;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import java.nio.file.Path;

/**
 * The settings of sessions, applied to bootstraps.
 *
 * @param config the settings of the ARQ
 * @param keys the keys of both sides
 * @param fec the forward error correction of both sides
 * @param conv the conversation id of a client, 0 for a random one
 * @param socketBufferBytes each buffer of the UDP socket, in bytes, 0 for the endpoint's default
 * @param idleTimeoutS how long a session without payload stays open, in seconds; 0 means forever
 * @param qlogDirectory where a trace of each session is written, or null for none
 * @param lanes the settings of lanes, for sessions that have some
 */
record BootstrapSettings(
    KcpConfig config,
    KeyRing keys,
    FecConfig fec,
    int conv,
    int socketBufferBytes,
    int idleTimeoutS,
    Path qlogDirectory,
    LanesConfig lanes) {

  /** How long a client waits for the first datagram of its server, in milliseconds. */
  private static final int CONNECT_TIMEOUT_MS = 3000;

  /** The data of a few system calls: the session never runs out of data to send. */
  private static final WriteBufferWaterMark WATER_MARK =
      new WriteBufferWaterMark(256 * 1024, 512 * 1024);

  /** These settings with another ARQ configuration and other FEC. */
  BootstrapSettings with(KcpConfig otherConfig, FecConfig otherFec) {
    return new BootstrapSettings(
        otherConfig, keys, otherFec, conv, socketBufferBytes, idleTimeoutS, qlogDirectory, lanes);
  }

  /** These settings with others of lanes. */
  BootstrapSettings with(LanesConfig otherLanes) {
    return new BootstrapSettings(
        config, keys, fec, conv, socketBufferBytes, idleTimeoutS, qlogDirectory, otherLanes);
  }

  /** The size of each write, in bytes: a message that every peer accepts, or a part of a stream. */
  int chunkBytes() {
    return config.delivery() == Delivery.MESSAGE ? 16 * config.mssBytes() : 64 * 1024;
  }

  /** A bootstrap of servers with these settings. */
  ServerBootstrap server(EventLoopGroup group) {
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(group)
            .channel(KcpServerChannel.class)
            .option(KcpChannelOption.KEY_RING, keys)
            .childOption(KcpChannelOption.CONFIG, config)
            .childOption(KcpChannelOption.FEC, fec)
            .childOption(KcpChannelOption.LANES, lanesOfDelivery())
            .childOption(KcpChannelOption.IDLE_TIMEOUT, idleTimeoutS * 1000)
            .childOption(KcpChannelOption.TRACER, tracer(VantagePoint.SERVER))
            .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK);
    setSocketBuffers(bootstrap);
    return bootstrap;
  }

  /** A bootstrap of clients with these settings, which connect when the server has answered. */
  Bootstrap client(EventLoopGroup group) {
    Bootstrap bootstrap =
        new Bootstrap()
            .group(group)
            .channel(KcpChannel.class)
            .option(KcpChannelOption.KEY_RING, keys)
            .option(KcpChannelOption.CONFIG, config)
            .option(KcpChannelOption.FEC, fec)
            .option(KcpChannelOption.LANES, lanesOfDelivery())
            .option(KcpChannelOption.CONV, conv)
            .option(KcpChannelOption.IDLE_TIMEOUT, idleTimeoutS * 1000)
            .option(KcpChannelOption.CONNECT_PROBE, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MS)
            .option(KcpChannelOption.TRACER, tracer(VantagePoint.CLIENT))
            .option(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK);
    setSocketBuffers(bootstrap);
    return bootstrap;
  }

  private LanesConfig lanesOfDelivery() {
    return config.delivery() == Delivery.LANES ? lanes : LanesConfig.DEFAULT;
  }

  private KcpTracerFactory tracer(VantagePoint vantagePoint) {
    return qlogDirectory == null
        ? KcpTracerFactory.NONE
        : new QlogDirectory(qlogDirectory, vantagePoint);
  }

  private void setSocketBuffers(AbstractBootstrap<?, ?> bootstrap) {
    if (socketBufferBytes != 0) {
      bootstrap.option(ChannelOption.SO_RCVBUF, socketBufferBytes);
      bootstrap.option(ChannelOption.SO_SNDBUF, socketBufferBytes);
    }
  }
}
