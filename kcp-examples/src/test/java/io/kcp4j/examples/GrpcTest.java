package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServerTransportFilter;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.NetUtil;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** gRPC on the channels of kcp4j, without any change to it. */
class GrpcTest {

  private static final String SERVICE = "kcp4j.Test";
  private static final MethodDescriptor<byte[], byte[]> ECHO =
      MethodDescriptor.<byte[], byte[]>newBuilder()
          .setType(MethodType.UNARY)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "Echo"))
          .setRequestMarshaller(new BytesMarshaller())
          .setResponseMarshaller(new BytesMarshaller())
          .build();

  private final EventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final CountDownLatch transportTerminated = new CountDownLatch(1);

  @AfterEach
  void endGroup() {
    group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
  }

  private Server serve() throws IOException {
    ServerServiceDefinition service =
        ServerServiceDefinition.builder(SERVICE)
            .addMethod(
                ECHO,
                ServerCalls.asyncUnaryCall(
                    (request, responses) -> {
                      responses.onNext(request);
                      responses.onCompleted();
                    }))
            .build();
    return NettyServerBuilder.forAddress(new InetSocketAddress(NetUtil.LOCALHOST4, 0))
        .channelType(KcpServerChannel.class)
        .bossEventLoopGroup(group)
        .workerEventLoopGroup(group)
        .addService(service)
        .addTransportFilter(
            new ServerTransportFilter() {
              @Override
              public void transportTerminated(Attributes attributes) {
                transportTerminated.countDown();
              }
            })
        .build()
        .start();
  }

  /** Without the extension the server would find out by its keep-alive probes, after a minute. */
  @Test
  void serverLearnsAtOnceThatItsClientHasShutDown() throws Exception {
    Server server = serve();
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(new InetSocketAddress(NetUtil.LOCALHOST4, server.getPort()))
            .channelType(KcpChannel.class, InetSocketAddress.class)
            .eventLoopGroup(group)
            .usePlaintext()
            .build();
    byte[] data = new byte[100_000];
    data[99_999] = 1;
    assertArrayEquals(
        data, ClientCalls.blockingUnaryCall(channel, ECHO, CallOptions.DEFAULT, data));

    channel.shutdown();

    assertTrue(transportTerminated.await(10, TimeUnit.SECONDS));
    assertTrue(channel.awaitTermination(10, TimeUnit.SECONDS));
    server.shutdown();
    assertTrue(server.awaitTermination(10, TimeUnit.SECONDS));
  }
}
