package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Unreliable datagrams by the extension, and answers to path challenges: protocol.md 13.7. */
class ExtensionDatagramTest {

  private static final long CLIENT_TOKEN = 0x1122_3344_5566_7788L;
  private static final long SERVER_TOKEN = 0x99aa_bbcc_ddee_ff00L;
  private static final String TO_SERVER = "4b01" + "030800" + "00ffeeddccbbaa99";

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);

  /** Begins a session that has sent a segment. */
  private void begin() {
    client.open(server);
    TestDriver.configure(client.session, config -> config.datagramQueue(10));
    client.write(10);
    server.take(client, client.packets());
    TestDriver.configure(server.session, config -> config.datagramQueue(10));
  }

  private void beginWithExtension() {
    client.token = CLIENT_TOKEN;
    server.token = SERVER_TOKEN;
    begin();
    answer();
    client.runTo(client.nowUs + 20_000);
    server.take(client, client.packets());
  }

  private void answer() {
    server.runTo(server.nowUs + 20_000);
    client.take(server, server.packets());
  }

  private static ByteBuf datagram(int value) {
    return Unpooled.buffer().writeShort(value);
  }

  private List<ByteBuf> send(VirtualHost sender, int... values) {
    for (int value : values) {
      sender.session.sendUnreliable(datagram(value));
    }
    sender.flush();
    return sender.packets();
  }

  private static List<Integer> received(VirtualHost host) {
    List<Integer> values = new ArrayList<>();
    for (ByteBuf next; (next = host.session.receiveUnreliable()) != null; next.release()) {
      values.add(next.readUnsignedShort());
    }
    return values;
  }

  @Test
  void datagramsArriveInBothDirections() {
    beginWithExtension();
    List<ByteBuf> packets = send(client, 0xcafe);
    ByteBuf message = VirtualHost.message(packets.get(0));
    assertEquals(TO_SERVER + "0e0600" + "00000000" + "cafe", ByteBufUtil.hexDump(message));
    server.take(client, packets);
    assertEquals(List.of(0xcafe), received(server));
    client.take(server, send(server, 1, 2));
    assertEquals(List.of(1, 2), received(client));
    assertEquals(2, client.count(KcpCounter.UNRELIABLE_IN));
  }

  @Test
  void datagramHasTheTrueWindowAndUna() {
    beginWithExtension();
    ByteBuf packet = send(server, 1).get(0);
    assertEquals(Segment.WINS, Segment.cmd(packet, 0));
    assertEquals(1, Segment.una(packet, 0));
    assertEquals(KcpConfig.INITIAL_WINDOW, Segment.wnd(packet, 0));
  }

  @Test
  void datagramsWaitUntilThePeerHasTheExtension() {
    client.token = CLIENT_TOKEN;
    server.token = SERVER_TOKEN;
    begin();
    assertEquals(List.of(), send(client, 1));
    answer();
    client.runTo(client.nowUs + 20_000);
    server.take(client, client.packets());
    assertEquals(List.of(1), received(server));
  }

  /** The answer of a server may be lost, or follow its datagram. */
  @Test
  void datagramsOfAServerWaitUntilItsAnswerIsConfirmed() {
    client.token = CLIENT_TOKEN;
    server.token = SERVER_TOKEN;
    begin();
    assertEquals(List.of(), send(server, 1));
    answer();
    assertEquals(List.of(), received(client));
    client.runTo(client.nowUs + 20_000);
    server.take(client, client.packets());
    client.take(server, server.packets());
    assertEquals(List.of(1), received(client));
  }

  @Test
  void datagramsToAPeerWithoutTheExtensionAreDropped() {
    client.token = CLIENT_TOKEN;
    begin();
    List<OutboundMessage.Drop> drops = new ArrayList<>();
    client.session.sendUnreliable(new Dropped(datagram(1), drops));
    client.flush();
    for (int i = 0; i < 3; i++) {
      answer();
      client.write(10);
      server.take(client, client.packets());
    }
    answer();
    assertEquals(List.of(OutboundMessage.Drop.UNSUPPORTED), drops);
    assertEquals(0, client.session.maxUnreliableBytes());
    assertThrows(IllegalArgumentException.class, () -> client.session.sendUnreliable(datagram(1)));
  }

  @Test
  void largestDatagramFillsThePacket() {
    beginWithExtension();
    int max = client.session.maxUnreliableBytes();
    client.session.sendUnreliable(Unpooled.buffer().writeZero(max));
    client.flush();
    List<ByteBuf> packets = client.packets();
    assertEquals(KcpConfig.DEFAULT.mtuBytes(), packets.get(0).readableBytes());
    server.take(client, packets);
    assertEquals(max, server.session.receiveUnreliable().readableBytes());
    assertThrows(
        IllegalArgumentException.class,
        () -> client.session.sendUnreliable(Unpooled.buffer().writeZero(max + 1)));
  }

  @Test
  void reorderedDatagramsAreReceived() {
    beginWithExtension();
    List<ByteBuf> packets = send(client, 1, 2, 3);
    server.take(client, List.of(packets.get(2), packets.get(0), packets.get(1)));
    assertEquals(List.of(3, 1, 2), received(server));
  }

  @Test
  void datagramWithoutTheTokenIsIgnored() {
    beginWithExtension();
    List<ByteBuf> packets = send(client, 1);
    int token = Segment.HEADER_BYTES + ExtensionMessage.HEADER_BYTES + 3;
    packets.get(0).setByte(token, packets.get(0).getByte(token) ^ 1);
    server.take(client, packets);
    assertNull(server.session.receiveUnreliable());
  }

  @Test
  void receiverWithoutAQueueDropsDatagrams() {
    beginWithExtension();
    TestDriver.configure(server.session, config -> config.datagramQueue(0));
    server.take(client, send(client, 1));
    assertNull(server.session.receiveUnreliable());
    assertEquals(1, server.count(KcpCounter.UNRELIABLE_DROPPED));
  }

  @Test
  void receivedDatagramsCountAsPayloadForTheIdleTimeout() {
    beginWithExtension();
    TestDriver.configure(server.session, config -> config.idleTimeoutMs(2_000));
    for (int i = 0; i < 5; i++) {
      server.runTo(server.nowUs + 1_000_000);
      server.take(client, send(client, i));
    }
    assertEquals(List.of(), server.ends);
    server.runTo(server.nowUs + 4_000_000);
    assertEquals(List.of(EndReason.IDLE_TIMEOUT), server.ends);
  }

  @Test
  void datagramThatHasBecomeTooLargeIsDropped() {
    client.token = CLIENT_TOKEN;
    server.token = SERVER_TOKEN;
    begin();
    List<OutboundMessage.Drop> drops = new ArrayList<>();
    ByteBuf large = Unpooled.buffer().writeZero(client.session.maxUnreliableBytes());
    client.session.sendUnreliable(new Dropped(large, drops));
    TestDriver.configure(client.session, config -> config.mtuBytes(500));
    client.session.sendUnreliable(datagram(1));
    answer();
    client.runTo(client.nowUs + 20_000);
    server.take(client, client.packets());
    assertEquals(List.of(OutboundMessage.Drop.TOO_LARGE), drops);
    assertEquals(List.of(1), received(server));
  }

  /** A datagram that must not be sent. */
  private static final class Dropped extends OutboundMessage {

    private final List<Drop> drops;

    Dropped(ByteBuf content, List<Drop> drops) {
      super(content);
      this.drops = drops;
    }

    @Override
    protected void sent() {
      throw new AssertionError();
    }

    @Override
    protected void dropped(Drop reason) {
      drops.add(reason);
    }
  }

  @Test
  void pathChallengeIsAnswered() {
    beginWithExtension();
    ByteBuf challenge = Unpooled.buffer();
    String message = TO_SERVER + "0c0800" + "0102030405060708";
    Segment.write(challenge, VirtualHost.CONV, Segment.WINS, 0, 128, 0, 0, 0, message.length() / 2);
    challenge.writeBytes(ByteBufUtil.decodeHexDump(message));
    server.take(client, List.of(challenge));
    ByteBuf response = VirtualHost.message(server.packets().get(0));
    assertEquals(
        "4b01" + "030800" + "8877665544332211" + "0d0800" + "0102030405060708",
        ByteBufUtil.hexDump(response));
    server.runTo(server.nowUs + 100_000);
    assertEquals(List.of(), server.packets());
  }
}
