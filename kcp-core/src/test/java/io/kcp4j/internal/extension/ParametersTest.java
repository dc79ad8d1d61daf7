package io.kcp4j.internal.extension;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.session.VirtualHost;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@link Parameters}: what peers say about themselves, and how they learn of it. */
class ParametersTest {

  private static final long CLIENT_TOKEN = 0x1122_3344_5566_7788L;
  private static final int INCARNATION = 0x4444_44cc;

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);
  private final List<KcpCounter> mismatches = new ArrayList<>();

  ParametersTest() {
    client.token = CLIENT_TOKEN;
    server.token = 5;
    for (VirtualHost host : List.of(client, server)) {
      host.driver.onMismatch = (counter, remote) -> mismatches.add(counter);
    }
  }

  private void begin(Delivery ofClient, Delivery ofServer) {
    client.config = KcpConfig.builder().delivery(ofClient).build();
    server.config = KcpConfig.builder().delivery(ofServer).build();
    for (VirtualHost host : List.of(client, server)) {
      if (host.config.delivery() == Delivery.LANES) {
        host.driver.onProgress = session -> {};
      }
    }
    client.open(server);
    if (ofClient == Delivery.LANES) {
      client.flush();
    } else {
      client.write(10);
    }
  }

  private void exchange() {
    for (int i = 0; i < 3; i++) {
      server.take(client, client.packets());
      server.runTo(server.nowUs + 20_000);
      client.take(server, server.packets());
      client.runTo(client.nowUs + 20_000);
    }
  }

  private static Parameters ofPeer(VirtualHost host) {
    return host.session.extension().parameters().peer();
  }

  private static Parameters own(int incarnation, VirtualHost host) {
    return Parameters.own(incarnation, host.session.kcp());
  }

  private static ByteBuf onlyMessage(List<ByteBuf> packets) {
    assertEquals(1, packets.size());
    return VirtualHost.message(packets.get(0));
  }

  @ParameterizedTest
  @EnumSource(Delivery.class)
  void bothSidesLearnThoseOfTheOther(Delivery delivery) {
    begin(delivery, delivery);
    List<ByteBuf> first = client.packets();
    assertTrue(onlyMessage(first).readableBytes() < Segment.HEADER_BYTES, "no header for kcp-go");
    server.take(client, first);
    exchange();
    assertEquals(own(INCARNATION, client), ofPeer(server));
    assertEquals(own(0, server), ofPeer(client));
    assertEquals(delivery == Delivery.MESSAGE ? 127 : 0, ofPeer(client).messageFragments());
    assertEquals(List.of(), mismatches);
  }

  @Test
  void offerOfLanesHasThemInItsHeaderAndTheNextMessageInAnItem() {
    begin(Delivery.LANES, Delivery.LANES);
    List<ByteBuf> first = client.packets();
    int wins = first.get(0).writerIndex() - onlyMessage(first).readableBytes();
    Parameters own = own(INCARNATION, client);
    assertEquals(own, Parameters.readHeader(first.get(0), wins - Segment.HEADER_BYTES));
    server.take(client, first);
    assertEquals(own, ofPeer(server));
    server.runTo(server.nowUs + 20_000);
    client.take(server, server.packets());
    ByteBuf confirmation = onlyMessage(client.packets());
    int item = ExtensionMessage.find(confirmation, 0, confirmation.readableBytes(), 18);
    assertEquals(own, Parameters.read(confirmation, item));
  }

  @Test
  void otherMessagesOfLanesHaveTheHeaderThatTheyHadBefore() {
    begin(Delivery.LANES, Delivery.LANES);
    exchange();
    server.session.shutdownOutput(server.nowUs);
    server.flush();
    for (ByteBuf packet : server.packets()) {
      assertEquals(0, Segment.sn(packet, 0));
    }
    assertEquals(0, server.count(KcpCounter.EXTENSION_REFUSED));
  }

  @Test
  void incarnationIsNever0() {
    assertEquals(INCARNATION, Parameters.incarnation(CLIENT_TOKEN));
    assertNotEquals(0, Parameters.incarnation(0x0000_0001_0000_0001L));
  }

  @Test
  void longerValueIsTakenAndAShorterOneRefused() {
    begin(Delivery.STREAM, Delivery.STREAM);
    ByteBuf first = client.packets().get(0);
    int item = first.writerIndex() - ExtensionMessage.itemBytes(ExtensionMessage.PARAMETERS);
    server.take(client, List.of(resized(first, item, 6)));
    assertEquals(1, server.count(KcpCounter.EXTENSION_REFUSED));
    VirtualHost other = new VirtualHost(3);
    other.token = 6;
    other.take(client, List.of(resized(first, item, 20)));
    assertEquals(own(INCARNATION, client), ofPeer(other));
  }

  /** The datagram with another size of the value at its end. */
  private static ByteBuf resized(ByteBuf datagram, int item, int bytes) {
    int change = bytes - datagram.getUnsignedShortLE(item + 1);
    ByteBuf resized = Unpooled.buffer().writeBytes(datagram, 0, datagram.writerIndex());
    resized.setShortLE(item + 1, bytes);
    int wins = Segment.HEADER_BYTES + Segment.length(datagram, 0);
    resized.setIntLE(wins + 20, Segment.length(datagram, wins) + change);
    return change < 0
        ? resized.writerIndex(resized.writerIndex() + change)
        : resized.writeZero(change);
  }

  @Test
  void firstOnesHold() {
    begin(Delivery.STREAM, Delivery.STREAM);
    exchange();
    Parameters before = ofPeer(server);
    ByteBuf later = Unpooled.buffer();
    int bytes = 2 + 11 + 10;
    Segment.write(later, VirtualHost.CONV, Segment.WINS, 0, 128, 0, 9, 0, bytes);
    ExtensionMessage.writeHeader(later);
    ExtensionMessage.write(later, ExtensionMessage.TOKEN, server.token);
    new Parameters(9, 1, 0xffff).write(later);
    server.take(client, List.of(later));
    assertEquals(before, ofPeer(server));
    assertEquals(0, server.count(KcpCounter.EXTENSION_REFUSED));
  }

  @Test
  void itemWithoutAnOfferThatIsTakenOrATokenHasNoEffect() {
    begin(Delivery.STREAM, Delivery.STREAM);
    ByteBuf first = client.packets().get(0);
    int wins = Segment.HEADER_BYTES + Segment.length(first, 0);
    server.take(client, List.of(first.copy(0, wins)));
    server.take(client, List.of(first.copy(wins, first.writerIndex() - wins)));
    assertNull(server.session.extension().parameters().peer(), ByteBufUtil.hexDump(first));
  }

  @Test
  void anotherDeliveryIsCountedReportedAndTheEndOnBothSides() {
    for (VirtualHost host : List.of(client, server)) {
      host.driver.onEnd =
          (ended, reason) -> {
            host.ends.add(reason);
            host.driver.table.abort(ended, 0, host.nowUs);
          };
    }
    begin(Delivery.STREAM, Delivery.MESSAGE);
    exchange();
    assertEquals(
        List.of(KcpCounter.DELIVERY_MISMATCHED, KcpCounter.DELIVERY_MISMATCHED), mismatches);
    assertEquals(1, client.count(KcpCounter.DELIVERY_MISMATCHED));
    assertEquals(1, server.count(KcpCounter.DELIVERY_MISMATCHED));
    assertEquals(List.of(EndReason.DELIVERY_MISMATCHED), client.ends);
    assertEquals(List.of(EndReason.DELIVERY_MISMATCHED), server.ends);
    assertEquals(0, client.driver.table.size());
    assertEquals(0, server.driver.table.size());
  }

  @Test
  void serverWithoutLanesLearnsThatTheClientHasThem() {
    begin(Delivery.LANES, Delivery.STREAM);
    server.take(client, client.packets());
    assertEquals(List.of(KcpCounter.DELIVERY_MISMATCHED), mismatches);
  }

  /** Its first datagram allows for three times its size. */
  @Test
  void wholeAnswerLeavesForTheSmallestFirstDatagram() {
    server.driver.table.resetTokens(new ResetTokens(new byte[16]));
    server.driver.trustsPeers = false;
    begin(Delivery.LANES, Delivery.LANES);
    server.take(client, client.packets());
    server.runTo(server.nowUs + 20_000);
    client.take(server, server.packets());
    assertTrue(client.session.isExtensionEstablished());
    assertEquals(own(0, server), ofPeer(client));
  }

  @Test
  void headerHasFlagsOnBothSidesOfTheDeliveryAndWhatFollowsIsIgnored() {
    ByteBuf wins = Unpooled.buffer();
    Segment.write(wins, 1, Segment.WINS, 0, 128, 0x7f_0301_a2, 9, 0, 0);
    Parameters parameters = Parameters.readHeader(wins, 0);
    assertEquals(new Parameters(9, 2, 0xa_0301), parameters);
    assertEquals(3, parameters.messageFragments());
    assertEquals(0x00_0301_a2, parameters.headerTs());
  }

  @Test
  void flagsAreToldApart() {
    Parameters parameters = new Parameters(1, 0, Parameters.RESET_ECHO | 7 << Byte.SIZE);
    assertTrue(parameters.has(Parameters.RESET_ECHO));
    assertFalse(parameters.has(Parameters.LANE_NUMBERS_32));
    assertFalse(parameters.has(Parameters.CLOSE_FAILED));
    assertTrue(new Parameters(1, 0, Parameters.CLOSE_FAILED).has(Parameters.CLOSE_FAILED));
  }
}
