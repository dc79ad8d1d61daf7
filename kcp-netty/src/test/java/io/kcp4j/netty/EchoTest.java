package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;

/** Streams and messages arrive unaltered. */
class EchoTest {

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  @OverEachTransport
  void streamIsEchoed(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);

      client.writeAndFlush(Fixture.buffer(client, text("hello, "))).syncUninterruptibly();
      client.writeAndFlush(Fixture.buffer(client, text("world"))).syncUninterruptibly();

      await().until(() -> recorder.received() == 12);
      assertArrayEquals(text("hello, world"), recorder.bytes());
    }
  }

  @OverEachTransport
  void megabyteIsEchoedUnaltered(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      byte[] data = Fixture.randomBytes(1 << 20);

      client.writeAndFlush(Unpooled.wrappedBuffer(data));

      await().until(() -> recorder.received() == data.length);
      assertArrayEquals(data, recorder.bytes());
    }
  }

  @OverEachTransport
  void messagesKeepTheirBoundaries(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      List<byte[]> messages =
          List.of(text("a"), new byte[0], Fixture.randomBytes(20_000), text("the end"));

      for (byte[] message : messages) {
        client.write(Fixture.buffer(client, message));
      }
      client.flush();

      await().until(() -> recorder.reads().size() == messages.size());
      for (int i = 0; i < messages.size(); i++) {
        assertArrayEquals(messages.get(i), recorder.reads().get(i));
      }
    }
  }

  @OverEachTransport
  void tooLargeMessageFailsAlone(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);

      ChannelFuture large = client.write(Fixture.buffer(client, new byte[1 << 20]));
      ChannelFuture small = client.write(Fixture.buffer(client, text("small")));
      client.flush();

      small.syncUninterruptibly();
      assertInstanceOf(IllegalArgumentException.class, large.awaitUninterruptibly().cause());
      await().until(() -> recorder.received() == 5);
      assertTrue(client.isActive());
    }
  }

  @OverEachTransport
  void onlyByteBufsCanBeWritten(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());

      ChannelFuture written = client.writeAndFlush("text").awaitUninterruptibly();

      assertInstanceOf(UnsupportedOperationException.class, written.cause());
      assertTrue(client.isActive());
    }
  }

  @OverEachTransport
  void manySessionsShareOneSocket(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      int sessions = 50;
      List<Recorder> recorders = Stream.generate(Recorder::new).limit(sessions).toList();
      for (int i = 0; i < sessions; i++) {
        KcpChannel client = fixture.connect(recorders.get(i));
        client.writeAndFlush(Fixture.buffer(client, Fixture.randomBytes(5000 + i)));
      }

      for (int i = 0; i < sessions; i++) {
        int length = 5000 + i;
        Recorder recorder = recorders.get(i);
        await().until(() -> recorder.received() == length);
        assertArrayEquals(Fixture.randomBytes(length), recorder.bytes());
      }
      assertEquals(sessions, fixture.server().sessions());
    }
  }

  @OverEachTransport
  void childRunsOnItsServersEventLoop(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      for (int i = 0; i < 4; i++) {
        KcpChannel client = fixture.connect(new Recorder());
        client.writeAndFlush(Fixture.buffer(client, text("hello")));

        KcpChannel child = fixture.child();

        assertSame(fixture.server().eventLoop(), child.eventLoop());
        assertSame(fixture.server(), child.parent());
      }
    }
  }

  @OverEachTransport
  void bothPeersHaveAddressesAndConversation(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, text("hello")));
      KcpChannel child = fixture.child();

      assertNotEquals(0, client.conv());
      assertEquals(client.conv(), child.conv());
      assertEquals(client.localAddress(), child.remoteAddress());
      assertEquals(client.remoteAddress(), child.localAddress());
      assertEquals(fixture.server().localAddress(), child.localAddress());
    }
  }
}
