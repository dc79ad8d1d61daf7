package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Unreliable datagrams. */
class UnreliableDatagramTest {

  /** The nonces of first packets that a server with an AEAD remembers. */
  private static final int REPLAY_FILTER_BYTES = 1 << 20;

  private static final KeyRing KEYS =
      KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "key"));

  /** Records what arrives, each kind separately. */
  private static final class Both extends ChannelInboundHandlerAdapter {
    final List<String> unreliable = new CopyOnWriteArrayList<>();
    final List<String> stream = new CopyOnWriteArrayList<>();

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      if (msg instanceof UnreliableDatagram datagram) {
        unreliable.add(ByteBufUtil.hexDump(datagram.content()));
      } else {
        stream.add(ByteBufUtil.hexDump((ByteBuf) msg));
      }
      ReferenceCountUtil.release(msg);
    }
  }

  /** Peers without the extension: datagrams are as those of kcp-go. */
  private static Fixture fixture(TransportUnderTest transport) {
    Fixture fixture = new Fixture(transport);
    fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KEYS);
    fixture.serverBootstrap.childOption(KcpChannelOption.FEC, FecConfig.of(10, 3));
    fixture.configureChildren(config -> config.datagramQueue(64));
    fixture.bootstrap.option(KcpChannelOption.KEY_RING, KEYS);
    fixture.bootstrap.option(KcpChannelOption.FEC, FecConfig.of(10, 3));
    fixture.configureClient(config -> config.datagramQueue(64).extension(false));
    return fixture;
  }

  private static ChannelFuture send(KcpChannel channel, byte... bytes) {
    return channel.writeAndFlush(new UnreliableDatagram(Fixture.buffer(channel, bytes)));
  }

  /** A client whose session has begun at the server. */
  private static KcpChannel connected(Fixture fixture, Both handler) {
    KcpChannel client = fixture.connect(handler);
    client.writeAndFlush(Fixture.buffer(client, new byte[] {1})).syncUninterruptibly();
    await().until(() -> handler.stream.equals(List.of("01")));
    return client;
  }

  @OverEachTransport
  void datagramsAreEchoedWhileAStreamIs(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.serve(Echo::new);
      Both both = new Both();
      KcpChannel client = connected(fixture, both);

      assertTrue(send(client, (byte) 0xca, (byte) 0xfe).syncUninterruptibly().isSuccess());
      client.writeAndFlush(Fixture.buffer(client, new byte[] {2}));

      await().until(() -> both.unreliable.equals(List.of("cafe")));
      await().until(() -> both.stream.equals(List.of("01", "02")));
    }
  }

  @Test
  void datagramOfTheLargestSizeArrivesAndALargerOneFails() {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      Both both = new Both();
      KcpChannel client = connected(fixture, both);
      int max = client.maxUnreliableBytes();
      assertEquals(1200 - 12 - 16 - 8 - 4, max);

      ChannelFuture tooLarge = send(client, new byte[max + 1]);
      send(client, new byte[max]);

      await().until(() -> both.unreliable.size() == 1);
      assertEquals("00".repeat(max), both.unreliable.get(0));
      await().until(tooLarge::isDone);
      assertInstanceOf(IllegalArgumentException.class, tooLarge.cause());
      assertTrue(client.isActive());
    }
  }

  @OverEachTransport
  void peersWithTheExtensionNeedNoFec(TransportUnderTest transport) {
    try (Fixture fixture = fixture(transport)) {
      fixture.configureClient(config -> config.extension(true));
      fixture.bootstrap.option(KcpChannelOption.FEC, FecConfig.NONE);
      fixture.serverBootstrap.childOption(KcpChannelOption.FEC, FecConfig.NONE);
      fixture.serve(Echo::new);
      Both both = new Both();
      KcpChannel client = fixture.connect(both);
      int max = client.maxUnreliableBytes();
      assertEquals(1200 - 12 - 16 - 24 - 2 - 11 - 7, max);

      ChannelFuture sent = send(client, new byte[max]);
      client.eventLoop().submit(() -> {}).syncUninterruptibly();
      assertFalse(sent.isDone(), "it waits until the peer has the extension");
      client.writeAndFlush(Fixture.buffer(client, new byte[] {1}));

      assertTrue(sent.syncUninterruptibly().isSuccess());
      await().until(() -> both.unreliable.equals(List.of("00".repeat(max))));
      assertEquals(max, client.maxUnreliableBytes());
    }
  }

  @Test
  void datagramToAPeerWithoutTheExtensionAndWithoutFecFails() {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.configureClient(config -> config.extension(true));
      fixture.bootstrap.option(KcpChannelOption.FEC, FecConfig.NONE);
      fixture.configureChildren(config -> config.extension(false));
      fixture.serve(Echo::new);
      Both both = new Both();
      KcpChannel client = fixture.connect(both);

      ChannelFuture sent = send(client, (byte) 1);
      await()
          .until(
              () -> {
                client.writeAndFlush(Fixture.buffer(client, new byte[] {1}));
                return sent.isDone();
              });

      assertInstanceOf(IOException.class, sent.cause());
      assertFailsNaming(KcpChannelOption.FEC.name(), send(client, (byte) 1).awaitUninterruptibly());
      assertTrue(client.isActive());
    }
  }

  @Test
  void emptyDatagramArrives() {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      Both both = new Both();
      KcpChannel client = connected(fixture, both);

      send(client);

      await().until(() -> both.unreliable.equals(List.of("")));
    }
  }

  @Test
  void datagramWithoutFecOrQueueFails() {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      Both both = new Both();
      KcpChannel client = connected(fixture, both);
      client.config().setOption(KcpChannelOption.FEC, FecConfig.NONE);
      await().until(() -> client.maxUnreliableBytes() == 0);

      ChannelFuture withoutFec = send(client, (byte) 1);
      await().until(withoutFec::isDone);
      assertFailsNaming(KcpChannelOption.FEC.name(), withoutFec);

      client.config().setOption(KcpChannelOption.FEC, FecConfig.of(3, 2));
      Fixture.configure(client, config -> config.datagramQueue(0));
      ChannelFuture withoutQueue = send(client, (byte) 1);
      await().until(withoutQueue::isDone);
      assertFailsNaming("datagramQueue", withoutQueue);
      assertEquals(0, client.maxUnreliableBytes());
    }
  }

  @Test
  void withoutAQueueDatagramsAreDropped() throws InterruptedException {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.configureChildren(config -> config.datagramQueue(0));
      fixture.serve(Echo::new);
      Both both = new Both();
      KcpChannel client = connected(fixture, both);
      KcpChannel child = fixture.child();

      send(client, (byte) 1);

      await().until(() -> child.stats().counters().get(KcpCounter.UNRELIABLE_DROPPED) == 1);
      assertEquals(List.of(), both.unreliable);
    }
  }

  @Test
  void oldestAreDroppedWhileNothingIsRead() throws InterruptedException {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.configureChildren(config -> config.datagramQueue(2));
      Both served = new Both();
      fixture.serve(() -> served);
      KcpChannel client = fixture.connect(new Both());
      client.writeAndFlush(Fixture.buffer(client, new byte[] {1}));
      await().until(() -> served.stream.equals(List.of("01")));
      KcpChannel child = fixture.child();
      child.config().setAutoRead(false);
      for (byte i = 1; i <= 5; i++) {
        byte n = i;
        send(client, n);
        await().until(() -> child.stats().counters().get(KcpCounter.UNRELIABLE_IN) == n);
      }

      child.config().setAutoRead(true);

      await().until(() -> served.unreliable.contains("05"));
      int last = served.unreliable.size();
      assertEquals(List.of("04", "05"), served.unreliable.subList(last - 2, last));
      assertTrue(child.stats().counters().get(KcpCounter.UNRELIABLE_DROPPED) >= 2);
    }
  }

  @Test
  void datagramIsSentWhileTheStreamIsBlocked() throws InterruptedException {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.RECEIVE_WINDOW, 4);
      fixture.configureClient(config -> config.sendQueue(4));
      fixture.serve(Both::new);
      KcpChannel client = fixture.connect(new Both());
      client.writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
      KcpChannel child = fixture.child();
      child.config().setAutoRead(false);
      ChannelFuture stuck = client.writeAndFlush(Unpooled.wrappedBuffer(new byte[100_000]));

      ChannelFuture behind = send(client, (byte) 1);

      await().until(() -> child.stats().counters().get(KcpCounter.UNRELIABLE_IN) == 1);
      await().until(behind::isSuccess);
      assertFalse(stuck.isDone());
    }
  }

  private static void assertFailsNaming(String setting, ChannelFuture future) {
    String message = future.awaitUninterruptibly().cause().getMessage();
    assertTrue(message.contains(setting), message);
  }

  @Test
  void futuresOfDroppedDatagramsFailAndTheOthersSucceed() {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.configureClient(config -> config.datagramQueue(2));
      fixture.serve(Echo::new);
      Both both = new Both();
      KcpChannel client = connected(fixture, both);
      List<ChannelFuture> sent = new CopyOnWriteArrayList<>();

      client
          .eventLoop()
          .submit(
              () -> {
                for (byte i = 0; i < 3; i++) {
                  sent.add(
                      client.write(new UnreliableDatagram(Fixture.buffer(client, new byte[] {i}))));
                }
                client.flush();
                sent.add(send(client, (byte) 3)); // One turn: in the session, too, only two wait.
              })
          .syncUninterruptibly();

      for (int i = 0; i < 2; i++) {
        assertFailsNaming("datagramQueue", sent.get(i));
      }
      assertTrue(sent.get(2).awaitUninterruptibly().isSuccess());
      assertTrue(sent.get(3).awaitUninterruptibly().isSuccess());
      await().until(() -> both.unreliable.equals(List.of("02", "03")));
      assertEquals(2, client.stats().get(KcpCounter.UNRELIABLE_DROPPED));
    }
  }

  @Test
  void acknowledgementDoesNotIncludeUnflushedDatagrams() throws Exception {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.serve(Both::new);
      Both both = new Both();
      KcpChannel client = fixture.connect(both);
      client.writeAndFlush(Fixture.buffer(client, new byte[] {1}));
      KcpChannel child = fixture.child();
      await().until(() -> child.stats().get(KcpCounter.PAYLOAD_BYTES_IN) == 1);
      client
          .write(new UnreliableDatagram(Fixture.buffer(client, new byte[] {7})))
          .addListener(future -> {});

      child.writeAndFlush(Fixture.buffer(child, new byte[] {2}));
      await().until(() -> both.stream.equals(List.of("02")) && child.stats().inFlight() == 0);
      assertEquals(0, child.stats().get(KcpCounter.UNRELIABLE_IN));

      client.flush();
      await().until(() -> child.stats().get(KcpCounter.UNRELIABLE_IN) == 1);
    }
  }

  @Test
  void closeFailsDatagramsThatWereNotFlushed() {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      KcpChannel client = connected(fixture, new Both());
      ChannelFuture waiting =
          client.write(new UnreliableDatagram(Fixture.buffer(client, new byte[] {7})));
      ChannelFuture cancelled =
          client.write(new UnreliableDatagram(Fixture.buffer(client, new byte[] {8})));
      assertTrue(cancelled.cancel(false));

      client.close().syncUninterruptibly();

      assertInstanceOf(ClosedChannelException.class, waiting.awaitUninterruptibly().cause());
      ChannelFuture late = send(client, (byte) 1);
      assertInstanceOf(ClosedChannelException.class, late.awaitUninterruptibly().cause());
    }
  }

  @Test
  void cancelledDatagramIsNotSent() {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      Both both = new Both();
      KcpChannel client = connected(fixture, both);
      ChannelFuture cancelled =
          client.write(new UnreliableDatagram(Fixture.buffer(client, new byte[] {8})));
      assertTrue(cancelled.cancel(false));

      assertTrue(send(client, (byte) 9).awaitUninterruptibly().isSuccess());

      await().until(() -> both.unreliable.equals(List.of("09")));
    }
  }

  @Test
  void datagramWithoutMemoryFails() throws Exception {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MEMORY_LIMIT, 1L);
      fixture.serve(Both::new);
      KcpChannel client = fixture.connect(new Both());
      client.writeAndFlush(Fixture.buffer(client, new byte[] {1}));
      KcpChannel child = fixture.child();

      ChannelFuture sent = send(child, new byte[100]);

      assertInstanceOf(IOException.class, sent.awaitUninterruptibly().cause());
      assertEquals(1, child.stats().get(KcpCounter.UNRELIABLE_DROPPED));
    }
  }

  @Test
  void listenerMayCloseTheChannelAndVoidPromisesAreTaken() {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      Both both = new Both();
      KcpChannel client = connected(fixture, both);
      client.writeAndFlush(
          new UnreliableDatagram(Fixture.buffer(client, new byte[] {5})), client.voidPromise());
      await().until(() -> both.unreliable.equals(List.of("05")));

      send(client, (byte) 6).addListener(future -> client.close());

      client.closeFuture().syncUninterruptibly();
      assertEquals(2, client.stats().get(KcpCounter.UNRELIABLE_OUT));
    }
  }

  @Test
  void pendingDatagramsAreReleasedWithTheChannel() throws InterruptedException {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.serve(Both::new);
      KcpChannel client = fixture.connect(new Both());
      client.writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
      KcpChannel child = fixture.child();
      child.config().setAutoRead(false);
      send(client, (byte) 1);
      await().until(() -> child.stats().counters().get(KcpCounter.UNRELIABLE_IN) == 1);

      child.close().syncUninterruptibly();

      assertEquals(REPLAY_FILTER_BYTES, fixture.server().usedMemoryBytes());
    }
  }

  private static void writeUntilItLeaves(KcpChannel channel, AtomicBoolean stopped) {
    channel
        .write(new UnreliableDatagram(Fixture.buffer(channel, new byte[] {1})))
        .addListener(
            future -> {
              if (!future.isSuccess() && !stopped.get()) {
                writeUntilItLeaves(channel, stopped);
              }
            });
  }

  @Test
  void rewritingDroppedDatagramsDoesNotBlockTheEventLoop() throws Exception {
    try (Fixture fixture = fixture(TransportUnderTest.NIO)) {
      fixture.configureClient(config -> config.datagramQueue(1));
      fixture.serve(Echo::new);
      KcpChannel client = connected(fixture, new Both());
      AtomicBoolean stopped = new AtomicBoolean();

      client
          .eventLoop()
          .execute(
              () -> {
                writeUntilItLeaves(client, stopped);
                writeUntilItLeaves(client, stopped);
              });

      boolean hasTurns = client.eventLoop().submit(() -> {}).await(30, TimeUnit.SECONDS);
      hasTurns &= client.eventLoop().submit(() -> {}).await(30, TimeUnit.SECONDS);
      stopped.set(true);
      assertTrue(hasTurns);
    }
  }
}
