package io.kcp4j.netty;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.netty.internal.endpoint.KcpEndpoint;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.local.LocalIoHandler;
import io.netty.util.concurrent.EventExecutor;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Servers whose sockets, and so their children, are on event loops of another group. */
class SocketGroupTest {

  private static final int CLIENTS = 32;

  /** Two event loops for children, one for the server. */
  private static Fixture fixture(TransportUnderTest transport) {
    Fixture fixture = new Fixture(transport);
    fixture.serverBootstrap.option(KcpServerChannelOption.SOCKET_GROUP, fixture.childGroup);
    return fixture;
  }

  private static Set<EventExecutor> loops(EventLoopGroup group) {
    Set<EventExecutor> loops = new HashSet<>();
    group.forEach(loops::add);
    return loops;
  }

  private static boolean isFree(InetSocketAddress address) {
    try {
      new DatagramSocket(address).close();
      return true;
    } catch (SocketException e) {
      return false;
    }
  }

  private record Client(KcpChannel channel, Recorder recorder) {

    static Client of(Fixture fixture) {
      Recorder recorder = new Recorder();
      return new Client(fixture.connect(recorder), recorder);
    }

    void echo(byte[] bytes) {
      int before = recorder.received();
      channel.writeAndFlush(Fixture.buffer(channel, bytes));
      await().until(() -> recorder.received() == before + bytes.length);
    }
  }

  // Where channels live.

