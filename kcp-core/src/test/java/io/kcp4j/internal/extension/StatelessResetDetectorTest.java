package io.kcp4j.internal.extension;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.session.EarlierPeerTest;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.session.VirtualHost;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * {@link StatelessResetDetector}: clients of servers that have restarted, or have forgotten the
 * session.
 */
class StatelessResetDetectorTest {

  private static final byte[] SECRET = "0123456789abcdef".getBytes(US_ASCII);
  private static final int DELAY_US = 10_000;

  private final VirtualHost client = new VirtualHost(1);
  private VirtualHost server = newServer(SECRET);

  private static VirtualHost newServer(byte[] secret) {
    VirtualHost server = new VirtualHost(2);
    server.token = 0x5555_6666_7777_8888L;
    server.driver.table.resetTokens(new ResetTokens(secret));
    return server;
  }

  @BeforeEach
  void begin() {
    client.token = 0x1111_2222_3333_4444L;
    client.open(server);
    client.write(10);
    exchange(20);
    server.write(10);
    exchange(20);
    assertTrue(client.session.isExtensionEstablished() && server.session.isExtensionEstablished());
  }

  private void restart(byte[] secret) {
    long nowUs = server.nowUs;
    server = newServer(secret);
    server.nowUs = nowUs;
  }

  /** Lets the delay of one direction pass so often, and forwards what has been sent before. */
  private void exchange(int times) {
    exchange(client, times);
  }

