package io.kcp4j.netty.smux;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpSocketConfig;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.security.SecureRandom;

/** What carries smux. */
public enum ConnectionType {
  TCP {
    @Override
    public void configure(ServerBootstrap server, Bootstrap client) {
      server.channel(NioServerSocketChannel.class);
      client.channel(NioSocketChannel.class);
    }
  },

  /** TLS over TCP. */
  TLS {
    @Override
    public void configure(ServerBootstrap server, Bootstrap client) {
      TCP.configure(server, client);
    }

    @Override
    public void addServerHandlers(ChannelPipeline connection) {
      connection.addLast(TlsContexts.SERVER.newHandler(connection.channel().alloc()));
    }

    @Override
    public void addClientHandlers(ChannelPipeline connection) {
      connection.addLast(TlsContexts.CLIENT.newHandler(connection.channel().alloc()));
    }
  },

  /**
   * KCP with AES-GCM and FEC. Each pair has a key of its own: what a peer that another test has
   * left behind still sends to a port that the system has given away again must not begin a
   * session.
   */
  KCP {
    @Override
    public void configure(ServerBootstrap server, Bootstrap client) {
      byte[] key = new byte[CipherAlgorithm.AES_128_GCM.keyBytes()];
      new SecureRandom().nextBytes(key);
      KeyRing keys = KeyRing.of(PacketKey.of(CipherAlgorithm.AES_128_GCM, key));
      server
          .channel(KcpServerChannel.class)
          .option(KcpChannelOption.KEY_RING, keys)
          .option(
              KcpChannelOption.SOCKET_CONFIG, KcpSocketConfig.builder().acceptOnProbe(true).build())
          .childOption(KcpChannelOption.FEC, FecConfig.of(10, 3));
      client
          .channel(KcpChannel.class)
          .option(KcpChannelOption.KEY_RING, keys)
          .option(KcpChannelOption.CONNECT_PROBE, true)
          .option(KcpChannelOption.FEC, FecConfig.of(10, 3));
    }
  };

  /** Sets the types of channels of a pair, and their options. */
  public abstract void configure(ServerBootstrap server, Bootstrap client);

  /** Adds what a server's connection has below smux. */
  public void addServerHandlers(ChannelPipeline connection) {}

  /** Adds what a client's connection has below smux. */
  public void addClientHandlers(ChannelPipeline connection) {}

  private static final class TlsContexts {

    static final SslContext SERVER;
    static final SslContext CLIENT;

    static {
      try {
        X509Bundle certificate =
            new CertificateBuilder()
                .subject("CN=localhost")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        SERVER = SslContextBuilder.forServer(certificate.toKeyManagerFactory()).build();
        CLIENT =
            SslContextBuilder.forClient()
                .trustManager(InsecureTrustManagerFactory.INSTANCE)
                .endpointIdentificationAlgorithm(null)
                .build();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }
}
