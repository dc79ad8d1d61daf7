package io.kcp4j.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Scanner;
import java.util.concurrent.TimeUnit;

/**
 * gRPC over KCP: the channel types are KCP's, everything else is as over TCP. The service takes
 * strings; code that is generated from protocol buffers works in the same way.
 */
public final class GrpcService {

  private static final MethodDescriptor<String, String> REVERSE =
      MethodDescriptor.<String, String>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName("examples.Words/Reverse")
          .setRequestMarshaller(new Text())
          .setResponseMarshaller(new Text())
          .build();

  private GrpcService() {}

  /** Calls a service that reverses text. Server and client share this JVM. */
  public static void main(String[] args) throws Exception {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    try {
      Server server = server(group).start();
      InetSocketAddress address = (InetSocketAddress) server.getListenSockets().get(0);
      ManagedChannel channel = client(group, address);
      for (String word : new String[] {"reliable", "ordered", "fast"}) {
        System.out.println(
            ClientCalls.blockingUnaryCall(channel, REVERSE, CallOptions.DEFAULT, word));
      }
      channel.shutdown().awaitTermination(10, TimeUnit.SECONDS);
      server.shutdown().awaitTermination(10, TimeUnit.SECONDS);
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  private static Server server(EventLoopGroup group) {
    InetSocketAddress local = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    return DeadPeerDetection.apply(NettyServerBuilder.forAddress(local))
        .channelType(KcpServerChannel.class)
        .bossEventLoopGroup(group)
        .workerEventLoopGroup(group)
        .addService(
            ServerServiceDefinition.builder("examples.Words")
                .addMethod(
                    REVERSE,
                    ServerCalls.asyncUnaryCall(
                        (text, answer) -> {
                          answer.onNext(new StringBuilder(text).reverse().toString());
                          answer.onCompleted();
                        }))
                .build())
        .build();
  }

  private static ManagedChannel client(EventLoopGroup group, InetSocketAddress server) {
    return DeadPeerDetection.apply(NettyChannelBuilder.forAddress(server))
        .channelType(KcpChannel.class, InetSocketAddress.class)
        .eventLoopGroup(group)
        .usePlaintext()
        .build();
  }

  private static final class Text implements MethodDescriptor.Marshaller<String> {
    @Override
    public InputStream stream(String text) {
      return new ByteArrayInputStream(text.getBytes(UTF_8));
    }

    @Override
    public String parse(InputStream bytes) {
      return new Scanner(bytes, UTF_8).useDelimiter("\\A").next();
    }
  }
}
