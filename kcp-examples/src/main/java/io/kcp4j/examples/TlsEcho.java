package io.kcp4j.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * TLS 1.3 over KCP: a session is a byte stream, so Netty's {@code SslHandler} works as over TCP.
 * Each session then has keys of its own, and the client knows who the server is.
 */
public final class TlsEcho {

  private static final String HOST = "localhost";

  private TlsEcho() {}

  /** Sends a greeting to an echo server. Server and client share this JVM. */
  public static void main(String[] args) throws Exception {
    X509Bundle certificate = // In place of one that an authority has signed.
        new CertificateBuilder()
            .subject("CN=" + HOST)
            .addSanDnsName(HOST)
            .setIsCertificateAuthority(true)
            .buildSelfSigned();
    SslContext ofServer =
        SslContextBuilder.forServer(certificate.toKeyManagerFactory()).protocols("TLSv1.3").build();
    SslContext ofClient =
        SslContextBuilder.forClient()
            .trustManager(certificate.getCertificate())
            .protocols("TLSv1.3")
            .build();
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    try {
      ServerBootstrap server = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
      server.childHandler(
          new ChannelInitializer<KcpChannel>() {
            @Override
            protected void initChannel(KcpChannel session) {
              session.pipeline().addLast(ofServer.newHandler(session.alloc()), new EchoHandler());
            }
          });
      Channel listening = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
      int port = ((InetSocketAddress) listening.localAddress()).getPort();
      Bootstrap client = new Bootstrap().group(group).channel(KcpChannel.class);
      client.handler(
          new ChannelInitializer<KcpChannel>() {
            @Override
            protected void initChannel(KcpChannel session) {
              SslHandler tls = ofClient.newHandler(session.alloc(), HOST, port);
              session.pipeline().addLast(tls, new Printer());
            }
          });
      Channel session = client.connect(listening.localAddress()).sync().channel();
      session.writeAndFlush(Unpooled.copiedBuffer("hello, TLS", UTF_8));
      session.closeFuture().sync();
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  private static final class Printer extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
      String protocol = ctx.pipeline().get(SslHandler.class).engine().getSession().getProtocol();
      System.out.println(protocol + ": " + msg.toString(UTF_8));
      ctx.close();
    }
  }
}
