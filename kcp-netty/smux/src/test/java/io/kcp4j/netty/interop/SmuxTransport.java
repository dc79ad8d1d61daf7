package io.kcp4j.netty.interop;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.util.ArrayList;
import java.util.List;

/** What carries smux between kcp4j and Go. */
enum SmuxTransport {
  TCP {
    @Override
    void configure(ServerBootstrap server) {
      server.channel(NioServerSocketChannel.class);
    }

    @Override
    void configure(Bootstrap client) {
      client.channel(NioSocketChannel.class);
    }

    @Override
    List<String> goFlags() {
      return List.of("--transport=tcp");
    }
  },

  /** KCP with AES-GCM and FEC. */
  KCP {
    @Override
    void configure(ServerBootstrap server) {
      server
          .channel(KcpServerChannel.class)
          .option(KcpChannelOption.KEY_RING, SETTINGS.keys())
          .childOption(KcpChannelOption.CONFIG, SETTINGS.config())
          .childOption(KcpChannelOption.FEC, SETTINGS.fec());
    }

    @Override
    void configure(Bootstrap client) {
      client
          .channel(KcpChannel.class)
          .option(KcpChannelOption.KEY_RING, SETTINGS.keys())
          .option(KcpChannelOption.CONFIG, SETTINGS.config())
          .option(KcpChannelOption.FEC, SETTINGS.fec());
    }

    @Override
    List<String> goFlags() {
      return SETTINGS.goFlags("--transport=kcp");
    }
  };

  private static final FecConfig FEC = FecConfig.of(10, 3);
  private static final SessionSettings SETTINGS =
      SessionSettings.stream(1024, 1400).with(CipherAlgorithm.AES_128_GCM).with(FEC, FEC);

  abstract void configure(ServerBootstrap server);

  abstract void configure(Bootstrap client);

  abstract List<String> goFlags();

  /** The flags of the Go program for this transport and a version of smux, and {@code more}. */
  List<String> goFlags(int version, String... more) {
    List<String> flags = new ArrayList<>(goFlags());
    flags.add("--smuxver=" + version);
    flags.addAll(List.of(more));
    return flags;
  }
}