  private void exchange(VirtualHost client, int times) {
    List<ByteBuf> toServer = new ArrayList<>();
    List<ByteBuf> toClient = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      toServer.addAll(client.packets());
      toClient.addAll(server.packets());
      client.runTo(client.nowUs + DELAY_US);
      server.runTo(server.nowUs + DELAY_US);
      server.take(client, toServer);
      client.take(server, toClient);
      toServer.clear();
      toClient.clear();
    }
  }

  @Test
  void clientOfARestartedServerEndsAfterAProbeTimeoutAndARoundTrip() {
    restart(SECRET);
    long startUs = client.nowUs;
    long timeoutUs = client.session.kcp().probeTimeoutUs();
    client.write(10);
    while (client.ends.isEmpty() && client.nowUs < startUs + 10_000_000) {
      exchange(1);
    }
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
    long tookUs = client.nowUs - startUs;
    assertTrue(tookUs <= timeoutUs + 3 * DELAY_US + 2 * DELAY_US, tookUs + " us");
  }

  @Test
  void idleClientOfARestartedServerEndsWithItsSecondProbe() {
    TestDriver.configure(client.session, config -> config.keepAliveIntervalMs(1_000));
    restart(SECRET);
    exchange(400);
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
  }

  /** Its queries come with probes that could be those of a new client. */
  @Test
  void clientThatHasReceivedNothingIsToldByAServerThatAcceptsNoSession() {
    VirtualHost idle = new VirtualHost(3);
    idle.token = client.token;
    idle.open(server);
    TestDriver.configure(idle.session, config -> config.keepAliveIntervalMs(1_000));
    idle.write(10);
    exchange(idle, 20);
    assertTrue(idle.session.isExtensionEstablished());
    restart(SECRET);
    server.driver.isAccepting = false;
    exchange(idle, 400);
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), idle.ends);
  }

  @Test
  void serverWithAnotherSecretEndsNothing() {
    restart("another secret !".getBytes(US_ASCII));
    client.write(10);
    exchange(100);
    assertEquals(List.of(), client.ends);
    assertTrue(server.count(KcpCounter.STATELESS_RESETS_OUT) > 0);
  }

  @Test
  void idleClientOfAServerWithAnotherSecretEndsByItsKeepAlive() {
    TestDriver.configure(client.session, config -> config.keepAliveIntervalMs(1_000));
    restart("another secret !".getBytes(US_ASCII));
    exchange(2_000);
    assertEquals(List.of(EndReason.KEEP_ALIVE_TIMEOUT), client.ends);
  }

  /** An item of an unknown type takes the rest. */
  @ParameterizedTest
  @ValueSource(strings = {"", "ff0000", "ff010000"})
  void queryThatIsShorterThanTheResetIsNotAnswered(String rest) {
    restart(SECRET);
    byte[] message =
        ByteBufUtil.decodeHexDump("4b01" + "090c00" + "0000000000000000" + "00000000" + rest);
    ByteBuf query = Unpooled.buffer();
    Segment.write(query, VirtualHost.CONV, Segment.WINS, 0, 128, 0, 0, 5, message.length);
    query.writeBytes(message);
    server.take(client, List.of(query));
    int resetBytes = Segment.HEADER_BYTES + 2 + 3 + ResetTokens.BYTES;
    assertEquals(
        query.readableBytes() < resetBytes ? List.of() : List.of(resetBytes),
        server.packets().stream().map(ByteBuf::readableBytes).toList());
  }

  /** The round trip may be longer than the time between two queries. */
  @Test
  void resetThatAnswersTheFirstOfSeveralQueriesCounts() {
    VirtualHost restarted = newServer(SECRET);
    client.write(10);
    while (restarted.count(KcpCounter.STATELESS_RESETS_OUT) == 0) {
      client.runTo(client.nowUs + 1_000);
      restarted.take(client, client.packets());
    }
    client.runTo(client.nowUs + 1_000_000);
    assertTrue(client.packets().size() > 1, "further queries");
    client.take(restarted, restarted.packets());
    client.runTo(client.nowUs + 100_000);
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
    assertEquals(0, client.count(KcpCounter.STATELESS_RESETS_REFUSED));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 7, 8, 15})
  void resetWithAnotherTokenIsRefused(int changed) {
    VirtualHost restarted = newServer(SECRET);
    client.write(10);
    while (restarted.count(KcpCounter.STATELESS_RESETS_OUT) == 0) {
      client.runTo(client.nowUs + 1_000);
      restarted.take(client, client.packets());
    }
    ByteBuf reset = restarted.packets().get(0);
    int token = ExtensionMessage.findInSegments(reset, ExtensionMessage.STATELESS_RESET);
    int index = token + ExtensionMessage.ITEM_HEADER_BYTES + changed;
    reset.setByte(index, reset.getByte(index) ^ 1);
    client.take(restarted, List.of(reset));
    client.runTo(client.nowUs + 100_000);
    assertEquals(List.of(), client.ends);
    assertEquals(1, client.count(KcpCounter.STATELESS_RESETS_REFUSED));
  }

  @Test
  void sessionThatMakesProgressMeanwhileGoesOn() {
    VirtualHost restarted = newServer(SECRET);
    client.write(10);
    List<ByteBuf> lost = client.packets();
    while (restarted.count(KcpCounter.STATELESS_RESETS_OUT) == 0) {
      client.runTo(client.nowUs + 1_000);
      restarted.take(client, client.packets());
    }
    client.take(server, restarted.packets());
    server.nowUs = client.nowUs;
    server.take(client, lost);
    server.runTo(server.nowUs + 3_000);
    client.take(server, server.packets());
    exchange(50);
    assertEquals(List.of(), client.ends);
  }

  /** What a server that does not know the session says to the client's first query. */
  private ByteBuf recordReset(boolean isEarlierServer) {
    VirtualHost restarted = newServer(SECRET);
    client.write(10);
    while (restarted.count(KcpCounter.STATELESS_RESETS_OUT) == 0) {
      client.runTo(client.nowUs + 1_000);
      restarted.take(client, client.packets());
    }
    List<ByteBuf> sent = restarted.packets();
    ByteBuf reset = sent.get(sent.size() - 1);
    int echoBytes = isEarlierServer ? 0 : ExtensionMessage.Echo.BYTES;
    int bytes = ExtensionMessage.HEADER_BYTES + 3 + ResetTokens.BYTES + echoBytes;
    assertEquals(bytes, VirtualHost.message(reset).readableBytes());
    server.nowUs = client.nowUs;
    exchange(200);
    assertTrue(client.session.kcp().isDrained());
    return reset;
  }

  private void assertResetIsIgnored(ByteBuf reset) {
    client.take(server, List.of(reset));
    exchange(100);
    assertEquals(List.of(), client.ends);
    assertEquals(1, client.count(KcpCounter.STATELESS_RESETS_REFUSED));
  }

  @Test
  void resetIsIgnoredWhileNoQueryIsOutstanding() {
    assertResetIsIgnored(recordReset(false));
  }

  @Test
  void resetThatAnswersAnEarlierQueryIsIgnored() {
    ByteBuf reset = recordReset(false);
    client.write(10);
    client.runTo(client.nowUs + 1_000_000);
    assertTrue(
        client.packets().stream()
            .anyMatch(p -> ExtensionMessage.findInSegments(p, ExtensionMessage.SESSION_QUERY) >= 0),
        "a query is outstanding");
    assertResetIsIgnored(reset);
  }

  /** The reset of a server without RESET_ECHO would count as long as a query is outstanding. */
  @Test
  void resetWithoutTheRandomBytesIsIgnored() {
    ByteBuf reset = recordReset(false);
    client.write(10);
    client.runTo(client.nowUs + 1_000_000);
    client.packets();
    ByteBuf earlier = reset.copy(0, reset.readableBytes() - ExtensionMessage.Echo.BYTES);
    earlier.setIntLE(
        Segment.HEADER_BYTES - 4, Segment.length(reset, 0) - ExtensionMessage.Echo.BYTES);
    earlier.setShortLE(Segment.HEADER_BYTES + ExtensionMessage.HEADER_BYTES + 1, ResetTokens.BYTES);
    assertResetIsIgnored(earlier);
  }

  @Test
  void resetOfAnEarlierServerCountsOnlyWhileAQueryIsOutstanding() {
    beginWithAnEarlierServer();
    ByteBuf reset = recordReset(true);
    assertResetIsIgnored(reset);
    client.write(10);
    client.runTo(client.nowUs + 1_000_000);
    client.packets();
    client.take(server, List.of(reset));
    client.runTo(client.nowUs + 100_000);
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
  }

  /** The server takes the client for an earlier one, and does not say what it has. */
  private void beginWithAnEarlierServer() {
    restart(SECRET);
    client.driver.table.remove(client.session, client.nowUs);
    client.open(server);
    client.write(10);
    server.take(client, client.packets().stream().map(EarlierPeerTest::withoutParameters).toList());
    exchange(20);
    assertTrue(client.session.isExtensionEstablished());
  }

  @Test
  void answersAreLimited() {
    restart(SECRET);
    client.write(10);
    client.packets();
    client.runTo(client.nowUs + 1_000_000);
    List<ByteBuf> queries = client.packets();
    ByteBuf query = queries.get(queries.size() - 1);
    for (int i = 0; i < 3_000; i++) {
      server.take(client, List.of(query));
    }
    long answered = server.count(KcpCounter.STATELESS_RESETS_OUT);
    assertTrue(answered > 300 && answered <= 2_000, "" + answered);
    server.packets().forEach(p -> assertTrue(p.readableBytes() <= query.readableBytes()));
    server.nowUs += 1_000_000;
    server.take(client, List.of(query));
    assertEquals(answered + 1, server.count(KcpCounter.STATELESS_RESETS_OUT));
  }

  @Test
  void clientWithoutTheExtensionIsNotAnswered() {
    restart(SECRET);
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, VirtualHost.CONV, Segment.PUSH, 0, 128, 0, 5, 3, 0);
    server.take(client, List.of(push));
    assertEquals(List.of(), server.packets());
  }

  @Test
  void clientOfASessionThatTheServerHasClosedIsTold() {
    server.driver.table.remove(server.session, server.nowUs);
    server.session.close();
    client.write(10);
    exchange(50);
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
  }
}
