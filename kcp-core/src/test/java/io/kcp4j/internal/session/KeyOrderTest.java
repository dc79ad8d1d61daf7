package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The order in which the keys of a ring are tried for a packet. */
class KeyOrderTest {

  /** An empty unreliable datagram: FEC header, size and conv. */
  private static final int SMALLEST_PACKET_BYTES = 12;

  /** The keys that were tried, in order. */
  private final List<String> asked = new ArrayList<>();

  private final PacketKey a = key("a");
  private final PacketKey b = key("b");
  private final PacketKey c = key("c");
  private final Host server = new Host(1, KeyRing.of(a, b, c));
  private final Host oldClient = new Host(2, KeyRing.of(c));
  private final Host newClient = new Host(3, KeyRing.of(a));

  @AfterEach
  void nothingIsLeft() {
    server.close();
    oldClient.close();
    newClient.close();
  }

  private PacketKey key(String name) {
    return PacketKey.ofAead(name, () -> new NamedAead(name, asked));
  }

  private void send(Host client, int conv) {
    Session session = client.sessions.get(conv);
    client.send(session == null ? client.open(server.address, conv) : session, 10);
    server.take(client, client.packets());
  }

  private void sendJunk(Host client, int bytes) {
    server.take(client, List.of(Unpooled.buffer().writeZero(bytes)));
  }

  private List<String> asked() {
    List<String> soFar = List.copyOf(asked);
    asked.clear();
    return soFar;
  }

  @Test
  void beyondTheLimitOnlyTheLastKeyOfAValidatedAddressIsTried() {
    server.table.decryptFailuresPerSecond(1);
    send(oldClient, 7);
    sendJunk(oldClient, 100);
    asked();
    sendJunk(oldClient, 100);
    assertEquals(List.of("c"), asked());
    sendJunk(oldClient, 100);
    assertEquals(List.of(), asked(), "nothing is left");
    assertEquals(1, server.count(KcpCounter.DECRYPT_SKIPPED));
  }

  /** The next packet of a client that has a session, as somebody on the path records it. */
  private List<ByteBuf> packetsOf(Host client, int conv) {
    client.send(client.sessions.get(conv), 10);
    return client.packets();
  }

  /** The replayed packet is authentic, and costs nothing of the budget. */
  @Test
  void replayedPacketOfAnotherKeyLetsAValidatedClientIn() {
    server.table.decryptFailuresPerSecond(1);
    send(oldClient, 7);
    List<ByteBuf> recorded = packetsOf(oldClient, 7);
    server.take(oldClient, recorded);
    send(newClient, 9);
    server.take(newClient, recorded);
    sendJunk(newClient, 100);
    asked();
    send(newClient, 9);
    assertEquals(List.of("a"), asked());
    assertEquals(0, server.count(KcpCounter.DECRYPT_SKIPPED));
    assertEquals(20, Host.received(server.sessions.get(9)).readableBytes());
  }

  @Test
  void replayedPacketOfTheClientsOwnOldKeyLetsItIn() {
    server.table.decryptFailuresPerSecond(1);
    send(oldClient, 7);
    List<ByteBuf> recorded = packetsOf(oldClient, 7);
    server.take(oldClient, recorded);
    oldClient.keys(KeyRing.of(b));
    send(oldClient, 7);
    server.take(oldClient, recorded);
    sendJunk(oldClient, 100);
    asked();
    send(oldClient, 7);
    assertEquals(List.of("b"), asked());
    assertEquals(40, Host.received(server.sessions.get(7)).readableBytes());
  }

  @Test
  void keyOfAValidatedClientIsKnownAfterTheRingHasChanged() {
    server.table.decryptFailuresPerSecond(1);
    send(newClient, 9);
    send(newClient, 9);
    server.keys(KeyRing.of(key("d"), b, a));
    sendJunk(oldClient, 100);
    asked();
    send(newClient, 9);
    assertEquals(List.of("a"), asked());
    assertEquals(30, Host.received(server.sessions.get(9)).readableBytes());
  }

  @Test
  void sessionsOfOneAddressAreTriedWithTheKeyThatTheirClientUsesNow() {
    server.table.decryptFailuresPerSecond(1);
    send(oldClient, 7);
    send(oldClient, 8);
    oldClient.keys(KeyRing.of(b));
    server.nowUs += 1_000;
    send(oldClient, 7);
    sendJunk(newClient, 100);
    asked();
    send(oldClient, 7);
    send(oldClient, 8);
    assertEquals(List.of("b", "b"), asked());
    oldClient.keys(KeyRing.of(a));
    server.nowUs += 2_000_000;
    send(oldClient, 7);
    sendJunk(newClient, 100);
    asked();
    send(oldClient, 8);
    assertEquals(List.of("a"), asked());
  }

