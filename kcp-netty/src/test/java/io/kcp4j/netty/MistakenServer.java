package io.kcp4j.netty;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.nio.NioEventLoopGroup;
import java.net.InetAddress;
import java.util.concurrent.TimeUnit;

/** A server in a process whose class path lacks something. */
final class MistakenServer {

  private MistakenServer() {}

  /** Binds a server with keys of the cipher that is named. Netty 4.1 has this event loop group. */
  @SuppressWarnings("deprecation")
  public static void main(String[] args) throws InterruptedException {
    NioEventLoopGroup group = new NioEventLoopGroup(1);
    try {
      PacketKey key = PacketKey.ofPassphrase(CipherAlgorithm.of(args[0]), "key");
      ServerBootstrap server = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
      server.option(KcpChannelOption.KEY_RING, KeyRing.of(key));
      server.childHandler(new ChannelInboundHandlerAdapter());
      server.bind(InetAddress.getLoopbackAddress(), 0).sync();
    } finally {
      group.shutdownGracefully(0, 0, TimeUnit.SECONDS);
    }
  }
}