  @OverEachTransport
  void childrenLiveOnTheEventLoopsOfTheChildGroup(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      byte[] bytes = Fixture.randomBytes(200_000);

      Client client = Client.of(fixture);
      client.echo(bytes);

      assertArrayEquals(bytes, client.recorder.bytes());
      EventLoop childsLoop = fixture.child().eventLoop();
      assertTrue(loops(fixture.childGroup).contains(childsLoop));
      assertTrue(loops(fixture.serverGroup).contains(server.eventLoop()));
      assertEquals(server.sockets().first().eventLoop(), childsLoop);
    }
  }

  @OverEachTransport
  void serversSpreadOverTheEventLoopsOfTheGroup(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport)) {
      Set<EventExecutor> used = new HashSet<>();
      for (int i = 0; i < 2; i++) {
        fixture.serve(Echo::new);
        Client.of(fixture).echo(new byte[100]);
        used.add(fixture.child().eventLoop());
      }

      assertEquals(loops(fixture.childGroup), used);
    }
  }

  @OverEachTransport
  @EnabledOnOs(OS.LINUX)
  void severalSocketsAreOnDifferentEventLoopsOfTheGroup(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.SOCKETS, 2);
      KcpServerChannel server = fixture.serve(Echo::new);

      for (int i = 0; i < CLIENTS; i++) {
        Client.of(fixture).echo(new byte[1000]);
      }

      Set<EventExecutor> used = new HashSet<>();
      fixture.children.forEach(child -> used.add(child.eventLoop()));
      assertEquals(loops(fixture.childGroup), used);
      assertEquals(CLIENTS, server.sessions());
    }
  }

  /** As frameworks do that have a handler for each of their event loops, and no other one. */
  @OverEachTransport
  void handlersAreFoundByTheEventLoopOfTheChild(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport)) {
      Map<EventExecutor, AtomicInteger> accepted = new ConcurrentHashMap<>();
      fixture.childGroup.forEach(loop -> accepted.put(loop, new AtomicInteger()));
      fixture.serve(
          () ->
              new ChannelInboundHandlerAdapter() {
                @Override
                public void handlerAdded(ChannelHandlerContext ctx) {
                  accepted.get(ctx.channel().eventLoop()).incrementAndGet();
                  ctx.pipeline().addLast(new Echo());
                }
              });

      Client.of(fixture).echo(new byte[100]);

      assertEquals(1, accepted.values().stream().mapToInt(AtomicInteger::get).sum());
    }
  }

  @OverEachTransport
  void groupOfTheServerItselfMayBeNamed(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.SOCKET_GROUP, fixture.serverGroup);
      KcpServerChannel server = fixture.serve(Echo::new);

      Client.of(fixture).echo(new byte[100]);

      assertEquals(server.eventLoop(), fixture.child().eventLoop());
    }
  }

  // Threads.

  @OverEachTransport
  void writesOfTheServersEventLoopAndOfOtherThreadsArrive(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = fixture.serve(Recorder::new);
      Client client = Client.of(fixture);
      client.channel.writeAndFlush(Fixture.buffer(client.channel, new byte[1]));
      KcpChannel child = fixture.child();
      byte[] bytes = Fixture.randomBytes(50_000);

      server
          .eventLoop()
          .submit(() -> child.writeAndFlush(Fixture.buffer(child, bytes)))
          .syncUninterruptibly();
      await().until(() -> client.recorder.received() == bytes.length);
      child.writeAndFlush(Fixture.buffer(child, bytes)).syncUninterruptibly();

      await().until(() -> client.recorder.received() == 2 * bytes.length);
    }
  }

  /** A proxy writes to one child what another one has received, whatever their event loops. */
  @OverEachTransport
  @EnabledOnOs(OS.LINUX)
  void childrenOfDifferentEventLoopsForwardToEachOther(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.SOCKETS, 2);
      Map<EventExecutor, Channel> targets = new ConcurrentHashMap<>();
      fixture.serve(() -> new ToTheOtherLoop(targets));
      List<Client> clients = new ArrayList<>();
      while (targets.size() < 2) {
        Client client = Client.of(fixture);
        clients.add(client);
        client.channel.writeAndFlush(Fixture.buffer(client.channel, new byte[1]));
        await().until(() -> fixture.children.size() == clients.size());
      }
      byte[] bytes = Fixture.randomBytes(100_000);
      int before = received(clients);

      clients.forEach(c -> c.channel.writeAndFlush(Fixture.buffer(c.channel, bytes)));

      await().until(() -> received(clients) >= before + clients.size() * bytes.length);
    }
  }

  private static int received(List<Client> clients) {
    return clients.stream().mapToInt(client -> client.recorder.received()).sum();
  }

  private static final class ToTheOtherLoop extends SimpleChannelInboundHandler<ByteBuf> {

    private final Map<EventExecutor, Channel> targets;

    ToTheOtherLoop(Map<EventExecutor, Channel> targets) {
      this.targets = targets;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
      targets.putIfAbsent(ctx.channel().eventLoop(), ctx.channel());
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
      targets.forEach(
          (loop, target) -> {
            if (loop != ctx.channel().eventLoop()) {
              target.writeAndFlush(msg.retain());
            }
          });
    }
  }

  @OverEachTransport
  @EnabledOnOs(OS.LINUX)
  void sessionsContinueIfAnotherSocketReceivesTheirDatagrams(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.SOCKETS, 4);
      KcpServerChannel server = fixture.serve(Echo::new);
      byte[] bytes = Fixture.randomBytes(10_000);
      List<Client> clients = clients(fixture);
      clients.forEach(client -> client.echo(bytes));
      // Linux moves the last socket into the place of the failed one. If the first fails, half of
      // all peers move to another open socket; if the third fails, only one in twelve.
      KcpEndpoint failed = server.sockets().first();

      failed.close();
      await().until(() -> !failed.isOpen() && !server.isOpen());
      Set<InetSocketAddress> left = new HashSet<>();
      fixture.children.stream()
          .filter(child -> child.endpoint() != failed)
          .forEach(child -> left.add(child.remoteAddress()));
      clients.removeIf(client -> !left.contains(client.channel.localAddress()));
      assertFalse(clients.isEmpty());
      await()
          .until(
              () -> { // More than once: io_uring closes a socket after its channel.
                clients.forEach(client -> client.echo(bytes));
                return server.counters().get(KcpCounter.FORWARDED) > 0;
              });

      assertEquals(CLIENTS, server.counters().get(KcpCounter.SESSIONS_OPENED));
    }
  }

  private static List<Client> clients(Fixture fixture) {
    List<Client> clients = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      clients.add(Client.of(fixture));
    }
    return clients;
  }

  // Closing and failures: no socket stays.

  /** The socket is closed, and the server knows. */
  private static void assertTerminates(KcpServerChannel server) {
    await().until(() -> server.terminationFuture().isDone());
    assertTrue(server.closeFuture().isDone());
    assertTrue(server.sockets() == null || !server.sockets().isOpen());
  }

  @OverEachTransport
  void portIsFreeOnceTheServerHasClosed(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      InetSocketAddress local = fixture.serve(Echo::new).localAddress();
      for (int i = 0; i < 10; i++) {
        fixture.server().close().syncUninterruptibly();
        await().until(() -> isFree(local)); // NIO releases it in the next turn.
        assertTerminates(fixture.server());
        fixture.serveAgain(Echo::new, local);
      }
    }
  }

  @OverEachTransport
  void socketStaysUntilTheLastChildHasLeft(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      Client client = Client.of(fixture);
      client.echo(new byte[100]);

      server.close().syncUninterruptibly();
      client.echo(new byte[100]);
      assertFalse(server.terminationFuture().await(1));

      fixture.child().close();
      assertTrue(server.terminationFuture().await(10, SECONDS));
      assertTerminates(server);
    }
  }

  @OverEachTransport
  void portInUseFailsTheBindAndClosesTheServer(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport);
        DatagramSocket taken = new DatagramSocket(Fixture.ANY_PORT)) {
      fixture.serve(Echo::new);

      ChannelFuture bind = fixture.serverBootstrap.bind(taken.getLocalSocketAddress());

      assertTrue(bind.await(10, SECONDS));
      assertInstanceOf(IOException.class, bind.cause());
      assertTerminates((KcpServerChannel) bind.channel());
    }
  }

  @OverEachTransport
  void serverThatClosesWhileItRegistersOrBindsLeavesNoSocket(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.serve(Echo::new);
      for (int i = 0; i < 40; i++) {
        fixture.serverBootstrap.option(KcpServerChannelOption.SOCKETS, 1 + i % 3);
        ChannelFuture begun =
            i % 2 == 0
                ? fixture.serverBootstrap.register()
                : fixture.serverBootstrap.bind(Fixture.ANY_PORT);

        begun.channel().close().syncUninterruptibly();

        assertTerminates((KcpServerChannel) begun.channel());
        await().until(begun::isDone);
      }
    }
  }

  @OverEachTransport
  void closeUnderLoadReleasesAllMemory(TransportUnderTest transport) {
    for (int i = 0; i < 3; i++) {
      try (Fixture fixture = fixture(transport)) {
        KcpServerChannel server = fixture.serve(Echo::new);
        byte[] bytes = Fixture.randomBytes(100_000);
        clients(fixture).forEach(c -> c.channel.writeAndFlush(Fixture.buffer(c.channel, bytes)));
        await().until(() -> !fixture.children.isEmpty());
        server.close();
      }
    }
  }

  @OverEachTransport
  void socketThatCannotBeMadeFailsTheRegistration(TransportUnderTest transport) throws Exception {
    AtomicBoolean fails = new AtomicBoolean();
    Supplier<BlockCipher> ciphers =
        () -> {
          if (fails.get()) {
            throw new IllegalStateException("no cipher");
          }
          return new NoCipher();
        };
    PacketKey key = PacketKey.ofBlockCipher("failing", ciphers);
    fails.set(true);
    try (Fixture fixture = fixture(transport)) {
      fixture.serve(Echo::new);
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(key));

      ChannelFuture bind = fixture.serverBootstrap.bind(Fixture.ANY_PORT);

      assertTrue(bind.await(10, SECONDS));
      assertInstanceOf(IllegalStateException.class, bind.cause());
      assertTerminates((KcpServerChannel) bind.channel());
    }
  }

  @OverEachTransport
  void groupThatHasEndedFailsTheRegistration(TransportUnderTest transport) throws Exception {
    EventLoopGroup ended = transport.newGroup(1);
    ended.shutdownGracefully(0, 0, SECONDS).syncUninterruptibly();
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      fixture.serverBootstrap.option(KcpServerChannelOption.SOCKET_GROUP, ended);

      ChannelFuture bind = fixture.serverBootstrap.bind(Fixture.ANY_PORT);

      assertTrue(bind.await(10, SECONDS));
      assertInstanceOf(RejectedExecutionException.class, bind.cause());
      assertTerminates((KcpServerChannel) bind.channel());
    }
  }

  @Test
  void groupWithoutUdpSocketsFailsTheRegistration() throws Exception {
    EventLoopGroup local = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      fixture.serverBootstrap.option(KcpServerChannelOption.SOCKET_GROUP, local);

      ChannelFuture bind = fixture.serverBootstrap.bind(Fixture.ANY_PORT);

      assertTrue(bind.await(10, SECONDS));
      assertInstanceOf(IllegalArgumentException.class, bind.cause());
      assertTrue(bind.cause().getMessage().contains("SOCKET_GROUP"), bind.cause().getMessage());
      assertTerminates((KcpServerChannel) bind.channel());
    } finally {
      local.shutdownGracefully(0, 0, SECONDS);
    }
  }

  // Event loops that end. Netty 4.2.18's io_uring corrupts memory if it has channels then.

  @OverEachTransport
  void endOfTheGroupClosesTheServer(TransportUnderTest transport) {
    assumeTrue(transport != TransportUnderTest.IO_URING);
    try (Fixture fixture = fixture(transport)) {
      // Or the client's socket would wait for the answer of a server that is no longer there.
      fixture.configureClient(config -> config.extension(false));
      KcpServerChannel server = fixture.serve(Echo::new);
      Client.of(fixture).echo(new byte[100]);

      fixture.childGroup.shutdownGracefully(10, 5000, MILLISECONDS).syncUninterruptibly();

      assertTerminates(server);
    }
  }

  @OverEachTransport
  void endOfTheServersEventLoopClosesTheServerAndLeavesItsChildren(TransportUnderTest transport)
      throws Exception {
    assumeTrue(transport != TransportUnderTest.IO_URING);
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      Client client = Client.of(fixture);
      client.echo(new byte[100]);
      Client late = Client.of(fixture);

      fixture.serverGroup.shutdownGracefully(10, 5000, MILLISECONDS).syncUninterruptibly();

      assertTrue(server.closeFuture().isDone());
      client.echo(new byte[100]);
      late.channel.writeAndFlush(Fixture.buffer(late.channel, new byte[1]));
      await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) > 0);
      assertEquals(1, fixture.children.size());
      fixture.child().close();
      assertTerminates(server);
    }
  }

  @OverEachTransport
  void endOfTheServersEventLoopClosesASocketWithoutChildren(TransportUnderTest transport) {
    assumeTrue(transport != TransportUnderTest.IO_URING);
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);

      fixture.serverGroup.shutdownGracefully(10, 5000, MILLISECONDS).syncUninterruptibly();

      assertTerminates(server);
      await().until(() -> isFree(server.localAddress()));
    }
  }
}
