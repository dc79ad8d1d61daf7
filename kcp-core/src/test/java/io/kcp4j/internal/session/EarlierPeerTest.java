package io.kcp4j.internal.session;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Sessions with a peer of commit 247310c, which neither sends nor understands PARAMETERS. The
 * messages of the same session between two such peers were recorded there.
 */
public class EarlierPeerTest {

  private static final byte[] SECRET = "0123456789abcdef".getBytes(US_ASCII);
  private static final int DELAY_US = 10_000;
  private static final List<String> DELIVERED_ON_LANES =
      List.of(
          "10:ordered, 11:unordered, 12:unreliable, 13:sequenced",
          "20:ordered, 21:unordered, 22:unreliable, 23:sequenced",
          "10:ordered, 11:unordered, 12:unreliable, 13:sequenced",
          "20:ordered, 21:unordered, 22:unreliable, 23:sequenced",
          "10:ordered, 11:unordered, 12:unreliable, 13:sequenced",
          "20:ordered, 21:unordered, 22:unreliable, 23:sequenced",
          "12:end, 10:ordered, 11:unordered, 12:unreliable, 13:sequenced");
  private static final String VECTORS = "/vectors/extension-messages.txt";

  private final VirtualHost client = new VirtualHost(1);
  private VirtualHost server = new VirtualHost(2);
  private final List<String> messages = new ArrayList<>();
  private final List<String> received = new ArrayList<>();

  private void open(Delivery delivery) {
    client.token = 0x1122_3344_5566_7788L;
    client.config =
        KcpConfig.builder()
            .delivery(delivery)
            .mtuBytes(1_000)
            .congestionControl(CongestionControl.NONE)
            .build();
    prepareServer();
    if (delivery == Delivery.LANES) {
      client.driver.onProgress = this::readLanes;
    }
    client.open(server);
    TestDriver.configure(client.session, config -> config.datagramQueue(8));
  }

  private void prepareServer() {
    server.token = 0x99aa_bbcc_ddee_ff00L;
    server.config = client.config;
    server.driver.table.resetTokens(new ResetTokens(SECRET));
    if (server.config.delivery() == Delivery.LANES) {
      server.driver.onProgress = this::readLanes;
    }
  }

