package io.kcp4j.examples;

import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelEvent;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.UnreliableDatagram;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;

/**
 * Sends ten positions of a ship, encrypted. A position is obsolete as soon as the next one arrives,
 * so positions are unreliable datagrams. The stream carries the request, its answer and the end
 * mark. The positions follow when the client has acknowledged the answer: before that it may be
 * sent little, since its address may be forged.
 */
public final class Radar {

  private static final int POSITIONS = 10;

  private Radar() {}

  /** Shows the ship to one client. Server and client share this JVM. */
  public static void main(String[] args) throws InterruptedException {
    String passphrase = args.length > 0 ? args[0] : "change me";
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    try {
      ServerBootstrap server = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
      Bootstrap client = new Bootstrap().group(group).channel(KcpChannel.class);
      configure(server, client, passphrase);
      Channel radar =
          server
              .childHandler(new Ships())
              .bind(InetAddress.getLoopbackAddress(), 0)
              .sync()
              .channel();
      Channel screen = client.handler(new Screen()).connect(radar.localAddress()).sync().channel();
      screen.writeAndFlush(screen.alloc().buffer(1).writeByte(1));
      screen.closeFuture().sync();
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  private static void configure(ServerBootstrap server, Bootstrap client, String passphrase) {
    KcpConfig config = KcpConfig.builder().datagramQueue(POSITIONS).build();
    server.childOption(KcpChannelOption.CONFIG, config);
    client.option(KcpChannelOption.CONFIG, config);
    KeyRing keys = KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, passphrase));
    server.option(KcpChannelOption.KEY_RING, keys);
    server.childOption(KcpChannelOption.FEC, FecConfig.of(10, 3));
    client.option(KcpChannelOption.KEY_RING, keys);
    client.option(KcpChannelOption.FEC, FecConfig.of(10, 3));
  }

  /** Answers each client that sends a request, and then sends the positions of the ship. */
  private static final class Ships extends ChannelInitializer<KcpChannel> {
    @Override
    protected void initChannel(KcpChannel session) {
      session
          .pipeline()
          .addLast(
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object msg) {
                  ReferenceCountUtil.release(msg);
                  ctx.writeAndFlush(ctx.alloc().buffer(1).writeByte(1));
                }

                @Override
                public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
                  if (event != KcpChannelEvent.ESTABLISHED) {
                    return;
                  }
                  for (int i = 0; i < POSITIONS; i++) {
                    ctx.write(new UnreliableDatagram(ctx.alloc().buffer(4).writeInt(i)));
                  }
                  ctx.writeAndFlush(ctx.alloc().buffer(1).writeByte(0));
                }
              });
    }
  }

  /** Prints positions until the end mark arrives in the stream. */
  private static final class Screen extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      if (msg instanceof UnreliableDatagram position) {
        System.out.println("the ship is at " + position.content().readInt());
      } else if (msg instanceof ByteBuf mark && mark.getByte(mark.writerIndex() - 1) == 0) {
        ctx.close();
      }
      ReferenceCountUtil.release(msg);
    }
  }
}