  @Test
  void keyThatOpenedTheSourcesLastPacketIsTriedFirst() {
    send(oldClient, 7);
    assertEquals(List.of("a", "b", "c"), asked());
    send(oldClient, 7);
    send(oldClient, 8);
    assertEquals(List.of("c", "c"), asked());
    send(newClient, 9);
    send(oldClient, 7);
    send(newClient, 9);
    assertEquals(List.of("a", "c", "a"), asked());
    assertEquals(0, server.count(KcpCounter.DECRYPT_FAILED));
  }

  @Test
  void everyKeyIsTriedOnceAndJunkLeavesTheOrder() {
    send(oldClient, 7);
    asked();
    sendJunk(oldClient, 100);
    assertEquals(List.of("c", "a", "b"), asked());
    assertEquals(1, server.count(KcpCounter.DECRYPT_FAILED));
    sendJunk(newClient, 100);
    assertEquals(List.of("a", "b", "c"), asked());
    send(oldClient, 7);
    assertEquals(List.of("c"), asked());
  }

  @Test
  void peerThatChangesItsKeyIsFollowed() {
    send(oldClient, 7);
    oldClient.keys(KeyRing.of(b));
    asked();
    send(oldClient, 7);
    send(oldClient, 7);
    assertEquals(List.of("c", "a", "b", "b"), asked());
  }

  @Test
  void packetTooSmallForAnyPayloadIsRefusedWithoutDecryption() {
    int overhead = a.headroom() + a.tailroom();
    for (int bytes = 0; bytes < overhead + SMALLEST_PACKET_BYTES; bytes++) {
      sendJunk(oldClient, bytes);
    }
    assertEquals(List.of(), asked());
    assertEquals(overhead + SMALLEST_PACKET_BYTES, server.count(KcpCounter.DECRYPT_FAILED));
    sendJunk(oldClient, overhead + SMALLEST_PACKET_BYTES);
    assertEquals(List.of("a", "b", "c"), asked());
  }

  @Test
  void keyWhoseHeadersDoNotFitIsNotTried() {
    PacketKey checked = PacketKey.ofBlockCipher("d", () -> new NamedBlockCipher(asked));
    Host mixed = new Host(4, KeyRing.of(checked, a));
    asked();
    int overhead = checked.headroom() + checked.tailroom();
    for (int bytes = 0; bytes < overhead + SMALLEST_PACKET_BYTES; bytes++) {
      mixed.take(oldClient, List.of(Unpooled.buffer().writeZero(bytes)));
    }
    int fits = overhead - a.headroom() - a.tailroom();
    assertEquals(Collections.nCopies(fits, "a"), asked());
    mixed.take(oldClient, List.of(Unpooled.buffer().writeZero(overhead + SMALLEST_PACKET_BYTES)));
    assertEquals("d", asked().get(0));
    mixed.close();
  }

  @Test
  void smallestPacketWithAnEffectIsOpened() {
    server.unreliableLimit = 1;
    oldClient.fec = FecConfig.of(1, 1);
    oldClient.unreliableLimit = 1;
    send(oldClient, 7);
    Session session = oldClient.sessions.get(7);
    session.sendUnreliable(oldClient.allocator.buffer());
    oldClient.table.scheduleFlush(session);
    oldClient.table.flushPending(0);
    List<ByteBuf> packets = oldClient.packets();
    assertEquals(
        a.headroom() + SMALLEST_PACKET_BYTES + a.tailroom(), packets.get(0).readableBytes());
    server.take(oldClient, packets);
    assertEquals(0, server.count(KcpCounter.DECRYPT_FAILED));
    ByteBuf received = server.sessions.get(7).receiveUnreliable();
    assertEquals("", ByteBufUtil.hexDump(received));
    received.release();
  }

  /** The tag is the name; nothing is encrypted. */
  private record NamedAead(String name, List<String> asked) implements Aead {

    @Override
    public int nonceBytes() {
      return 8;
    }

    @Override
    public int tagBytes() {
      return 1;
    }

    @Override
    public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      System.arraycopy(in, inIndex, out, outIndex, length);
      out[outIndex + length] = (byte) name.charAt(0);
    }

    @Override
    public boolean open(
        byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      asked.add(name);
      System.arraycopy(in, inIndex, out, outIndex, length - 1);
      return in[inIndex + length - 1] == (byte) name.charAt(0);
    }
  }

  /** Encrypts nothing. */
  private record NamedBlockCipher(List<String> asked) implements BlockCipher {

    @Override
    public int blockBytes() {
      return 16;
    }

    @Override
    public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
      asked.add("d");
      System.arraycopy(in, inIndex, out, outIndex, 16);
    }
  }
}
