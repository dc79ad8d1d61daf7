package io.kcp4j.examples;

import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.kcp4j.netty.KcpChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.NetUtil;
import io.netty.util.ReferenceCountUtil;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;

/**
 * Clients of {@link MortalServers}: idle ones of gRPC and of the game, and one with an open call.
 */
final class MortalClients {

  final ManagedChannel idle;
  final ManagedChannel calling;
  final ListenableFuture<byte[]> openCall;
  final KcpChannel player;

  MortalClients(EventLoopGroup group, int grpcPort, int gamePort) throws InterruptedException {
    idle = grpc(group, grpcPort);
    call(idle);
    calling = grpc(group, grpcPort);
    call(calling);
    openCall =
        ClientCalls.futureUnaryCall(
            calling.newCall(MortalServers.HOLD, CallOptions.DEFAULT), new byte[10]);
    player = play(group, gamePort);
  }

  private static ManagedChannel grpc(EventLoopGroup group, int port) {
    return DeadPeerDetection.apply(NettyChannelBuilder.forAddress(local(port)))
        .channelType(KcpChannel.class, InetSocketAddress.class)
        .eventLoopGroup(group)
        .usePlaintext()
        .build();
  }

  private static void call(ManagedChannel channel) {
    ClientCalls.blockingUnaryCall(channel, MortalServers.ECHO, CallOptions.DEFAULT, new byte[10]);
  }

  private static InetSocketAddress local(int port) {
    return new InetSocketAddress(NetUtil.LOCALHOST4, port);
  }

  private static KcpChannel play(EventLoopGroup group, int port) throws InterruptedException {
    CountDownLatch echoed = new CountDownLatch(2); // The second message acknowledges an echo.
    Bootstrap client = new Bootstrap().group(group).channel(KcpChannel.class);
    DeadPeerDetection.apply(client);
    client.handler(
        new ChannelInboundHandlerAdapter() {
          @Override
          public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ReferenceCountUtil.release(msg);
            echoed.countDown();
            if (echoed.getCount() > 0) {
              ctx.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
            }
          }

          @Override
          public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            // The end reason says the same.
          }
        });
    KcpChannel player = (KcpChannel) client.connect(local(port)).sync().channel();
    player.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
    echoed.await();
    return player;
  }

  /** Connects to the ports that are given, and stays connected until the process is killed. */
  public static void main(String[] args) throws Exception {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    new MortalClients(group, Integer.parseInt(args[0]), Integer.parseInt(args[1]));
    System.out.println("connected");
  }
}
