package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.path.Path;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@link Path}: when it is validated, and what it counts. */
class PathTest {

  private static final KeyRing KEYS =
      KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "k"));

  private Host client = new Host(1, KeyRing.NONE);
  private Host server = new Host(2, KeyRing.NONE);

  @AfterEach
  void closingHoldsNothing() {
    client.close();
    server.close();
  }

  private Session begin() {
    server.trustsPeers = false;
    Session session = client.open(server.address, 7);
    client.send(session, 10);
    server.take(client, client.packets());
    return session;
  }

  private Path accepted() {
    return server.sessions.get(7).path();
  }

  @Test
  void pathThatThisSideHasChosenIsValidated() {
    assertTrue(begin().path().isValidated());
  }

  @Test
  void pathOfAnAcceptedSessionIsValidatedByAnAcknowledgedTimestamp() {
    begin();
    assertFalse(accepted().isValidated());
    server.send(server.sessions.get(7), 10);
    assertFalse(accepted().isValidated());
    client.take(server, server.packets());
    client.sessions.get(7).expire(0);
    client.table.flushPending(0);
    server.take(client, client.packets());
    assertTrue(accepted().isValidated());
  }

  @Test
  void cumulativeAcknowledgementValidatesNothing() {
    begin();
    server.send(server.sessions.get(7), 10);
    server.packets();
    ByteBuf forged = Unpooled.buffer();
    Segment.write(forged, 7, Segment.WINS, 0, 128, 0, 0, 1, 0);
    server.take(client, List.of(forged));
    assertTrue(server.sessions.get(7).kcp().isDrained());
    assertFalse(accepted().isValidated());
  }

  @Test
  void acknowledgementWithAForeignTimestampValidatesNothing() {
    begin();
    server.send(server.sessions.get(7), 10);
    server.packets();
    ByteBuf forged = Unpooled.buffer();
    Segment.write(forged, 7, Segment.ACK, 0, 128, 12345, 0, 0, 0);
    server.take(client, List.of(forged));
    assertFalse(accepted().isValidated());
  }

  @Test
  void bytesAreThoseOfWholePackets() {
    client = new Host(1, KEYS);
    server = new Host(2, KEYS);
    client.fec = FecConfig.of(1, 1);
    client.unreliableLimit = 1;
    Session session = client.open(server.address, 7);
    session.sendUnreliable(client.allocator.buffer().writeInt(42));
    client.send(session, 2000);
    List<ByteBuf> packets = client.packets();
    long bytes = packets.stream().mapToLong(ByteBuf::readableBytes).sum();
    assertEquals(bytes, session.path().bytesSent());
    assertEquals(0, session.path().bytesReceived());

    int first = packets.get(0).readableBytes(); // The unreliable datagram, before the session.
    server.take(client, packets);
    assertEquals(bytes - first, accepted().bytesReceived());
  }

  @Test
  void datagramsThatAreSentWithoutACopyAreCounted() {
    Session session = client.open(server.address, 7);
    client.send(session, 2000);
    assertEquals(2, client.readyPackets);
    assertEquals(2000 + 2 * Segment.HEADER_BYTES, session.path().bytesSent());
  }

  @Test
  void refusedPacketsCountAsReceived() {
    begin();
    long before = accepted().bytesReceived();
    ByteBuf refused = Unpooled.buffer();
    Segment.write(refused, 7, Segment.ACK, 0, 128, 0, 99, 0, 0);
    server.take(client, List.of(refused));
    assertEquals(before + Segment.HEADER_BYTES, accepted().bytesReceived());
  }
}
