package io.kcp4j.netty;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpConfig;
import io.kcp4j.netty.internal.endpoint.KcpEndpoint;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.awaitility.Awaitility;

/**
 * Servers and clients on the loopback interface. On closing, asserts that all buffers that sessions
 * and tests have allocated are released.
 */
public final class Fixture implements AutoCloseable {

  public static final InetSocketAddress ANY_PORT =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  /** Machines that run the tests may be slow, and busy with something else. */
  private static final int TIMEOUT_SECONDS = 30;

  static {
    Awaitility.setDefaultPollDelay(Duration.ZERO);
    Awaitility.setDefaultPollInterval(Duration.ofMillis(5));
    Awaitility.setDefaultTimeout(Duration.ofSeconds(TIMEOUT_SECONDS));
  }

  private final TransportUnderTest transport;
  final MultiThreadIoEventLoopGroup serverGroup;
  final MultiThreadIoEventLoopGroup childGroup;
  private final MultiThreadIoEventLoopGroup clientGroup;

  /** The children that were accepted, in order. */
  final BlockingQueue<KcpChannel> children = new LinkedBlockingQueue<>();

  public final ServerBootstrap serverBootstrap;
  final Bootstrap bootstrap;

  final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);

  private final Queue<Channel> channels = new ConcurrentLinkedQueue<>();

  private KcpServerChannel server;

  public Fixture(TransportUnderTest transport) {
    this(transport, 1);
  }

  /** Makes a fixture with {@code serverLoops} event loops for servers. */
  public Fixture(TransportUnderTest transport, int serverLoops) {
    this.transport = transport;
    serverGroup = EventLoopPool.acquire(transport, serverLoops);
    childGroup = EventLoopPool.acquire(transport, 2);
    clientGroup = EventLoopPool.acquire(transport, 1);
    serverBootstrap =
        new ServerBootstrap()
            .group(serverGroup, childGroup)
            .channelFactory(() -> tracked(new KcpServerChannel()))
            .option(ChannelOption.ALLOCATOR, allocator)
            .childOption(ChannelOption.ALLOCATOR, allocator)
            .childOption(KcpChannelOption.CONFIG, KcpConfig.DEFAULT);
    bootstrap =
        new Bootstrap()
            .group(clientGroup)
            .channelFactory(() -> tracked(new KcpChannel()))
            .option(ChannelOption.ALLOCATOR, allocator)
            .option(KcpChannelOption.CONFIG, KcpConfig.DEFAULT);
    transport.configure(serverBootstrap);
    transport.configure(bootstrap);
  }

  private <C extends Channel> C tracked(C channel) {
    channels.add(channel);
    return channel;
  }

  /** Changes settings of clients that have no option of their own. */
  void configureClient(UnaryOperator<KcpConfig.Builder> change) {
    KcpConfig before = (KcpConfig) bootstrap.config().options().get(KcpChannelOption.CONFIG);
    bootstrap.option(KcpChannelOption.CONFIG, change.apply(before.toBuilder()).build());
  }

  /** The same of accepted channels. */
  void configureChildren(UnaryOperator<KcpConfig.Builder> change) {
    KcpConfig before =
        (KcpConfig) serverBootstrap.config().childOptions().get(KcpChannelOption.CONFIG);
    serverBootstrap.childOption(KcpChannelOption.CONFIG, change.apply(before.toBuilder()).build());
  }

  /** The same of a channel. */
  static void configure(KcpChannel channel, UnaryOperator<KcpConfig.Builder> change) {
    KcpConfig changed = change.apply(channel.config().kcp().toBuilder()).build();
    channel.config().setOption(KcpChannelOption.CONFIG, changed);
  }

  public KcpServerChannel serve(Supplier<ChannelHandler> childHandler) {
    return serve(childHandler, ANY_PORT);
  }

  public KcpServerChannel serve(Supplier<ChannelHandler> childHandler, InetSocketAddress local) {
    serverBootstrap.childHandler(
        new ChannelInitializer<KcpChannel>() {
          @Override
          protected void initChannel(KcpChannel child) {
            child.pipeline().addLast(childHandler.get());
            children.add(tracked(child));
          }
        });
    server = (KcpServerChannel) serverBootstrap.bind(local).syncUninterruptibly().channel();
    return server;
  }

  /**
   * Serves at the address of a socket that has been closed. Waits for its port: a selector releases
   * it only at its next select, and another test's socket may take it.
   */
  KcpServerChannel serveAgain(Supplier<ChannelHandler> childHandler, InetSocketAddress local) {
    return await()
        .ignoreExceptionsInstanceOf(IOException.class)
        .until(() -> serve(childHandler, local), Objects::nonNull);
  }

  public KcpServerChannel server() {
    return server;
  }

  public KcpChannel connect(ChannelHandler handler) {
    return connectTo(server.localAddress(), handler);
  }

  KcpChannel connectTo(InetSocketAddress remote, ChannelHandler handler) {
    return (KcpChannel)
        bootstrap.clone().handler(handler).connect(remote).syncUninterruptibly().channel();
  }

  /** The next child that is accepted. */
  public KcpChannel child() throws InterruptedException {
    KcpChannel child = children.poll(TIMEOUT_SECONDS, SECONDS);
    if (child == null) {
      throw new AssertionError("no session was accepted within " + TIMEOUT_SECONDS + " s");
    }
    return child;
  }

  /** A buffer of the channel's allocator. */
  public static ByteBuf buffer(Channel channel, byte[] bytes) {
    return channel.alloc().buffer(bytes.length).writeBytes(bytes);
  }

  static byte[] randomBytes(int length) {
    byte[] bytes = new byte[length];
    new SplittableRandom(length).nextBytes(bytes);
    return bytes;
  }

  @Override
  public void close() {
    closeChannels();
    for (MultiThreadIoEventLoopGroup group : List.of(serverGroup, childGroup, clientGroup)) {
      EventLoopPool.release(transport, group);
    }
    assertEquals(0, allocator.metric().usedDirectMemory(), "bytes of direct buffers left");
    assertEquals(0, allocator.metric().usedHeapMemory(), "bytes of heap buffers left");
  }

  /**
   * Closes all channels and waits for their sockets: an event loop of Netty 4.2.18's io_uring that
   * ends while it has datagram channels corrupts memory.
   */
  private void closeChannels() {
    await()
        .until(
            () -> {
              channels.forEach(Fixture::close); // A child may just have been accepted.
              return channels.stream().noneMatch(Fixture::hasSocket);
            });
  }

  private static void close(Channel channel) {
    if (channel instanceof KcpChannel session) {
      session.config().setOption(KcpChannelOption.LINGER, 0);
    }
    if (channel.isRegistered()) {
      channel.close();
    }
  }

  private static boolean hasSocket(Channel channel) {
    if (channel instanceof KcpServerChannel server) {
      return server.sockets() != null && server.sockets().isOpen();
    }
    KcpEndpoint endpoint = ((KcpChannel) channel).endpoint();
    return endpoint != null && endpoint.isOpen();
  }

  /** Ends the server's event loops, which closes its channels. */
  void shutDownServer() {
    EventLoopPool.shutDown(serverGroup);
  }

  /** Ends the event loops, which closes the open channels. */
  void shutDown() {
    EventLoopPool.shutDown(serverGroup, childGroup, clientGroup);
  }
}
