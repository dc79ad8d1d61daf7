package io.kcp4j.netty;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.netty.internal.endpoint.KcpEndpoint;
import io.kcp4j.sim.FailingAllocator;
import io.kcp4j.sim.FaultCounts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Servers with several sockets at one port and on several event loops. */
@EnabledOnOs(
    value = OS.LINUX,
    disabledReason = "other systems do not spread datagrams over the sockets of a port")
class SocketsTest {

  private static final int LOOPS = 4;
  private static final int CLIENTS = 64;

  /** The probability that a socket gets none of so many clients is 1 in 25 million. */
  private static Fixture fixture(TransportUnderTest transport) {
    Fixture fixture = new Fixture(transport, LOOPS);
    fixture.serverBootstrap.option(KcpServerChannelOption.SOCKETS, LOOPS);
    return fixture;
  }

  private record Client(KcpChannel channel, Recorder recorder) {

    static Client of(Fixture fixture) {
      Recorder recorder = new Recorder();
      return new Client(fixture.connect(recorder), recorder);
    }

    void write(byte[] bytes) {
      channel.writeAndFlush(Fixture.buffer(channel, bytes));
    }
  }

  /** Clients that have all written before any of them waits for a response. */
  private static List<Client> clients(Fixture fixture, int number, byte[] bytes) {
    List<Client> clients = new ArrayList<>();
    for (int i = 0; i < number; i++) {
      clients.add(Client.of(fixture));
    }
    clients.forEach(client -> client.write(bytes));
    return clients;
  }

  private static void awaitBytes(List<Client> clients, byte[] bytes) {
    awaitReceived(clients, bytes.length);
    clients.forEach(client -> assertArrayEquals(bytes, client.recorder.bytes()));
  }

  private static void awaitReceived(List<Client> clients, int bytes) {
    clients.forEach(client -> await().until(() -> client.recorder.received() == bytes));
  }

  private static Set<EventLoop> loops(Iterable<KcpChannel> children) {
    Set<EventLoop> loops = new HashSet<>();
    children.forEach(child -> loops.add(child.eventLoop()));
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

  /**
   * Waits until no socket has this address. NIO releases a closed socket in the next turn of the
   * event loop, and the system may give the port to another process meanwhile.
   */
  private static void awaitFree(InetSocketAddress local) {
    await().until(() -> isFree(local));
  }

  @OverEachTransport
  void sessionsSpreadOverTheEventLoops(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      byte[] bytes = Fixture.randomBytes(20_000);

      awaitBytes(clients(fixture, CLIENTS, bytes), bytes);

      assertEquals(LOOPS, loops(fixture.children).size());
      assertEquals(CLIENTS, fixture.children.size());
      assertEquals(CLIENTS, server.sessions());
      assertEquals(CLIENTS, server.counters().get(KcpCounter.SESSIONS_OPENED));
      assertTrue(server.counters().get(KcpCounter.PAYLOAD_BYTES_IN) >= CLIENTS * 20_000L);
    }
  }

