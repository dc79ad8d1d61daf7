package io.kcp4j.load;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.handler.codec.quic.EpollQuicUtils;
import io.netty.handler.codec.quic.InsecureQuicTokenHandler;
import io.netty.handler.codec.quic.QuicChannel;
import io.netty.handler.codec.quic.QuicChannelOption;
import io.netty.handler.codec.quic.QuicClientCodecBuilder;
import io.netty.handler.codec.quic.QuicCodecBuilder;
import io.netty.handler.codec.quic.QuicServerCodecBuilder;
import io.netty.handler.codec.quic.QuicSslContextBuilder;
import io.netty.handler.codec.quic.QuicStreamType;
import io.netty.handler.codec.quic.SegmentedDatagramPacketAllocator;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * Netty's QUIC: a session is a connection with one stream. Flow control never limits it. Datagrams
 * are as large as those of KCP, and use UDP GSO and GRO.
 */
final class QuicProtocol implements LoadProtocol {

  private static final String PROTOCOL = "load";
  private static final int DATAGRAM_BYTES = 1400;
  private static final long FLOW_CONTROL_BYTES = 64 << 20;
  private static final int IDLE_TIMEOUT_S = 30;

  /** As many of {@value #DATAGRAM_BYTES} bytes as fit into the 64 KiB of one system call. */
  private static final int SEGMENTS = 46;

  private static final int READS = 64;

  private static final SegmentedDatagramPacketAllocator SEGMENTED =
      EpollQuicUtils.newSegmentedAllocator(SEGMENTS);

  @Override
  public Channel listen(EventLoopGroup group, InetSocketAddress local, ChannelHandler handler)
      throws Exception {
    X509Bundle certificate =
        new CertificateBuilder()
            .subject("CN=localhost")
            .setIsCertificateAuthority(true)
            .buildSelfSigned();
    QuicServerCodecBuilder codec =
        withLimits(new QuicServerCodecBuilder())
            .sslContext(
                QuicSslContextBuilder.forServer(
                        certificate.getKeyPair().getPrivate(),
                        null,
                        certificate.getCertificatePath())
                    .applicationProtocols(PROTOCOL)
                    .build())
            .tokenHandler(InsecureQuicTokenHandler.INSTANCE)
            .option(QuicChannelOption.SEGMENTED_DATAGRAM_PACKET_ALLOCATOR, SEGMENTED)
            .streamOption(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
            .streamOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
            .streamHandler(handler);
    return socket(group, local, codec.build());
  }

  @Override
  public Channel connect(EventLoopGroup group, InetSocketAddress remote, ChannelHandler handler)
      throws Exception {
    QuicClientCodecBuilder codec =
        withLimits(new QuicClientCodecBuilder())
            .sslContext(
                QuicSslContextBuilder.forClient()
                    .trustManager(InsecureTrustManagerFactory.INSTANCE)
                    .applicationProtocols(PROTOCOL)
                    .build());
    Channel socket = socket(group, new InetSocketAddress(0), codec.build());
    QuicChannel connection =
        QuicChannel.newBootstrap(socket)
            .option(QuicChannelOption.SEGMENTED_DATAGRAM_PACKET_ALLOCATOR, SEGMENTED)
            .streamOption(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
            .streamOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
            .handler(new ChannelInboundHandlerAdapter())
            .remoteAddress(remote)
            .connect()
            .get();
    connection.createStream(QuicStreamType.BIDIRECTIONAL, handler).get();
    return socket;
  }

  private static <B extends QuicCodecBuilder<B>> B withLimits(B codec) {
    return codec
        .maxSendUdpPayloadSize(DATAGRAM_BYTES)
        .maxRecvUdpPayloadSize(DATAGRAM_BYTES)
        .maxIdleTimeout(IDLE_TIMEOUT_S, TimeUnit.SECONDS)
        .initialMaxData(FLOW_CONTROL_BYTES)
        .initialMaxStreamDataBidirectionalLocal(FLOW_CONTROL_BYTES)
        .initialMaxStreamDataBidirectionalRemote(FLOW_CONTROL_BYTES)
        .initialMaxStreamsBidirectional(1);
  }

  /** UDP_GRO and recvmmsg exclude each other in Netty. */
  private static Channel socket(EventLoopGroup group, InetSocketAddress local, ChannelHandler codec)
      throws InterruptedException {
    return new Bootstrap()
        .group(group)
        .channel(EpollDatagramChannel.class)
        .option(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
        .option(ChannelOption.SO_RCVBUF, SOCKET_BUFFER_BYTES)
        .option(ChannelOption.SO_SNDBUF, SOCKET_BUFFER_BYTES)
        .option(EpollChannelOption.UDP_GRO, true)
        .option(
            ChannelOption.RECVBUF_ALLOCATOR,
            new FixedRecvByteBufAllocator(64 << 10).maxMessagesPerRead(READS))
        .handler(codec)
        .bind(local)
        .sync()
        .channel();
  }
}
