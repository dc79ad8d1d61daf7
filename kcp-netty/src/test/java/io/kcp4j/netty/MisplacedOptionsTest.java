package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.lanes.LanesConfig;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.util.AttributeKey;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Options of the wrong side, that cannot be set, or that contradict each other. */
class MisplacedOptionsTest {

  private static final KeyRing KEYS =
      KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "key"));

  /** Asserts that bind or connect fails with a message that names the right option. */
  private static void assertFails(ChannelFuture future, String named) {
    await().until(future::isDone);
    IllegalArgumentException cause =
        assertInstanceOf(IllegalArgumentException.class, future.cause());
    assertTrue(cause.getMessage().contains(named), cause.getMessage());
  }

  private static ChannelFuture bind(Fixture fixture) {
    return fixture.serverBootstrap.childHandler(new Recorder()).bind(Fixture.ANY_PORT);
  }

  private static ChannelFuture connect(Fixture fixture) {
    return fixture.bootstrap.handler(new Recorder()).connect(Fixture.ANY_PORT);
  }

  static Stream<Arguments> optionsOfClients() {
    return Stream.of(
        Arguments.of(
            KcpChannelOption.DELIVERY, Delivery.LANES, "DELIVERY: (expected: set by child"),
        Arguments.of(KcpChannelOption.LINGER, 0, "LINGER: (expected: set by childOption"));
  }

  @ParameterizedTest
  @MethodSource("optionsOfClients")
  <T> void clientsOptionFailsTheBindOfAServer(ChannelOption<T> option, T value, String named) {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(option, value);
      assertFails(bind(fixture), named);
    }
  }

  static Stream<Arguments> optionsOfServers() {
    return Stream.of(
        Arguments.of(
            KcpServerChannelOption.MAX_SESSIONS, 5, "MAX_SESSIONS: (expected: set by option"),
        Arguments.of(KcpServerChannelOption.SOCKETS, 2, "SOCKETS: (expected: set by option on a"));
  }

  @ParameterizedTest
  @MethodSource("optionsOfServers")
  <T> void serversOptionFailsTheConnectOfAClient(ChannelOption<T> option, T value, String named) {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.bootstrap.option(option, value);
      assertFails(connect(fixture), named);
    }
  }

  @Test
  void lanesWithoutTheirDeliveryFailBindAndConnect() {
    LanesConfig lanes = LanesConfig.builder().build();
    String named = KcpChannelOption.LANES + ": set with DELIVERY STREAM (expected: LANES)";
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.bootstrap.option(KcpChannelOption.LANES, lanes);
      assertFails(connect(fixture), named);
      fixture.serverBootstrap.childOption(KcpChannelOption.LANES, lanes);
      assertFails(bind(fixture), named);
    }
  }

  @Test
  void lanesWithoutTheExtensionFailBindAndConnect() {
    String named = "extension: false (expected: true with DELIVERY LANES)";
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.LANES);
      fixture.configureClient(config -> config.extension(false));
      assertFails(connect(fixture), named);
      fixture.configureChildren(config -> config.extension(false));
      fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.LANES);
      assertFails(bind(fixture), named);
    }
  }

  @Test
  void optionsMayContradictEachOtherUntilAllAreSet() {
    KcpChannelConfig config = new KcpChannel().config();
    config.setOption(KcpChannelOption.LANES, LanesConfig.builder().build());
    assertNotNull(config.mistake());
    config.setOption(KcpChannelOption.DELIVERY, Delivery.LANES);
    assertNull(config.mistake());
  }

  /** A system property of Netty makes bootstraps ignore exceptions of options. */
  private static <T> void setAndSwallow(ChannelConfig config, ChannelOption<T> option, T value) {
    try {
      config.setOption(option, value);
    } catch (RuntimeException e) {
      assertTrue(e.getMessage().contains(option.name()), e.getMessage());
    }
  }

  @Test
  void ignoredRefusalOfAKeyRingFailsBindAndConnect() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.handler(
          new ChannelInboundHandlerAdapter() {
            @Override
            public void handlerAdded(ChannelHandlerContext ctx) {
              setAndSwallow(ctx.channel().config(), KcpChannelOption.KEY_RING, KEYS);
            }
          });
      assertFails(bind(fixture), KcpChannelOption.KEY_RING.name());

      fixture.bootstrap.handler(
          new ChannelInboundHandlerAdapter() {
            @Override
            public void handlerAdded(ChannelHandlerContext ctx) {
              setAndSwallow(ctx.channel().config(), KcpChannelOption.KEY_RING, KEYS);
            }
          });
      assertFails(fixture.bootstrap.connect(Fixture.ANY_PORT), KcpChannelOption.KEY_RING.name());
    }
  }

  @Test
  void keyRingThatWasRefusedFailsBindAndConnectUntilAnotherIsSet() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      // Too late: the socket is there, and has no room for what these keys add.
      fixture.serverBootstrap.handler(
          new ChannelInboundHandlerAdapter() {
            @Override
            public void handlerAdded(ChannelHandlerContext ctx) {
              setAndSwallow(ctx.channel().config(), KcpChannelOption.KEY_RING, KEYS);
            }
          });
      assertFails(bind(fixture), KcpChannelOption.KEY_RING.name());

      KcpChannel client = new KcpChannel();
      client.config().setOption(KcpChannelOption.LINGER, 0);
      fixture.bootstrap.config().group().register(client).syncUninterruptibly();
      setAndSwallow(client.config(), KcpChannelOption.KEY_RING, KEYS);
      assertFails(client.connect(Fixture.ANY_PORT), KcpChannelOption.KEY_RING.name());
      assertFails(client.bind(Fixture.ANY_PORT), KcpChannelOption.KEY_RING.name());
      client.config().setOption(KcpChannelOption.KEY_RING, KeyRing.NONE);
      client.bind(Fixture.ANY_PORT).syncUninterruptibly();
      client.close().syncUninterruptibly();
    }
  }

  static Stream<Arguments> badChildOptions() {
    return Stream.of(
        Arguments.of(KcpChannelOption.KEY_RING, KEYS, KcpChannelOption.KEY_RING),
        Arguments.of(KcpServerChannelOption.MAX_SESSIONS, 5, KcpServerChannelOption.MAX_SESSIONS),
        Arguments.of(
            KcpChannelOption.SOCKET_CONFIG,
            KcpSocketConfig.DEFAULT,
            KcpChannelOption.SOCKET_CONFIG),
        Arguments.of(KcpChannelOption.LINGER, -1, KcpChannelOption.LINGER),
        Arguments.of(KcpChannelOption.CONV, 5, KcpChannelOption.CONV));
  }

  @ParameterizedTest
  @MethodSource("badChildOptions")
  <T> void badChildOptionFailsTheBind(ChannelOption<T> option, T value, ChannelOption<?> named) {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.childOption(option, value);
      assertFails(bind(fixture), named.name().substring(named.name().indexOf('#') + 1));
      assertTrue(fixture.children.isEmpty());
    }
  }

  @Test
  void badChildOptionFailsTheBindOfSeveralSockets() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO, 2)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.SOCKETS, 2);
      fixture.serverBootstrap.childOption(KcpChannelOption.KEY_RING, KEYS);
      assertFails(bind(fixture), KcpChannelOption.KEY_RING.name());
    }
  }

  @OverEachTransport
  void childOptionsAreValidatedWithoutAddingTheChildHandler(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      AtomicInteger added = new AtomicInteger();
      ChannelInboundHandlerAdapter notSharable =
          new ChannelInboundHandlerAdapter() {
            @Override
            public void handlerAdded(ChannelHandlerContext ctx) {
              assertEquals("tagged", ctx.channel().attr(AttributeKey.valueOf("kcp4j.test")).get());
              added.incrementAndGet();
            }
          };
      fixture
          .serverBootstrap
          .childAttr(AttributeKey.valueOf("kcp4j.test"), "tagged")
          .childOption(ChannelOption.SO_TIMEOUT, 1) // Unknown: a warning of Netty's.
          .childOption(ChannelOption.AUTO_READ, false)
          .childHandler(notSharable);
      KcpServerChannel server =
          (KcpServerChannel)
              fixture.serverBootstrap.bind(Fixture.ANY_PORT).syncUninterruptibly().channel();
      assertEquals(0, added.get());
      assertEquals(0, server.sessions());

      KcpChannel client = fixture.connectTo(server.localAddress(), new Recorder());
      client.config().setOption(KcpChannelOption.LINGER, 0);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      await().until(() -> added.get() == 1);
      server.sockets().first().close();
      await().until(() -> server.sessions() == 0);
    }
  }

  /** One option has the keys of both sides, so that none can be set on the wrong one. */
  @Test
  void keyRingIsTheSameOptionOnBothSides() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KEYS);
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, KEYS);
      KcpServerChannel server = fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      await().until(() -> recorder.received() == 1);

      assertSame(KEYS, server.config().getOption(KcpChannelOption.KEY_RING));
      assertSame(KEYS, client.config().getOption(KcpChannelOption.KEY_RING));
      assertSame(KEYS, fixture.child().config().getOption(KcpChannelOption.KEY_RING));
    }
  }

  @Test
  void keyRingOfAChildSaysWhereItBelongs() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.KEY_RING, KEYS);
      ChannelFuture bound = bind(fixture);
      await().until(bound::isDone);
      assertEquals(
          "childOption "
              + KcpChannelOption.KEY_RING
              + ": (expected: set by option on the server, for all its sessions)",
          bound.cause().getMessage());
    }
  }
}
