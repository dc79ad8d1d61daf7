package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import io.kcp4j.EndReason;
import io.netty.channel.ChannelOption;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The options of TCP that frameworks set on any channel. */
class TcpOptionsTest {

  private static void exchange(Fixture fixture) throws Exception {
    Recorder recorder = new Recorder();
    fixture.serve(Echo::new);
    KcpChannel client = fixture.connect(recorder);
    client.writeAndFlush(Fixture.buffer(client, new byte[100]));
    await().until(() -> recorder.received() == 100);
  }

  @Test
  void optionsOfTcpCauseNoWarning() throws Exception {
    try (RecordedLog log = new RecordedLog();
        Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture
          .serverBootstrap
          .option(ChannelOption.SO_BACKLOG, 1024)
          .option(ChannelOption.SO_REUSEADDR, true)
          .childOption(ChannelOption.TCP_NODELAY, true)
          .childOption(ChannelOption.SO_KEEPALIVE, true)
          .childOption(ChannelOption.SO_LINGER, 5);
      fixture
          .bootstrap
          .option(ChannelOption.TCP_NODELAY, false)
          .option(ChannelOption.SO_KEEPALIVE, false)
          .option(ChannelOption.SO_LINGER, -1);

      exchange(fixture);

      assertEquals(5_000, fixture.child().config().getOption(KcpChannelOption.LINGER));
      assertEquals(List.of(), log.messages(Level.WARN));
    }
  }

  @Test
  void optionThatNoChannelOfKcpHasCausesAWarning() throws Exception {
    try (RecordedLog log = new RecordedLog();
        Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.bootstrap.option(ChannelOption.SO_TIMEOUT, 1);

      exchange(fixture);

      List<String> warnings = log.messages(Level.WARN);
      assertEquals(1, warnings.size(), warnings::toString);
      assertTrue(warnings.get(0).contains("SO_TIMEOUT"), warnings::toString);
    }
  }

  @Test
  void optionsReadAsWhatIsInForce() {
    KcpChannelConfig client = new KcpChannel().config();
    assertTrue(client.setOption(ChannelOption.TCP_NODELAY, false));
    assertEquals(true, client.getOption(ChannelOption.TCP_NODELAY));
    assertTrue(client.setOption(ChannelOption.SO_KEEPALIVE, false));
    assertEquals(true, client.getOption(ChannelOption.SO_KEEPALIVE));
    client.setOption(KcpChannelOption.KEEP_ALIVE_INTERVAL, 0);
    assertEquals(false, client.getOption(ChannelOption.SO_KEEPALIVE));

    KcpServerChannelConfig server = new KcpServerChannel().config();
    assertTrue(server.setOption(ChannelOption.SO_BACKLOG, 7));
    assertEquals(256, server.getOption(ChannelOption.SO_BACKLOG));
  }

  @Test
  void soLingerIsLingerInSeconds() {
    KcpChannelConfig config = new KcpChannel().config();
    assertEquals(-1, config.getOption(ChannelOption.SO_LINGER));

    config.setOption(ChannelOption.SO_LINGER, 0);
    assertEquals(0, config.getOption(KcpChannelOption.LINGER));
    config.setOption(ChannelOption.SO_LINGER, 7);
    assertEquals(7_000, config.getOption(KcpChannelOption.LINGER));
    config.setOption(KcpChannelOption.LINGER, 7_001);
    assertEquals(8, config.getOption(ChannelOption.SO_LINGER));
    config.setOption(ChannelOption.SO_LINGER, -1);
    assertEquals(3_000, config.getOption(KcpChannelOption.LINGER));
    config.setOption(ChannelOption.SO_LINGER, 2_147_483);
    assertEquals(2_147_483_000, config.getOption(KcpChannelOption.LINGER));
    assertThrows(
        IllegalArgumentException.class, () -> config.setOption(ChannelOption.SO_LINGER, 2_147_484));
    assertEquals(2_147_483_000, config.getOption(KcpChannelOption.LINGER));
    assertFalse(config.getOptions().containsKey(ChannelOption.SO_LINGER));
  }

  @OverEachTransport
  void closeWithSoLinger0AbortsTheSession(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      Recorder atServer = new Recorder();
      fixture.serve(() -> atServer);
      fixture.bootstrap.option(ChannelOption.SO_LINGER, 0);
      Recorder atClient = new Recorder();
      KcpChannel client = fixture.connect(atClient);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      await().until(() -> atClient.livenessEvents.contains(KcpChannelEvent.ESTABLISHED));

      client.close();

      await().until(() -> !atServer.exceptions.isEmpty());
      KcpSessionClosedException end =
          assertInstanceOf(KcpSessionClosedException.class, atServer.exceptions.get(0));
      assertEquals(EndReason.RESET, end.reason());
    }
  }
}
