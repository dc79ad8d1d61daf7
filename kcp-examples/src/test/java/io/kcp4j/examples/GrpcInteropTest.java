package io.kcp4j.examples;

import io.grpc.ManagedChannelBuilder;
import io.grpc.ServerBuilder;
import io.grpc.netty.InternalNettyChannelBuilder;
import io.grpc.netty.InternalNettyServerBuilder;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.testing.integration.AbstractInteropTest;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpServerChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.NetUtil;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

/**
 * The interop tests of grpc-java, unmodified, with clients and servers on channels of KCP: through
 * a relay that loses datagrams, to a server with two sockets. And on TCP, to compare.
 */
@RunWith(Parameterized.class)
public final class GrpcInteropTest extends AbstractInteropTest {

  /** What carries the calls. */
  public enum Network {
    TCP(0),
    KCP(0),
    KCP_5_PERCENT_LOSS(0.05),
    KCP_20_PERCENT_LOSS(0.2);

    private final double loss;

    Network(double loss) {
      this.loss = loss;
    }
  }

  private static final int SOCKETS = 2;
  private static final int DELAY_US = 1_000;

  private static EventLoopGroup boss;
  private static EventLoopGroup workers;

  private final Network network;
  private ServerChannel serverChannel;

  /** Null before there is a client, and on TCP. */
  private LossyRelay relay;

  public GrpcInteropTest(Network network) {
    this.network = network;
  }

  @Parameters(name = "{0}")
  public static Network[] networks() {
    return Network.values();
  }

  @BeforeClass
  public static void startGroups() {
    boss = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    workers = new MultiThreadIoEventLoopGroup(SOCKETS, NioIoHandler.newFactory());
  }

  @AfterClass
  public static void endGroups() {
    boss.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    workers.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
  }

  @Override
  public void tearDown() {
    super.tearDown();
    if (relay != null) {
      try {
        relay.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  @Override
  protected ServerBuilder<?> getServerBuilder() {
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress(NetUtil.LOCALHOST4, 0))
            .channelFactory(this::newServerChannel)
            .bossEventLoopGroup(boss)
            .workerEventLoopGroup(workers)
            .flowControlWindow(TEST_FLOW_CONTROL_WINDOW)
            .maxInboundMessageSize(MAX_MESSAGE_SIZE);
    if (network != Network.TCP) {
      builder
          .withOption(KcpServerChannelOption.SOCKET_GROUP, workers)
          .withOption(KcpServerChannelOption.SOCKETS, SOCKETS);
    }
    InternalNettyServerBuilder.setStatsEnabled(builder, false); // The tests have their own.
    return builder.addStreamTracerFactory(createCustomCensusTracerFactory());
  }

  private ServerChannel newServerChannel() {
    serverChannel = network == Network.TCP ? new NioServerSocketChannel() : new KcpServerChannel();
    return serverChannel;
  }

  @Override
  protected ManagedChannelBuilder<?> createChannelBuilder() {
    NettyChannelBuilder builder =
        NettyChannelBuilder.forAddress(address())
            .eventLoopGroup(workers)
            .flowControlWindow(TEST_FLOW_CONTROL_WINDOW)
            .maxInboundMessageSize(MAX_MESSAGE_SIZE)
            .usePlaintext();
    if (network == Network.TCP) {
      builder.channelType(NioSocketChannel.class, InetSocketAddress.class);
    } else {
      builder.channelType(KcpChannel.class, InetSocketAddress.class);
    }
    InternalNettyChannelBuilder.setStatsEnabled(builder, false);
    return builder.intercept(createCensusStatsClientInterceptor());
  }

  private InetSocketAddress address() {
    InetSocketAddress server = (InetSocketAddress) serverChannel.localAddress();
    if (network == Network.TCP) {
      return server;
    }
    if (relay == null) {
      relay = openRelay(server);
    }
    return relay.address();
  }

  private LossyRelay openRelay(InetSocketAddress server) {
    try {
      return new LossyRelay(
          server, new LossyRelay.Conditions(DELAY_US, DELAY_US, network.loss, 0, 0, 1));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Calls take longer where each retransmission may be lost, too. */
  @Override
  protected int operationTimeoutMillis() {
    return 60_000;
  }
}
