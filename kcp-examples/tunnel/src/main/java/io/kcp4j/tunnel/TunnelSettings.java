package io.kcp4j.tunnel;

import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.tunnel.snappy.SnappyDecoder;
import io.kcp4j.tunnel.snappy.SnappyEncoder;
import io.netty.bootstrap.AbstractBootstrap;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;

/**
 * The settings of an end of the tunnel.
 *
 * @param crypt what kcptun calls the packet cipher
 * @param keys the keys of both ends
 * @param kcp the settings of the ARQ
 * @param fec the forward error correction of what is sent
 * @param smux the settings of smux
 * @param isCompressed whether Snappy compresses the frames of smux
 * @param dscp the DSCP of IP headers
 * @param socketBufferBytes each buffer of a UDP socket, in bytes
 * @param closeWaitS how long half of a connection may stay without data, in seconds; 0 means
 *     without limit
 */
record TunnelSettings(
    String crypt,
    KeyRing keys,
    KcpConfig kcp,
    FecConfig fec,
    SmuxConfig smux,
    boolean isCompressed,
    int dscp,
    int socketBufferBytes,
    int closeWaitS) {

  /**
   * Of a session's channel: enough for the send queue while a round of frames is made. More would
   * wait below the scheduler of smux.
   */
  private static final WriteBufferWaterMark SESSION_WATER_MARK =
      new WriteBufferWaterMark(64 * 1024, 128 * 1024);

  /** For what a slow link has not carried when the last connection ends, in milliseconds. */
  static final int LINGER_MS = 10_000;

  private static final int ECN_BITS = 2;

  /** A bootstrap of servers, without handlers. */
  ServerBootstrap server(EventLoopGroup group) {
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(group)
            .channel(KcpServerChannel.class)
            .option(KcpChannelOption.KEY_RING, keys)
            .childOption(KcpChannelOption.CONFIG, kcp)
            .childOption(KcpChannelOption.FEC, fec)
            .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, SESSION_WATER_MARK);
    setSocketOptions(bootstrap);
    return bootstrap;
  }

  /** A bootstrap of clients, without a handler. */
  Bootstrap client(EventLoopGroup group) {
    Bootstrap bootstrap =
        new Bootstrap()
            .group(group)
            .channel(KcpChannel.class)
            .option(KcpChannelOption.KEY_RING, keys)
            .option(KcpChannelOption.CONFIG, kcp)
            .option(KcpChannelOption.FEC, fec)
            .option(ChannelOption.WRITE_BUFFER_WATER_MARK, SESSION_WATER_MARK);
    setSocketOptions(bootstrap);
    return bootstrap;
  }

  private void setSocketOptions(AbstractBootstrap<?, ?> bootstrap) {
    bootstrap.option(ChannelOption.SO_RCVBUF, socketBufferBytes);
    bootstrap.option(ChannelOption.SO_SNDBUF, socketBufferBytes);
    if (dscp != 0) {
      bootstrap.option(ChannelOption.IP_TOS, dscp << ECN_BITS);
    }
  }

  /**
   * Adds the handlers of a session.
   *
   * @param streamHandler the handler of streams that the peer opens; sharable, or null to refuse
   *     them
   */
  void addHandlers(Channel session, boolean isClient, ChannelHandler streamHandler, TunnelLog log) {
    ChannelPipeline pipeline = session.pipeline();
    if (isCompressed) {
      pipeline.addLast(new SnappyEncoder(), new SnappyDecoder());
    }
    pipeline.addLast(new SmuxHandler(smux, isClient, streamHandler), new SessionLog(log, isClient));
  }

  @Override
  public String toString() {
    return "smux %d, frames of %d bytes, %s, windows %d and %d, MTU %d, interval %d ms, %s, %s"
        .formatted(
            smux.version(),
            smux.maxFrameSize(),
            isCompressed ? "Snappy" : "uncompressed",
            kcp.sendWindow(),
            kcp.receiveWindow(),
            kcp.mtuBytes(),
            kcp.intervalMs(),
            fec.isEncoding() ? "FEC " + fec : "no FEC",
            crypt);
  }
}