  @OverEachTransport
  void streamsAreCompleteHoweverLongAcceptingTakes(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.bootstrap.option(KcpChannelOption.FEC, FecConfig.of(3, 1));
      CountDownLatch sent = new CountDownLatch(1);
      // The server is busy until all clients have sent what they may without an answer.
      fixture.serverBootstrap.handler(new Pause(sent));
      fixture.serve(Recorder::new);
      byte[] bytes = Fixture.randomBytes(10_000);

      List<Client> clients = clients(fixture, 16, bytes);
      for (Client client : clients) {
        await().until(() -> client.channel.stats().get(KcpCounter.SEGMENTS_OUT) >= 8);
      }
      sent.countDown();

      await().until(() -> fixture.children.size() == 16);
      for (KcpChannel child : fixture.children) {
        Recorder recorder = child.pipeline().get(Recorder.class);
        await().until(() -> recorder.received() == bytes.length);
        assertArrayEquals(bytes, recorder.bytes());
      }
    }
  }

  /** Blocks the server's event loop when the first child is offered. */
  private static final class Pause extends ChannelInboundHandlerAdapter {
    private final CountDownLatch until;

    Pause(CountDownLatch until) {
      this.until = until;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) throws Exception {
      assertTrue(ctx.channel().eventLoop().inEventLoop());
      assertTrue(until.await(10, SECONDS));
      ctx.fireChannelRead(msg);
    }
  }

  @OverEachTransport
  void greetingOfAChildIsSent(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      byte[] greeting = {7, 8, 9};
      fixture.serve(
          () ->
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelActive(ChannelHandlerContext ctx) {
                  ctx.writeAndFlush(Fixture.buffer(ctx.channel(), greeting));
                }

                @Override
                public void channelRead(ChannelHandlerContext ctx, Object msg) {
                  ReferenceCountUtil.release(msg);
                }
              });

      awaitBytes(clients(fixture, 16, new byte[1]), greeting);
    }
  }

  @OverEachTransport
  void moreSocketsThanEventLoopsShareThem(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport, 2)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.SOCKETS, 5);
      fixture.serve(Echo::new);
      byte[] bytes = Fixture.randomBytes(100);

      awaitBytes(clients(fixture, CLIENTS, bytes), bytes);

      assertEquals(2, loops(fixture.children).size());
      assertEquals(CLIENTS, fixture.children.size());
    }
  }

  @OverEachTransport
  void portInUseFailsTheBind(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport);
        DatagramSocket taken = new DatagramSocket(Fixture.ANY_PORT)) {
      KcpServerChannel other = fixture.serve(Echo::new);
      ChannelFuture bind = fixture.serverBootstrap.bind(taken.getLocalSocketAddress());

      assertTrue(bind.await(10, SECONDS));

      assertInstanceOf(IOException.class, bind.cause());
      assertTrue(bind.channel().closeFuture().await(10, SECONDS));
      await().until(() -> !((KcpServerChannel) bind.channel()).sockets().isOpen());
      assertTrue(other.isActive());
    }
  }

  @OverEachTransport
  void portOfAnotherServerIsInUseAsWell(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);

      ChannelFuture bind = fixture.serverBootstrap.bind(server.localAddress());

      assertTrue(bind.awaitUninterruptibly(10, SECONDS));
      assertInstanceOf(IOException.class, bind.cause());
    }
  }

  @OverEachTransport
  void socketThatCannotBeOpenedFailsTheBindAndClosesTheOthers(TransportUnderTest transport)
      throws Exception {
    InetSocketAddress local;
    try (DatagramSocket free = new DatagramSocket(Fixture.ANY_PORT)) {
      local = (InetSocketAddress) free.getLocalSocketAddress();
    }
    AtomicInteger ciphers = new AtomicInteger();
    Supplier<BlockCipher> failing =
        () -> {
          if (ciphers.incrementAndGet() == LOOPS) {
            throw new IllegalStateException("no cipher");
          }
          return new NoCipher();
        };
    PacketKey key = PacketKey.ofBlockCipher("failing", failing);
    ciphers.set(0);
    try (Fixture fixture = fixture(transport)) {
      fixture.serve(Echo::new);
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(key));

      ChannelFuture bind = fixture.serverBootstrap.bind(local);

      assertTrue(bind.await(10, SECONDS));
      assertInstanceOf(IllegalStateException.class, bind.cause());
      assertFalse(bind.channel().isOpen());
      awaitFree(local);
    }
  }

  @OverEachTransport
  void portIsFreeOnceTheServerHasClosed(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      InetSocketAddress local = fixture.serve(Echo::new).localAddress();
      for (int i = 0; i < 10; i++) {
        fixture.server().close().syncUninterruptibly();
        fixture.server().terminationFuture().syncUninterruptibly();
        assertFalse(fixture.server().sockets().isOpen());
        awaitFree(local);
        fixture.serveAgain(Echo::new, local);
      }
    }
  }

  @OverEachTransport
  void serversThatBindAtTheSameTimeDoNotWaitForEachOther(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.serve(Echo::new);
      List<ChannelFuture> binds = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        binds.add(fixture.serverBootstrap.bind(Fixture.ANY_PORT));
      }

      binds.forEach(bind -> assertTrue(bind.awaitUninterruptibly(10, SECONDS)));

      binds.forEach(bind -> assertTrue(bind.isSuccess()));
    }
  }

  @OverEachTransport
  void serverThatClosesWhileItBindsLeavesNoSocket(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.serve(Echo::new);
      for (int i = 0; i < 20; i++) {
        KcpServerChannel server =
            (KcpServerChannel) fixture.serverBootstrap.register().syncUninterruptibly().channel();
        server.bind(Fixture.ANY_PORT);
        server.close().syncUninterruptibly();
        await().until(() -> !server.sockets().isOpen());
      }
    }
  }

  @OverEachTransport
  void socketsStayUntilTheLastChildHasLeft(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      byte[] bytes = Fixture.randomBytes(100);
      List<Client> clients = clients(fixture, CLIENTS, bytes);
      awaitBytes(clients, bytes);
      List<KcpChannel> children = new ArrayList<>(fixture.children);
      EventLoop last = children.get(0).eventLoop();

      server.close().syncUninterruptibly();
      for (KcpChannel child : children) {
        if (child.eventLoop() != last) {
          child.close().syncUninterruptibly();
        }
      }

      // Were a socket closed, the system would send some of the others' peers elsewhere.
      for (Client client : clients) {
        InetSocketAddress address = client.channel.localAddress();
        if (children.stream().anyMatch(c -> c.isOpen() && c.remoteAddress().equals(address))) {
          client.write(bytes);
          await().until(() -> client.recorder.received() == 2 * bytes.length);
        }
      }
      assertFalse(isFree(server.localAddress()));
      children.forEach(Channel::close);
      awaitFree(server.localAddress());
    }
  }

  @OverEachTransport
  void sessionsContinueIfAnotherSocketReceivesTheirDatagrams(TransportUnderTest transport) {
    KeyRing keys = KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "moving"));
    try (Fixture fixture = fixture(transport)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, keys);
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, keys);
      fixture.bootstrap.option(KcpChannelOption.FEC, FecConfig.of(3, 1));
      KcpServerChannel server = fixture.serve(Echo::new);
      byte[] bytes = Fixture.randomBytes(1000);
      List<Client> clients = clients(fixture, CLIENTS, bytes);
      awaitBytes(clients, bytes);
      List<KcpChannel> children = new ArrayList<>(fixture.children);
      KcpEndpoint failed = server.sockets().first(); // As in SocketGroupTest.

      failed.close();
      children.removeIf(child -> child.endpoint() == failed);
      Set<InetSocketAddress> left = new HashSet<>();
      children.forEach(child -> left.add(child.remoteAddress()));
      await().until(() -> !failed.isOpen() && !server.isOpen());
      byte[] more = Fixture.randomBytes(20_000);
      clients.removeIf(client -> !left.contains(client.channel.localAddress()));
      await()
          .until(
              () -> { // More than once: io_uring closes a socket after its channel.
                int expected = clients.get(0).recorder.received() + more.length;
                clients.forEach(client -> client.write(more));
                awaitReceived(clients, expected);
                return server.counters().get(KcpCounter.FORWARDED) > 0;
              });

      assertEquals(CLIENTS, server.counters().get(KcpCounter.SESSIONS_OPENED));
      assertTrue(children.stream().allMatch(KcpChannel::isActive));
    }
  }

  @OverEachTransport
  void closeUnderLoadReleasesAllMemory(TransportUnderTest transport) {
    for (int i = 0; i < 3; i++) {
      try (Fixture fixture = fixture(transport)) {
        KcpServerChannel server = fixture.serve(Echo::new);
        clients(fixture, CLIENTS, Fixture.randomBytes(100_000));
        await().until(() -> !fixture.children.isEmpty());
        server.close();
      }
    }
  }

  @OverEachTransport
  void endOfTheEventLoopsUnderLoadReleasesAllMemory(TransportUnderTest transport) {
    // Netty 4.2.18 corrupts memory there, without this project's help.
    assumeTrue(transport != TransportUnderTest.IO_URING);
    try (Fixture fixture = fixture(transport)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      clients(fixture, CLIENTS, Fixture.randomBytes(100_000));
      await().until(() -> !fixture.children.isEmpty());

      fixture.shutDown();

      assertTrue(server.closeFuture().isDone());
      assertFalse(server.sockets().isOpen());
    }
  }

  @OverEachTransport
  void limitOfSessionsAppliesToAllSocketsTogether(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MAX_SESSIONS, 5);
      KcpServerChannel server = fixture.serve(Echo::new);

      List<Client> clients = clients(fixture, CLIENTS, new byte[1]);

      await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) >= CLIENTS - 5);
      await().until(() -> server.counters().get(KcpCounter.SESSIONS_OPENED) == 5);
      assertEquals(5, server.sessions());

      fixture.child().close().syncUninterruptibly();
      await().until(() -> server.counters().get(KcpCounter.SESSIONS_OPENED) == 6);
      assertEquals(CLIENTS, clients.size());
      assertEquals(5, server.sessions());
    }
  }

  @OverEachTransport
  void serverWithoutAutoReadAcceptsOneSessionPerRead(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.serverBootstrap.option(ChannelOption.AUTO_READ, false);
      KcpServerChannel server = fixture.serve(Echo::new);
      clients(fixture, 16, new byte[1]);
      await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) >= 16);
      assertEquals(0, server.sessions());

      for (int i = 1; i <= 3; i++) {
        int asked = i;
        server.read();
        await().until(() -> server.sessions() == asked);
      }

      long refused = server.counters().get(KcpCounter.ACCEPT_REFUSED);
      await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) > refused + 16);
      assertEquals(3, server.sessions());
    }
  }

  @OverEachTransport
  void childThatNoHandlerRegistersBeginsNoSession(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.serverBootstrap.handler(
          new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {} // Passes none on.
          });
      KcpServerChannel server = fixture.serve(Echo::new);

      clients(fixture, 16, new byte[1]);

      await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) >= 16);
      assertEquals(0, server.sessions());
      assertEquals(0, server.counters().get(KcpCounter.SESSIONS_OPENED));
    }
  }

  @OverEachTransport
  void childrenClosedAtOnceBeginNoSecondSession(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      Supplier<ChannelHandler> closing =
          () ->
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelActive(ChannelHandlerContext ctx) {
                  ctx.close();
                }
              };
      KcpServerChannel server = fixture.serve(closing);

      clients(fixture, 16, new byte[1]);

      await().until(() -> server.counters().get(KcpCounter.SESSIONS_CLOSED) >= 16);
      long before = server.counters().get(KcpCounter.CLOSED_SESSION);
      await().until(() -> server.counters().get(KcpCounter.CLOSED_SESSION) >= before + 32);
      assertEquals(16, server.counters().get(KcpCounter.SESSIONS_OPENED));
      assertEquals(16, server.counters().get(KcpCounter.SESSIONS_CLOSED));
      assertEquals(0, server.sessions());
    }
  }

  @OverEachTransport
  void retransmissionsWhileAcceptingBeginNoSecondChild(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = fixture(transport)) {
      CountDownLatch sent = new CountDownLatch(1);
      fixture.serverBootstrap.handler(new Pause(sent));
      KcpServerChannel server = fixture.serve(Echo::new);
      byte[] first = RawPeer.segment(1, Segment.PUSH, 0, new byte[] {1, 2, 3});
      List<RawPeer> rawPeers = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        RawPeer rawPeer = new RawPeer(server.localAddress());
        rawPeers.add(rawPeer);
        rawPeer.send(first);
        rawPeer.send(first);
      }
      sent.countDown();

      for (RawPeer rawPeer : rawPeers) {
        byte[] answer = ByteBufUtil.getBytes(rawPeer.receive(10_000));
        assertEquals(1, answer[0]);
        rawPeer.close();
      }
      assertEquals(16, server.counters().get(KcpCounter.SESSIONS_OPENED));
      assertEquals(16, server.sessions());
    }
  }

  @OverEachTransport
  void newKeysReachAllSockets(TransportUnderTest transport) {
    KeyRing before = KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "before"));
    KeyRing after = KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "after"));
    try (Fixture fixture = fixture(transport)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, before);
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, before);
      KcpServerChannel server = fixture.serve(Echo::new);
      byte[] bytes = Fixture.randomBytes(1000);
      List<Client> clients = clients(fixture, CLIENTS, bytes);
      awaitBytes(clients, bytes);

      server.config().setOption(KcpChannelOption.KEY_RING, after);
      for (Client client : clients) {
        client.channel.config().setOption(KcpChannelOption.KEY_RING, after);
        client.write(bytes);
      }

      for (Client client : clients) {
        await().until(() -> client.recorder.received() == 2 * bytes.length);
      }
      assertEquals(LOOPS, loops(fixture.children).size());
    }
  }

  @OverEachTransport
  void oneSocketStaysOnTheServersEventLoop(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport, LOOPS)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      byte[] bytes = Fixture.randomBytes(100);

      awaitBytes(clients(fixture, 16, bytes), bytes);

      assertEquals(Set.of(server.eventLoop()), loops(fixture.children));
    }
  }

  @Test
  void packetsAreForwardedAfterAllocationsHaveFailed() throws Exception {
    FailingAllocator allocator =
        new FailingAllocator(new UnpooledByteBufAllocator(true), 1, 0, new FaultCounts());
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      fixture.bootstrap.option(ChannelOption.ALLOCATOR, allocator);
      KcpChannel client = fixture.connectTo(peer.address(), new Recorder());
      KcpEndpoint endpoint = client.endpoint();
      ByteBuf junk = Unpooled.wrappedBuffer(new byte[1]);

      for (int i = 0; i < 2000; i++) {
        try {
          endpoint.forward(peer.address(), junk, 0);
          fail("there is no memory");
        } catch (IllegalStateException | OutOfMemoryError e) {
          // The table at which the packet came in counts it.
        }
      }
      allocator.heal();
      endpoint.forward(peer.address(), junk, 0);

      await().until(() -> client.endpointCounters().get(KcpCounter.MALFORMED) == 1);
    }
  }
}
