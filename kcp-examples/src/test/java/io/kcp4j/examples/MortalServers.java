package io.kcp4j.examples;

import io.grpc.Attributes;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServerTransportFilter;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** A server of gRPC and one of a game, with the settings of {@link DeadPeerDetection}. */
final class MortalServers {

  static final MethodDescriptor<byte[], byte[]> ECHO = method("Echo");

  /** Is never answered. */
  static final MethodDescriptor<byte[], byte[]> HOLD = method("Hold");

  final AtomicInteger openCalls = new AtomicInteger();
  final AtomicInteger cancelledCalls = new AtomicInteger();
  final AtomicInteger endedTransports = new AtomicInteger();
  final Queue<KcpChannel> players = new ConcurrentLinkedQueue<>();
  final Server grpc;
  final Channel game;

  MortalServers(EventLoopGroup group) throws IOException {
    InetSocketAddress local = DeadPeerDetectionTest.ANY_PORT;
    grpc =
        DeadPeerDetection.apply(NettyServerBuilder.forAddress(local))
            .channelType(KcpServerChannel.class)
            .bossEventLoopGroup(group)
            .workerEventLoopGroup(group)
            .addService(service())
            .addTransportFilter(
                new ServerTransportFilter() {
                  @Override
                  public void transportTerminated(Attributes attributes) {
                    endedTransports.incrementAndGet();
                  }
                })
            .build()
            .start();
    ServerBootstrap server = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
    DeadPeerDetection.apply(server);
    server.childHandler(
        new ChannelInitializer<KcpChannel>() {
          @Override
          protected void initChannel(KcpChannel player) {
            player.pipeline().addLast(new EchoHandler());
            players.add(player);
          }
        });
    game = server.bind(local).syncUninterruptibly().channel();
  }

  private ServerServiceDefinition service() {
    return ServerServiceDefinition.builder("kcp4j.Mortal")
        .addMethod(
            ECHO,
            ServerCalls.asyncUnaryCall(
                (request, responses) -> {
                  responses.onNext(request);
                  responses.onCompleted();
                }))
        .addMethod(
            HOLD,
            ServerCalls.asyncUnaryCall(
                (request, responses) -> {
                  var call = (ServerCallStreamObserver<byte[]>) responses;
                  call.setOnCancelHandler(cancelledCalls::incrementAndGet);
                  openCalls.incrementAndGet();
                }))
        .build();
  }

  private static MethodDescriptor<byte[], byte[]> method(String name) {
    return MethodDescriptor.<byte[], byte[]>newBuilder()
        .setType(MethodType.UNARY)
        .setFullMethodName(MethodDescriptor.generateFullMethodName("kcp4j.Mortal", name))
        .setRequestMarshaller(new BytesMarshaller())
        .setResponseMarshaller(new BytesMarshaller())
        .build();
  }

  /** Prints the ports of both, and serves until the process is killed. */
  public static void main(String[] args) throws Exception {
    MortalServers servers =
        new MortalServers(new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()));
    InetSocketAddress game = (InetSocketAddress) servers.game.localAddress();
    System.out.println(servers.grpc.getPort() + " " + game.getPort());
  }
}