  private void readLanes(Session session) {
    for (Lane lane; (lane = session.lanes().nextNews()) != null; ) {
      for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
        received.add(lane.id() + ":" + message.toString(US_ASCII));
      }
      if (lane.takeInputEnd()) {
        received.add(lane.id() + ":end");
      }
    }
  }

  /** The network changes what a client says to what one of that commit says. */
  private void exchange(int roundTrips) {
    for (int i = 0; i < roundTrips; i++) {
      server.runTo(server.nowUs + DELAY_US);
      List<ByteBuf> toServer =
          client.packets().stream().map(EarlierPeerTest::withoutParameters).toList();
      note("C ", toServer);
      server.take(client, toServer);
      client.runTo(client.nowUs + DELAY_US);
      List<ByteBuf> toClient = server.packets();
      note("S ", toClient);
      client.take(server, toClient);
    }
  }

  private void note(String sender, List<ByteBuf> packets) {
    for (ByteBuf packet : packets) {
      ByteBuf message = VirtualHost.message(packet);
      if (message.isReadable()) {
        note(sender + ByteBufUtil.hexDump(message));
      }
    }
  }

  private void note(String line) {
    if (messages.isEmpty() || !line.equals(messages.get(messages.size() - 1))) {
      messages.add(line);
    }
  }

  /** The packet of a client of that commit in place of one of today's. */
  public static ByteBuf withoutParameters(ByteBuf packet) {
    ByteBuf message = VirtualHost.message(packet);
    if (!message.isReadable()) {
      return packet;
    }
    int wins = packet.readableBytes() - message.readableBytes() - Segment.HEADER_BYTES;
    ByteBuf items = Unpooled.buffer();
    for (int at = ExtensionMessage.HEADER_BYTES; at < message.readableBytes(); ) {
      int bytes = ExtensionMessage.itemBytesAt(message, at);
      if (ExtensionMessage.type(message, at) != ExtensionMessage.PARAMETERS) {
        items.writeBytes(message, at, bytes);
      }
      at += bytes;
    }
    int messageBytes = ExtensionMessage.HEADER_BYTES + items.readableBytes();
    ByteBuf earlier = Unpooled.buffer().writeBytes(packet, 0, wins);
    Segment.write(
        earlier,
        Segment.conv(packet, wins),
        Segment.WINS,
        0,
        Segment.wnd(packet, wins),
        Segment.ts(packet, 0),
        0,
        Segment.una(packet, wins),
        messageBytes);
    ExtensionMessage.writeHeader(earlier);
    return earlier.writeBytes(items);
  }

  private static void send(VirtualHost host, int id, LaneKind kind, String text) {
    Lane lane = host.session.lanes().lane(id);
    lane.config(LaneConfig.of(kind));
    lane.send(
        new OutboundMessage(Unpooled.copiedBuffer(text, US_ASCII)) {
          @Override
          protected void sent() {}

          @Override
          protected void dropped(Drop reason) {}
        });
  }

  private void sendOnLanes(VirtualHost host, int firstLane) {
    send(host, firstLane, LaneKind.RELIABLE_ORDERED, "ordered");
    send(host, firstLane + 1, LaneKind.RELIABLE_UNORDERED, "unordered");
    send(host, firstLane + 2, LaneKind.UNRELIABLE, "unreliable");
    send(host, firstLane + 3, LaneKind.UNRELIABLE_SEQUENCED, "sequenced");
    host.flush();
  }

  private void sendBothWays() {
    TestDriver.configure(server.session, config -> config.datagramQueue(8));
    if (client.config.delivery() == Delivery.LANES) {
      for (int i = 0; i < 3; i++) {
        sendOnLanes(client, 10);
        sendOnLanes(server, 20);
        exchange(2);
      }
      client.session.lanes().lane(12).shutdownOutput();
      client.flush();
      exchange(3);
      sendOnLanes(client, 10);
    } else {
      client.write(10);
      server.write(5_000);
      exchange(2);
      client.write(5_000);
    }
    client.session.sendUnreliable(Unpooled.copiedBuffer("datagram", US_ASCII));
    server.session.sendUnreliable(Unpooled.copiedBuffer("datagram", US_ASCII));
    client.flush();
    server.flush();
    exchange(5);
  }

  private void run(Delivery delivery) {
    open(delivery);
    if (delivery == Delivery.LANES) {
      client.flush();
    } else {
      client.write(10);
    }
    exchange(6);
    assertTrue(client.session.isExtensionEstablished() && server.session.isExtensionEstablished());
    sendBothWays();
    if (delivery == Delivery.LANES) {
      assertEquals(String.join(", ", DELIVERED_ON_LANES), String.join(", ", received));
    } else {
      assertEquals(5_020, server.received);
      assertEquals(5_000, client.received);
    }
    note("- the server has restarted");
    long nowUs = server.nowUs;
    server = new VirtualHost(2);
    server.nowUs = nowUs;
    prepareServer();
    if (delivery == Delivery.LANES) {
      sendOnLanes(client, 10);
    } else {
      client.write(10);
    }
    exchange(50);
    note("- " + client.ends);
  }

  private static List<String> recorded(Delivery delivery) throws IOException {
    try (InputStream in = EarlierPeerTest.class.getResourceAsStream(VECTORS)) {
      List<String> lines = new String(in.readAllBytes(), US_ASCII).lines().toList();
      int begin = lines.indexOf("# " + delivery) + 1;
      return lines.stream().skip(begin).takeWhile(line -> !line.startsWith("#")).toList();
    }
  }

  @ParameterizedTest
  @EnumSource(Delivery.class)
  void sessionHasTheSameMessagesAsBetweenSuchPeers(Delivery delivery) throws IOException {
    run(delivery);
    assertEquals(recorded(delivery), messages);
  }
}
