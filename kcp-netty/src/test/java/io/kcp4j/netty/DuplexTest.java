package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CloseReason;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.netty.internal.endpoint.ResetSecret;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelOutputShutdownException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The end of channels whose peers have the extension: as that of TCP's channels. */
class DuplexTest {

  private static final byte[] DATA = Fixture.randomBytes(1 << 20);

  /** Makes the extension known to both sides. */
  private static void exchange(KcpChannel client, Recorder recorder) {
    int received = recorder.received();
    client.writeAndFlush(Fixture.buffer(client, new byte[1]));
    await().until(() -> recorder.received() > received);
  }

  @OverEachTransport
  void closeReachesThePeer(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);
      KcpChannel child = fixture.child();

      client.close().syncUninterruptibly();

      child.closeFuture().syncUninterruptibly();
      assertNull(child.endReason());
      await().until(() -> !client.endpoint().isOpen());
      await().until(() -> fixture.server().sessions() == 0);
    }
  }

  @OverEachTransport
  void closeOfAChildReachesTheClient(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);

      fixture.child().close().syncUninterruptibly();

      client.closeFuture().syncUninterruptibly();
      await().until(() -> recorder.events.equals(List.of("active", "inactive")));
      assertEquals(List.of(), recorder.exceptions);
    }
  }

  @OverEachTransport
  void endOfAnIdleSessionReachesThePeer(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.IDLE_TIMEOUT, 1_000);
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);

      client.closeFuture().syncUninterruptibly();

      assertNull(client.endReason());
      assertEquals(EndReason.IDLE_TIMEOUT, fixture.child().endReason());
      await().until(() -> recorder.events.equals(List.of("active", "inactive")));
    }
  }

  @OverEachTransport
  void everythingBeforeTheCloseIsRead(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      Recorder server = new Recorder();
      fixture.serve(() -> server);
      fixture.bootstrap.option(KcpChannelOption.LINGER, 60_000);
      KcpChannel client = fixture.connect(new Recorder());

      client.writeAndFlush(Unpooled.wrappedBuffer(DATA));
      client.close();

      fixture.child().closeFuture().syncUninterruptibly();
      assertArrayEquals(DATA, server.bytes());
    }
  }

  @OverEachTransport
  void longResponseToTheFirstRequestEndsByClose(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(
          () ->
              new SimpleChannelInboundHandler<ByteBuf>() {
                @Override
                protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
                  ctx.writeAndFlush(Unpooled.wrappedBuffer(DATA, 0, 10_000));
                  ctx.close();
                }
              });
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);

      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      client.closeFuture().syncUninterruptibly();
      assertEquals(10_000, recorder.received());
      assertNull(client.endReason());
    }
  }

  @OverEachTransport
  void closeIsSeenWhenTheRestIsReadLater(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);
      KcpChannel child = fixture.child();
      client.config().setAutoRead(false);
      client.eventLoop().submit(() -> {}).sync(); // A read may have been requested before.
      child.writeAndFlush(Fixture.buffer(child, new byte[10]));
      child.close().syncUninterruptibly();
      await().until(() -> fixture.server().sessions() == 0);
      assertTrue(client.isActive());

      client.read();

      client.closeFuture().syncUninterruptibly();
      assertEquals(11, recorder.received());
    }
  }

  /** The second succeeded at once, though what was written was not in the send queue. */
  @OverEachTransport
  void secondShutdownOfTheOutputCompletesWithTheFirst(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      Recorder server = new Recorder();
      fixture.serve(() -> server);
      fixture.configureClient(config -> config.sendQueue(64));
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      await().until(() -> server.received() == 1);
      KcpChannel child = fixture.child();
      child.config().setAutoRead(false);
      child.eventLoop().submit(() -> {}).sync();
      client.writeAndFlush(Unpooled.wrappedBuffer(DATA));

      ChannelFuture first = client.shutdownOutput();
      ChannelFuture second = client.shutdownOutput();

      client.eventLoop().submit(() -> {}).sync();
      assertFalse(first.isDone());
      assertFalse(second.isDone());
      child.config().setAutoRead(true);
      second.syncUninterruptibly();
      assertTrue(first.isSuccess());
      child.closeFuture().syncUninterruptibly();
      assertEquals(1 + DATA.length, server.received());
    }
  }

  @OverEachTransport
  void closeThatWaitsTooLongEndsThePeersInput(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.configureClient(config -> config.lingerMaxMs(100));
      Recorder server = new Recorder();
      fixture.serve(() -> server);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      await().until(() -> server.received() == 1);
      KcpChannel child = fixture.child();
      child.writeAndFlush(Fixture.buffer(child, new byte[1]));
      await().until(() -> client.stats().get(KcpCounter.PAYLOAD_BYTES_IN) == 1);
      child.config().setAutoRead(false);
      client.writeAndFlush(Unpooled.wrappedBuffer(DATA));

      client.close().awaitUninterruptibly();
      assertEquals(EndReason.CLOSE_TIMEOUT, client.endReason());

      child.config().setAutoRead(true);
      child.closeFuture().syncUninterruptibly();
      assertEquals(EndReason.INPUT_INCOMPLETE, child.endReason());
    }
  }

  @OverEachTransport
  void requestEndsByHalfClose(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
      fixture.serverBootstrap.childOption(KcpChannelOption.LINGER, 60_000);
      Answering server = new Answering();
      fixture.serve(() -> server);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Unpooled.wrappedBuffer(DATA));

      client.shutdownOutput().syncUninterruptibly();

      assertTrue(client.isOutputShutdown());
      assertFalse(client.isInputShutdown());
      ChannelFuture late = client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      assertInstanceOf(ChannelOutputShutdownException.class, late.awaitUninterruptibly().cause());
      client.closeFuture().syncUninterruptibly();
      assertArrayEquals(DATA, recorder.bytes());
      assertEquals(List.of(DATA.length), server.receivedAtEnd);
    }
  }

  @OverEachTransport
  void endOfTheInputIsAnEventForTheHandlersThatAreThereWhenItIsRead(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      fixture.bootstrap.option(ChannelOption.ALLOW_HALF_CLOSURE, true);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);
      KcpChannel child = fixture.child();
      client.config().setAutoRead(false);
      client.eventLoop().submit(() -> {}).sync(); // A read may have been requested before.
      child.shutdownOutput().syncUninterruptibly();
      await().until(() -> isInputFinished(client));
      assertFalse(client.isInputShutdown());
      AtomicInteger ends = new AtomicInteger();
      client
          .pipeline()
          .addLast(
              new ChannelInboundHandlerAdapter() {
                @Override
                public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
                  ends.addAndGet(event == ChannelInputShutdownEvent.INSTANCE ? 1 : 0);
                }
              });

      client.read();

      await().until(client::isInputShutdown);
      await().until(() -> ends.get() == 1);
      assertTrue(client.isOpen());
    }
  }

  private static boolean isInputFinished(KcpChannel channel) throws Exception {
    return channel.eventLoop().submit(() -> channel.session().get().isInputFinished()).get();
  }

  /** Answers when the client has finished sending. */
  private static final class Answering extends ChannelInboundHandlerAdapter {

    final List<Integer> receivedAtEnd = new CopyOnWriteArrayList<>();
    private int received;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ByteBuf data = (ByteBuf) msg;
      received += data.readableBytes();
      data.release();
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
      if (event == ChannelInputShutdownEvent.INSTANCE) {
        receivedAtEnd.add(received);
        ctx.writeAndFlush(Unpooled.wrappedBuffer(DATA));
        ctx.close();
      }
    }
  }

  @OverEachTransport
  void abortEndsThePeersChannelWithItsCode(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);

      fixture.child().abort(42).syncUninterruptibly();

      client.closeFuture().syncUninterruptibly();
      await().until(() -> recorder.events.equals(List.of("active", "exception", "inactive")));
      KcpSessionClosedException end =
          assertInstanceOf(KcpSessionClosedException.class, recorder.exceptions.get(0));
      assertEquals(EndReason.RESET, end.reason());
      assertEquals(42, end.peerReason().code());
    }
  }

  @OverEachTransport
  void closeTellsThePeerItsReason(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      BlockingQueue<CloseReason> reasons = new LinkedBlockingQueue<>();
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client
          .pipeline()
          .addLast(
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelInactive(ChannelHandlerContext ctx) {
                  reasons.add(((KcpChannel) ctx.channel()).peerReason());
                }
              });
      exchange(client, recorder);
      KcpChannel child = fixture.child();
      child.write(Fixture.buffer(child, new byte[100_000]));
      child.flush();

      child.close(7, "kicked").syncUninterruptibly();

      assertEquals(new CloseReason(7, "kicked"), reasons.take());
      assertEquals(100_001, recorder.received());
      assertEquals(List.of("active", "inactive"), recorder.events);
      assertThrows(IllegalArgumentException.class, () -> child.close(7, "x".repeat(65)));
    }
  }

  @OverEachTransport
  void closeWithoutLingerAborts(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.LINGER, 0);
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);

      fixture.child().close().syncUninterruptibly();

      client.closeFuture().syncUninterruptibly();
      assertEquals(EndReason.RESET, client.endReason());
    }
  }

  @OverEachTransport
  void inputThatIsShutDownIsDiscarded(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);
      client.shutdownInput().syncUninterruptibly();

      client.writeAndFlush(Unpooled.wrappedBuffer(DATA)).syncUninterruptibly();

      KcpChannel child = fixture.child();
      await().until(() -> child.stats().get(KcpCounter.PAYLOAD_BYTES_OUT) == DATA.length + 1);
      assertEquals(1, recorder.received());
      assertTrue(client.isInputShutdown());
    }
  }

  @OverEachTransport
  void clientOfARestartedServerLearnsOfThat(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.RESET_SECRET, new byte[16]);
      KcpServerChannel crashed = fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);
      crashed.sockets().first().channel().close().syncUninterruptibly();
      fixture.serveAgain(Echo::new, crashed.localAddress());

      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      client.closeFuture().syncUninterruptibly();
      assertEquals(EndReason.SESSION_UNKNOWN, client.endReason());
      assertEquals(1, fixture.server().counters().get(KcpCounter.STATELESS_RESETS_OUT));
    }
  }

  /** The secret follows from the key. */
  @OverEachTransport
  void clientOfARestartedServerWithKeysLearnsOfThat(TransportUnderTest transport) throws Exception {
    KeyRing keys = KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "key"));
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, keys);
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, keys);
      KcpServerChannel crashed = fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);
      crashed.sockets().first().channel().close().syncUninterruptibly();
      fixture.serveAgain(Echo::new, crashed.localAddress());

      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      client.closeFuture().syncUninterruptibly();
      assertEquals(EndReason.SESSION_UNKNOWN, client.endReason());
    }
  }

  @Test
  void secretOfResetTokensFollowsFromAllThatIsTheSameAfterARestart() {
    PacketKey key = PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "key");
    PacketKey other = PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "other");
    PacketKey noAead = PacketKey.ofPassphrase(CipherAlgorithm.AES_128, "key");
    InetSocketAddress local = new InetSocketAddress(InetAddress.getLoopbackAddress(), 5000);
    byte[] secret = ResetSecret.of(KeyRing.of(key), local, false);
    assertArrayEquals(secret, ResetSecret.of(KeyRing.of(key), local, false));
    assertArrayEquals(secret, ResetSecret.of(KeyRing.of(key, other), local, false));
    List<byte[]> others =
        List.of(
            ResetSecret.of(KeyRing.of(other, key), local, false),
            ResetSecret.of(
                KeyRing.of(key),
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 5001),
                false),
            ResetSecret.of(KeyRing.of(key), local, true),
            ResetSecret.of(KeyRing.of(noAead), local, false),
            ResetSecret.of(KeyRing.of(noAead), local, false),
            ResetSecret.of(KeyRing.NONE, local, false));
    Set<String> distinct = new HashSet<>();
    distinct.add(ByteBufUtil.hexDump(secret));
    others.forEach(s -> distinct.add(ByteBufUtil.hexDump(s)));
    assertEquals(1 + others.size(), distinct.size());
  }

  @OverEachTransport
  void peerWithoutTheExtensionHasNoHalfClose(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.configureClient(config -> config.extension(false));
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      exchange(client, recorder);

      ChannelFuture refused = fixture.child().shutdownOutput();

      assertInstanceOf(UnsupportedOperationException.class, refused.awaitUninterruptibly().cause());
      exchange(client, recorder);
      assertTrue(client.isActive());
    }
  }
}
