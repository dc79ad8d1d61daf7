package io.kcp4j.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import io.netty.handler.codec.LengthFieldPrepender;
import io.netty.handler.codec.MessageToMessageCodec;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** Remote procedure calls: a session is a byte stream like TCP's, framed by Netty's codecs. */
public final class RpcService {

  /** A request, or the answer with the same id. */
  record Call(int id, String text) {}

  private final Map<Integer, CompletableFuture<String>> unanswered = new ConcurrentHashMap<>();
  private Channel session;

  /** Calls a service that reverses text. Server and client share this JVM. */
  public static void main(String[] args) throws Exception {
    new RpcService().run();
  }

  private void run() throws Exception {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    try {
      ServerBootstrap server = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
      server.childHandler(pipeline(Service::new));
      DeadPeerDetection.apply(server);
      Channel listening = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
      Bootstrap client = new Bootstrap().group(group).channel(KcpChannel.class);
      client.handler(pipeline(Answers::new));
      DeadPeerDetection.apply(client);
      session = client.connect(listening.localAddress()).sync().channel();

      var answers = List.of(call(1, "reliable"), call(2, "ordered"), call(3, "fast"));
      answers.forEach(answer -> System.out.println(answer.join()));
    } finally {
      group.shutdownGracefully().sync();
    }
  }

  private CompletableFuture<String> call(int id, String argument) {
    CompletableFuture<String> answer = new CompletableFuture<>();
    unanswered.put(id, answer);
    session.writeAndFlush(new Call(id, argument));
    return answer;
  }

  private static ChannelInitializer<Channel> pipeline(Supplier<ChannelHandler> handler) {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel session) {
        var pipeline = session.pipeline();
        pipeline.addLast(new LengthFieldBasedFrameDecoder(1 << 20, 0, 4, 0, 4));
        pipeline.addLast(new LengthFieldPrepender(4), new CallCodec());
        pipeline.addLast(handler.get());
      }
    };
  }

  /** The server: answers calls, and reads only while the client takes the answers. */
  static final class Service extends SimpleChannelInboundHandler<Call> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, Call request) {
      String answer = new StringBuilder(request.text).reverse().toString();
      ctx.writeAndFlush(new Call(request.id, answer));
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
      ctx.channel().config().setAutoRead(ctx.channel().isWritable());
    }
  }

  /** The client: completes calls. */
  private final class Answers extends SimpleChannelInboundHandler<Call> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, Call answer) {
      unanswered.remove(answer.id).complete(answer.text);
    }
  }

  private static final class CallCodec extends MessageToMessageCodec<ByteBuf, Call> {
    @Override
    protected void encode(ChannelHandlerContext ctx, Call call, List<Object> out) {
      out.add(ctx.alloc().buffer().writeInt(call.id).writeBytes(call.text.getBytes(UTF_8)));
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf frame, List<Object> out) {
      out.add(new Call(frame.readInt(), frame.readString(frame.readableBytes(), UTF_8)));
    }
  }
}
