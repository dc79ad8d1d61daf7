package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Peers of ended sessions, which learn of the end when they send something: protocol.md 13.11. */
class EndedTest {

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);

  @BeforeEach
  void setTokens() {
    client.token = 0x1111_2222_3333_4444L;
    server.token = 0x5555_6666_7777_8888L;
  }

  private void begin() {
    client.open(server);
    client.write(10);
    exchange(20);
    assertEquals(10, server.received);
    client.packets();
    server.packets();
  }

  private void exchange(int times) {
    for (int i = 0; i < times; i++) {
      client.runTo(client.nowUs + 10_000);
      server.runTo(server.nowUs + 10_000);
      server.take(client, client.packets());
      client.take(server, server.packets());
    }
  }

  /** The session ends at one side, and the other one is told nothing. */
  private static void end(VirtualHost host) {
    host.driver.table.remove(host.session, host.nowUs);
    host.session.close();
  }

  /** What {@code host} answers when {@code peer} writes to it. */
  private static List<ByteBuf> answer(VirtualHost host, VirtualHost peer) {
    peer.write(20);
    host.take(peer, peer.packets());
    return host.packets();
  }

  @Test
  void clientLearnsThatTheServerHasEndedTheSession() {
    begin();
    end(server);
    List<ByteBuf> answer = answer(server, client);
    assertEquals(1, answer.size());
    assertEquals(
        "4b01" + "030800" + "4444333322221111" + "180000",
        ByteBufUtil.hexDump(VirtualHost.message(answer.get(0))));
    client.take(server, answer);
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
    assertEquals(1, server.count(KcpCounter.ENDED_OUT));
  }

  @Test
  void serverLearnsThatTheClientHasEndedTheSession() {
    begin();
    end(client);
    client.take(server, List.of());
    server.take(client, List.of());
    server.write(20);
    client.take(server, server.packets());
    server.take(client, client.packets());
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), server.ends);
  }

  @Test
  void peerThatOnlyProbesIsTold() {
    begin();
    end(server);
    client.session.kcp().probeKeepAlive();
    client.flush();
    server.take(client, client.packets());
    client.take(server, server.packets());
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
  }

  @Test
  void peerIsToldOnceASecond() {
    begin();
    end(server);
    assertEquals(1, answer(server, client).size());
    assertEquals(0, answer(server, client).size());
    server.runTo(server.nowUs + 1_000_000);
    assertEquals(1, answer(server, client).size());
  }

  @Test
  void answerGetsNoAnswer() {
    begin();
    end(server);
    List<ByteBuf> answer = answer(server, client);
    end(client);
    client.take(server, answer);
    assertEquals(List.of(), client.packets());
  }

  @Test
  void answerOfAnotherSessionIsIgnored() {
    begin();
    end(server);
    List<ByteBuf> answer = answer(server, client);
    end(client);
    client.token++;
    client.open(server);
    client.write(10);
    client.take(server, answer);
    assertEquals(List.of(), client.ends);
    assertFalse(client.session.hasPeerAnswered());
  }

  @Test
  void noAnswerIsLongerThanWhatItAnswers() {
    begin();
    end(server);
    ByteBuf probe = Unpooled.buffer();
    Segment.write(probe, VirtualHost.CONV, Segment.WASK, 0, 128, 1, 0, 0, 0);
    server.take(client, List.of(probe));
    assertEquals(List.of(), server.packets());
    client.write(15);
    server.take(client, client.packets());
    assertEquals(List.of(), server.packets());
    client.runTo(client.nowUs + 2_000);
    List<ByteBuf> answer = answer(server, client);
    assertEquals(44, answer.get(0).readableBytes() + 4);
  }

  @Test
  void peerWithoutTheExtensionIsToldNothing() {
    client.token = 0;
    begin();
    end(server);
    assertEquals(List.of(), answer(server, client));
  }

  @Test
  void peerThatHasReceivedTheCloseNeedNotKnowMore() {
    begin();
    server.finish();
    client.take(server, server.packets());
    assertTrue(client.session.hasPeerClosed());
    end(server);
    client.take(server, answer(server, client));
    assertEquals(List.of(), client.ends);
  }

  @Test
  void nobodyIsToldOnceTheSessionIsForgotten() {
    begin();
    end(server);
    server.runTo(server.nowUs + 60_000_000);
    assertEquals(List.of(), answer(server, client));
    assertEquals(0, server.count(KcpCounter.ENDED_OUT));
  }
}
