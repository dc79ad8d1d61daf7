package io.kcp4j.examples;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;

/**
 * What a session is set to, as bootstraps that carry it.
 *
 * @param config the ARQ's settings
 * @param conv a client's conversation id, null for a random one
 * @param socketBufferBytes the UDP socket's buffers, null for the endpoint's default
 * @param idleTimeoutS when a session ends in which nothing moves, in seconds; 0 never
 */
record SessionSettings(
    KcpConfig config, Integer conv, Integer socketBufferBytes, int idleTimeoutS) {

  /** How long a client waits for the first sign of its server. */
  static final int CONNECT_TIMEOUT_MS = 5000;

  /** As much as a few system calls carry, so that the session never waits for its writer. */
  private static final WriteBufferWaterMark WATER_MARK =
      new WriteBufferWaterMark(256 * 1024, 512 * 1024);

  /** Takes an option of either kind of bootstrap. */
  @FunctionalInterface
  private interface Options {
    <T> void set(ChannelOption<T> option, T value);
  }

  /** These settings with another ARQ configuration. */
  SessionSettings with(KcpConfig other) {
    return new SessionSettings(other, conv, socketBufferBytes, idleTimeoutS);
  }

  /** How many bytes to write at once: a message that any peer takes, or a good part of a stream. */
  int chunkBytes() {
    return config.delivery() == Delivery.MESSAGE ? 16 * config.mssBytes() : 64 * 1024;
  }

  ServerBootstrap server(EventLoopGroup group) {
    ServerBootstrap bootstrap = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
    applyTo(bootstrap::childOption);
    if (socketBufferBytes != null) {
      bootstrap.option(ChannelOption.SO_RCVBUF, socketBufferBytes);
      bootstrap.option(ChannelOption.SO_SNDBUF, socketBufferBytes);
    }
    return bootstrap;
  }

  Bootstrap client(EventLoopGroup group) {
    Bootstrap bootstrap =
        new Bootstrap()
            .group(group)
            .channel(KcpChannel.class)
            .option(KcpChannelOption.CONNECT_PROBE, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MS);
    applyTo(bootstrap::option);
    if (conv != null) {
      bootstrap.option(KcpChannelOption.CONV, conv);
    }
    if (socketBufferBytes != null) {
      bootstrap.option(ChannelOption.SO_RCVBUF, socketBufferBytes);
      bootstrap.option(ChannelOption.SO_SNDBUF, socketBufferBytes);
    }
    return bootstrap;
  }

  private void applyTo(Options options) {
    options.set(KcpChannelOption.DELIVERY, config.delivery());
    options.set(KcpChannelOption.MTU, config.mtuBytes());
    options.set(KcpChannelOption.SEND_WINDOW, config.sendWindow());
    options.set(KcpChannelOption.RECEIVE_WINDOW, config.receiveWindow());
    options.set(KcpChannelOption.NODELAY, config.noDelay());
    options.set(KcpChannelOption.INTERVAL, config.intervalMs());
    options.set(KcpChannelOption.FAST_RESEND, config.fastResend());
    options.set(KcpChannelOption.EARLY_RETRANSMIT, config.earlyRetransmit());
    options.set(KcpChannelOption.CONGESTION_CONTROL, config.congestionControl());
    options.set(KcpChannelOption.ACK_NO_DELAY, config.ackNoDelay());
    options.set(KcpChannelOption.IDLE_TIMEOUT, idleTimeoutS * 1000);
    options.set(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK);
  }
}
