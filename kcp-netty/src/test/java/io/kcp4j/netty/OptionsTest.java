package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalIoHandler;
import io.netty.channel.unix.UnixChannelOption;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Options are validated, read as they were set, and applied to the session. */
class OptionsTest {

  private static final KeyRing KEYS =
      KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "key"));

  static Stream<Arguments> validOptions() {
    return Stream.of(
        Arguments.of(KcpChannelOption.DELIVERY, Delivery.MESSAGE),
        Arguments.of(KcpChannelOption.SEND_WINDOW, 17),
        Arguments.of(KcpChannelOption.RECEIVE_WINDOW, 18),
        Arguments.of(KcpChannelOption.MTU, 576),
        Arguments.of(KcpChannelOption.CONGESTION_CONTROL, CongestionControl.RENO),
        Arguments.of(KcpChannelOption.USER_TIMEOUT, 1234),
        Arguments.of(KcpChannelOption.RATE_LIMIT, 1_000_000),
        Arguments.of(KcpChannelOption.CONV, -1),
        Arguments.of(KcpChannelOption.IDLE_TIMEOUT, 1),
        Arguments.of(KcpChannelOption.KEEP_ALIVE_INTERVAL, 0),
        Arguments.of(KcpChannelOption.KEEP_ALIVE_PROBES, 3),
        Arguments.of(
            KcpChannelOption.SOCKET_CONFIG,
            KcpSocketConfig.builder().maxDatagramBytes(576).build()),
        Arguments.of(KcpChannelOption.LINGER, 0),
        Arguments.of(KcpChannelOption.CONNECT_PROBE, true),
        Arguments.of(ChannelOption.SO_RCVBUF, 123_456),
        Arguments.of(ChannelOption.SO_REUSEADDR, true),
        Arguments.of(ChannelOption.IP_TOS, 16),
        Arguments.of(UnixChannelOption.SO_REUSEPORT, true),
        Arguments.of(ChannelOption.AUTO_READ, false));
  }

  @ParameterizedTest
  @MethodSource("validOptions")
  <T> void optionReadsAsItWasSet(ChannelOption<T> option, T value) {
    KcpChannel client = new KcpChannel();

    assertTrue(client.config().setOption(option, value));

    assertEquals(value, client.config().getOption(option));
    assertEquals(value, client.config().getOptions().get(option));
  }

  static Stream<Arguments> invalidOptions() {
    return Stream.of(
        Arguments.of(KcpChannelOption.SEND_WINDOW, 0),
        Arguments.of(KcpChannelOption.RECEIVE_WINDOW, 65_536),
        Arguments.of(KcpChannelOption.MTU, 1501),
        Arguments.of(KcpChannelOption.RATE_LIMIT, -1),
        Arguments.of(KcpChannelOption.IDLE_TIMEOUT, -1),
        Arguments.of(KcpChannelOption.KEEP_ALIVE_INTERVAL, -1),
        Arguments.of(KcpChannelOption.KEEP_ALIVE_PROBES, 0),
        Arguments.of(KcpChannelOption.LINGER, -1));
  }

  @ParameterizedTest
  @MethodSource("invalidOptions")
  <T> void valueOutOfRangeIsRefused(ChannelOption<T> option, T value) {
    KcpChannel client = new KcpChannel();
    T before = client.config().getOption(option);

    assertThrows(IllegalArgumentException.class, () -> client.config().setOption(option, value));

    assertEquals(before, client.config().getOption(option));
  }

  @Test
  void optionsOfOtherTransportsAreUnknown() {
    assertFalse(new KcpChannel().config().setOption(ChannelOption.SO_TIMEOUT, 1));
    assertNull(new KcpChannel().config().getOption(ChannelOption.SO_TIMEOUT));
    assertFalse(new KcpServerChannel().config().setOption(ChannelOption.SO_TIMEOUT, 1));
  }

  @Test
  void defaultOfSessionsFitsHalfOfTheHeap() {
    assertEquals(8_192, KcpServerChannelConfig.defaultMaxSessions(48 << 20));
    assertEquals(99_999, KcpServerChannelConfig.defaultMaxSessions(100_000L * 6 * 1024 - 1));
    assertEquals(100_000, KcpServerChannelConfig.defaultMaxSessions(Long.MAX_VALUE / 2));
    assertEquals(1, KcpServerChannelConfig.defaultMaxSessions(1));
    int ofThisHeap =
        KcpServerChannelConfig.defaultMaxSessions(Runtime.getRuntime().maxMemory() / 2);
    KcpServerChannelConfig config = new KcpServerChannel().config();
    assertEquals(ofThisHeap, config.getOption(KcpServerChannelOption.MAX_SESSIONS));
    assertTrue(config.setOption(KcpServerChannelOption.MAX_SESSIONS, Integer.MAX_VALUE));
    assertEquals(Integer.MAX_VALUE, config.getOption(KcpServerChannelOption.MAX_SESSIONS));
  }

  @Test
  void serverOptionsReadAsTheyWereSet() {
    KcpServerChannelConfig config = new KcpServerChannel().config();

    KcpSocketConfig sockets = KcpSocketConfig.builder().acceptOnProbe(true).build();
    assertTrue(config.setOption(KcpChannelOption.SOCKET_CONFIG, sockets));
    assertTrue(config.setOption(KcpServerChannelOption.SOCKETS, 1024));
    assertNull(config.getOption(KcpServerChannelOption.SOCKET_GROUP));
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
    assertTrue(config.setOption(KcpServerChannelOption.SOCKET_GROUP, group));
    assertTrue(config.setOption(KcpServerChannelOption.MAX_SESSIONS, 3));
    assertTrue(config.setOption(KcpServerChannelOption.MAX_UNVALIDATED, 2));
    AcceptFilter none = (remote, conv) -> false;
    assertTrue(config.setOption(KcpServerChannelOption.ACCEPT_FILTER, none));
    assertTrue(config.setOption(KcpServerChannelOption.MEMORY_LIMIT, 1L << 40));

    assertEquals(sockets, config.getOption(KcpChannelOption.SOCKET_CONFIG));
    assertEquals(sockets, config.getOptions().get(KcpChannelOption.SOCKET_CONFIG));
    assertEquals(1024, config.getOption(KcpServerChannelOption.SOCKETS));
    assertEquals(group, config.getOption(KcpServerChannelOption.SOCKET_GROUP));
    assertEquals(3, config.getOption(KcpServerChannelOption.MAX_SESSIONS));
    assertEquals(2, config.getOption(KcpServerChannelOption.MAX_UNVALIDATED));
    assertEquals(none, config.getOption(KcpServerChannelOption.ACCEPT_FILTER));
    assertEquals(1L << 40, config.getOption(KcpServerChannelOption.MEMORY_LIMIT));
    assertThrows(
        IllegalArgumentException.class, () -> config.setOption(KcpServerChannelOption.SOCKETS, 0));
    assertThrows(
        IllegalArgumentException.class,
        () -> config.setOption(KcpServerChannelOption.SOCKETS, 1025));
    assertThrows(
        IllegalArgumentException.class,
        () -> config.setOption(KcpServerChannelOption.MAX_SESSIONS, 0));
    assertThrows(
        IllegalArgumentException.class,
        () -> config.setOption(KcpServerChannelOption.MAX_UNVALIDATED, 0));
  }

  @Test
  void settingsOfSocketsHaveRanges() {
    KcpSocketConfig config =
        KcpSocketConfig.builder()
            .maxDatagramBytes(2047)
            .portUnreachable(KcpSocketConfig.PortUnreachable.END)
            .maxSessionsPerAddress(4)
            .maxDecryptFailures(1_000_000)
            .acceptOnProbe(true)
            .build();
    assertEquals(2047, config.maxDatagramBytes());
    assertEquals(KcpSocketConfig.PortUnreachable.END, config.portUnreachable());
    assertEquals(4, config.maxSessionsPerAddress());
    assertEquals(1_000_000, config.maxDecryptFailures());
    assertTrue(config.acceptOnProbe());
    KcpSocketConfig.Builder builder = KcpSocketConfig.builder();
    IllegalArgumentException refusal =
        assertThrows(IllegalArgumentException.class, () -> builder.maxDatagramBytes(2048));
    assertEquals("maxDatagramBytes: 2048 (expected: 24 to 2047)", refusal.getMessage());
    assertThrows(IllegalArgumentException.class, () -> builder.maxSessionsPerAddress(-1));
    assertThrows(IllegalArgumentException.class, () -> builder.maxDecryptFailures(1_000_001));
  }

  @Test
  void configSetsAllSettingsAndLaterOptionsSingleOnes() {
    KcpChannelConfig config = new KcpChannel().config();
    config.setOption(KcpChannelOption.SEND_WINDOW, 17);
    config.setOption(KcpChannelOption.LINGER, 7);

    config.setOption(KcpChannelOption.CONFIG, KcpConfig.builder().mtuBytes(900).build());
    config.setOption(KcpChannelOption.KEEP_ALIVE_PROBES, 3);

    KcpConfig kcp = config.kcp();
    assertEquals(KcpConfig.DEFAULT_WINDOW, kcp.sendWindow());
    assertEquals(3_000, kcp.lingerMs());
    assertEquals(900, kcp.mtuBytes());
    assertEquals(3, kcp.keepAliveProbes());
  }

  @Test
  void refusalNamesTheOptionOrTheSettingOfTheConfiguration() {
    KcpChannelConfig config = new KcpChannel().config();
    assertRefused(
        config, KcpChannelOption.MTU, 9000, KcpChannelOption.MTU + ": 9000 (expected: 50 to 1500)");
    config.setOption(KcpChannelOption.FEC, FecConfig.of(10, 3));
    assertRefused(
        config, KcpChannelOption.MTU, 32, KcpChannelOption.MTU + ": 32 (expected: 50 to 1500)");
    config.setOption(KcpChannelOption.KEY_RING, KEYS);
    assertRefused(
        config, KcpChannelOption.MTU, 60, KcpChannelOption.MTU + ": 60 (expected: >= 61)");
    KcpConfig small = KcpConfig.builder().mtuBytes(60).build();
    assertRefused(config, KcpChannelOption.CONFIG, small, "mtuBytes: 60 (expected: >= 61)");
  }

  private static <T> void assertRefused(
      KcpChannelConfig config, ChannelOption<T> option, T value, String message) {
    IllegalArgumentException refusal =
        assertThrows(IllegalArgumentException.class, () -> config.setOption(option, value));
    assertEquals(message, refusal.getMessage());
  }

  @OverEachTransport
  void childrenShareOneConfiguration(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture
          .serverBootstrap
          .childOption(KcpChannelOption.CONFIG, KcpConfig.builder().mode(KcpMode.FAST3).build())
          .childOption(KcpChannelOption.SEND_WINDOW, 99);
      fixture.serve(Echo::new);
      for (int i = 0; i < 2; i++) {
        KcpChannel client = fixture.connect(new Recorder());
        client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      }

      KcpConfig first = fixture.child().config().kcp();
      KcpConfig second = fixture.child().config().kcp();

      assertSame(first, second);
      assertEquals(99, first.sendWindow());
      assertEquals(10, first.intervalMs());
    }
  }

  @OverEachTransport
  void settingsOfARunningSessionChange(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      KcpChannel child = fixture.child();

      child.config().setOption(KcpChannelOption.RECEIVE_WINDOW, 5);
      child.eventLoop().submit(() -> {}).syncUninterruptibly();
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      await().until(() -> client.stats().remoteWindow() <= 5);
      assertThrows(
          IllegalArgumentException.class,
          () -> client.config().setOption(KcpChannelOption.DELIVERY, Delivery.MESSAGE));
      assertThrows(
          IllegalArgumentException.class, () -> child.config().setOption(KcpChannelOption.CONV, 1));
    }
  }

  @OverEachTransport
  void socketOptionsReachTheSocket(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(ChannelOption.SO_REUSEADDR, true);
      KcpServerChannel server = fixture.serve(Echo::new);

      assertEquals(true, server.config().getOption(ChannelOption.SO_REUSEADDR));
      assertNotNull(server.config().getOptions().get(ChannelOption.SO_RCVBUF));
      assertTrue(server.config().setOption(ChannelOption.IP_TOS, 16));
    }
  }

  @OverEachTransport
  void deliveryOfAChildCanBeSetByItsInitializer(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      Recorder recorder = new Recorder();
      fixture.serve(
          () ->
              new ChannelInitializer<KcpChannel>() {
                @Override
                protected void initChannel(KcpChannel child) {
                  child.config().setOption(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
                  child.pipeline().addLast(recorder);
                }
              });
      KcpChannel client = fixture.connect(new Recorder());

      client.write(Fixture.buffer(client, new byte[1]));
      client.write(Fixture.buffer(client, new byte[2]));
      client.flush();

      await().until(() -> recorder.reads().size() == 2);
      assertEquals(2, recorder.reads().get(1).length);
    }
  }

  @OverEachTransport
  void childsInitializerCanReduceTheWindowForMessages(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      Recorder recorder = new Recorder();
      fixture.serve(
          () ->
              new ChannelInitializer<KcpChannel>() {
                @Override
                protected void initChannel(KcpChannel child) {
                  child.config().setOption(KcpChannelOption.RECEIVE_WINDOW, 16);
                  child.pipeline().addLast(recorder);
                }
              });
      KcpChannel client = fixture.connect(new Recorder());

      client.writeAndFlush(Fixture.buffer(client, new byte[1]));

      await().until(() -> recorder.received() == 1);
      await().until(() -> client.stats().remoteWindow() == 16);
    }
  }

  @OverEachTransport
  void windowForMessagesCannotBeReducedAfterTheSessionHasBegun(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer unresponsive = new UnresponsivePeer()) {
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      KcpChannel client = fixture.connectTo(unresponsive.address(), new Recorder());
      int window = client.config().getOption(KcpChannelOption.RECEIVE_WINDOW);

      assertThrows(
          IllegalArgumentException.class,
          () -> client.config().setOption(KcpChannelOption.RECEIVE_WINDOW, 16));

      assertEquals(window, client.config().getOption(KcpChannelOption.RECEIVE_WINDOW));
    }
  }

  @Test
  void optionReadsAsTheSettingInForceIfAnotherThreadSetAnInvalidOne() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      KcpChannel client = fixture.connectTo(peer.address(), new Recorder());
      KcpConfig before = client.config().kcp();
      CongestionControl.Factory broken =
          mssBytes -> {
            throw new IllegalArgumentException("broken");
          };

      client.config().setOption(KcpChannelOption.CONGESTION_CONTROL, broken);

      client.eventLoop().submit(() -> {}).sync();
      assertSame(before, client.config().kcp());
      client
          .eventLoop()
          .submit(() -> client.config().setOption(KcpChannelOption.IDLE_TIMEOUT, 100_000))
          .sync();
      assertTrue(client.isActive());
    }
  }
}
