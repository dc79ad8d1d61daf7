package io.kcp4j.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.MemoryBudget;
import io.kcp4j.Segment;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketBatch;
import io.kcp4j.crypto.PacketCipher;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecPacket;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Recorded packets that are sent to a server again, from another port: protocol.md 8.10. */
class ReplayTest {

  private static final int CONV = 0x6c3a_55d1;
  private static final int PAID = 100;
  private static final InetSocketAddress CLIENT = address(1);
  private static final InetSocketAddress THIEF = address(2);

  private final PacketCipher cipher = cipher(CipherAlgorithm.AES_128_GCM);
  private final MemoryBudget budget = new MemoryBudget(1 << 30);
  private final KcpContext context = context(budget);
  private final List<Integer> payments = new ArrayList<>();
  private final SessionDirectory directory = SessionDirectory.ofSeveral(1_000);
  private final TestDriver driver = driver(context, cipher);
  private long nowUs;

  private static InetSocketAddress address(int port) {
    return new InetSocketAddress(NetUtil.LOCALHOST4, port);
  }

  private static KcpContext context(MemoryBudget budget) {
    return new KcpContext(new UnpooledByteBufAllocator(true, true), budget, new KcpCounters());
  }

  private static PacketCipher cipher(CipherAlgorithm algorithm) {
    byte[] key = new byte[algorithm.keyBytes()];
    return KeyRing.of(PacketKey.of(algorithm, key)).newCipher();
  }

  private TestDriver driver(KcpContext context, PacketCipher cipher) {
    TestDriver driver = TestDriver.builder(context).cipher(cipher).directory(directory).build();
    driver.trustsPeers = false;
    driver.onProgress =
        session -> {
          for (ByteBuf data; (data = session.kcp().receive()) != null; data.release()) {
            payments.add((int) data.readByte());
          }
        };
    return driver;
  }

  /** A sealed first datagram; each has a nonce of its own. */
  private ByteBuf pay() {
    return pay(cipher, 0, false);
  }

  private static ByteBuf pay(PacketCipher cipher, int sn, boolean isFec) {
    ByteBuf packet = Unpooled.buffer();
    int start = cipher.headroom() + (isFec ? FecPacket.DATA_HEADER_BYTES : 0);
    packet.writeZero(start);
    Segment.write(packet, CONV, Segment.PUSH, 0, 128, 1, sn, 0, 1);
    packet.writeByte(PAID);
    if (isFec) {
      FecPacket.write(packet, cipher.headroom(), packet.writerIndex(), 0, FecPacket.DATA);
    }
    return seal(cipher, packet);
  }

  private static ByteBuf seal(PacketCipher cipher, ByteBuf packet) {
    packet.writeZero(cipher.tailroom());
    PacketBatch batch = new PacketBatch().reset(packet);
    batch.add(0, packet.writerIndex());
    cipher.seal(batch);
    return packet;
  }

  private void send(TestDriver to, InetSocketAddress from, ByteBuf packet) {
    to.table.receive(from, packet.copy(), nowUs);
    to.table.endBatch(nowUs);
  }

  private void send(InetSocketAddress from, ByteBuf packet) {
    send(driver, from, packet);
  }

  private long count(KcpCounter counter) {
    return context.total().get(counter);
  }

  @Test
  void recordedFirstPacketPaysOnceWhileItsSessionLives() {
    driver.recordEvents();
    ByteBuf packet = pay();
    send(CLIENT, packet);
    driver.events();
    send(THIEF, packet);
    assertEquals(List.of(PAID), payments);
    assertEquals(1, driver.table.size());
    assertEquals(1, count(KcpCounter.REPLAYED));
    assertEquals(List.of(), driver.events(), "nothing is sent");
  }

  @Test
  void recordedFirstPacketWithFecPaysOnce() {
    ByteBuf packet = pay(cipher, 0, true);
    send(CLIENT, packet);
    send(THIEF, packet);
    assertEquals(List.of(PAID), payments);
    assertEquals(1, count(KcpCounter.REPLAYED));
  }

  @Test
  void recordedRetransmissionPaysOnce() {
    send(CLIENT, pay());
    ByteBuf retransmission = pay();
    send(CLIENT, retransmission);
    send(THIEF, retransmission);
    assertEquals(List.of(PAID), payments);
    assertEquals(1, driver.table.size());
  }

  @Test
  void retransmissionOfAnotherClientIsNoReplay() {
    send(CLIENT, pay());
    send(THIEF, pay());
    assertEquals(List.of(PAID, PAID), payments);
    assertEquals(0, count(KcpCounter.REPLAYED));
  }

  @Test
  void duplicateOfTheNetworkDoesNoHarmToItsSession() {
    ByteBuf packet = pay();
    send(CLIENT, packet);
    Session session = driver.accepted.get(0);
    long bytes = session.path().bytesReceived();
    send(CLIENT, packet);
    assertEquals(2 * bytes, session.path().bytesReceived());
    assertEquals(1, session.kcp().counters().get(KcpCounter.DUPLICATES));
    send(CLIENT, pay(cipher, 1, false));
    assertEquals(List.of(PAID, PAID), payments);
    assertEquals(0, count(KcpCounter.REPLAYED));
  }

  @Test
  void packetThatWasDeferredUnderPressureIsRemembered() {
    driver.table.unvalidatedLimit(1);
    send(address(3), pay());
    ByteBuf deferred = pay();
    send(CLIENT, deferred);
    assertEquals(1, count(KcpCounter.ACCEPT_DEFERRED));
    send(CLIENT, pay());
    send(THIEF, deferred);
    assertEquals(List.of(PAID, PAID), payments);
    assertEquals(1, count(KcpCounter.REPLAYED));
  }

  @Test
  void packetOfAPendingAttemptIsRemembered() {
    driver.defersAccept = true;
    ByteBuf packet = pay();
    send(CLIENT, packet);
    send(THIEF, packet);
    assertEquals(1, driver.deferred.size());
    send(CLIENT, packet);
    Incoming incoming = driver.deferred.get(0);
    incoming.accept(driver.newSession(CLIENT, CONV), nowUs);
    driver.table.endBatch(nowUs);
    assertEquals(List.of(PAID), payments);
  }

  @Test
  void anotherSocketOfTheServerRemembersItToo() {
    KcpContext otherContext = context(new MemoryBudget(1 << 30));
    TestDriver other = driver(otherContext, cipher);
    ByteBuf packet = pay();
    send(CLIENT, packet);
    send(other, THIEF, packet);
    assertEquals(List.of(PAID), payments);
    assertEquals(1, otherContext.total().get(KcpCounter.REPLAYED));
  }

  @Test
  void recordedProbeBeginsNoSessionEither() {
    driver.table.acceptOnProbe(true);
    ByteBuf probe = Unpooled.buffer().writeZero(cipher.headroom());
    Segment.write(probe, CONV, Segment.WASK, 0, 128, 0, 0, 0, 0);
    seal(cipher, probe);
    send(CLIENT, probe);
    send(THIEF, probe);
    assertEquals(1, driver.table.size());
  }

  @Test
  void nonceIsForgottenAfterTwoMinutes() {
    ByteBuf packet = pay();
    send(CLIENT, packet);
    nowUs = 119_000_000;
    send(THIEF, packet);
    assertEquals(List.of(PAID), payments);
    nowUs = 120_000_000;
    send(THIEF, packet);
    assertEquals(List.of(PAID, PAID), payments);
  }

  @ParameterizedTest
  @EnumSource(
      value = CipherAlgorithm.class,
      names = {"AES_256_GCM", "CHACHA20_POLY1305"})
  void everyAeadTellsItsNonce(CipherAlgorithm algorithm) {
    PacketCipher other = cipher(algorithm);
    driver.table.cipher(other);
    ByteBuf packet = pay(other, 0, false);
    send(CLIENT, packet);
    send(THIEF, packet);
    assertEquals(List.of(PAID), payments);
  }

  @Test
  void packetsWithoutAnAeadAreNotRemembered() {
    PacketCipher checked = cipher(CipherAlgorithm.AES_128);
    TestDriver other = driver(context, checked);
    ByteBuf packet = pay(checked, 0, false);
    send(other, CLIENT, packet);
    send(other, THIEF, packet);
    assertEquals(List.of(PAID, PAID), payments);
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void noncesCountAgainstTheMemoryLimitUntilTheTableCloses() {
    send(CLIENT, pay());
    driver.table.remove(driver.accepted.get(0), nowUs);
    driver.accepted.get(0).close();
    assertEquals(1 << 20, budget.usedBytes());
    driver.table.close();
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void clientsHaveNoFilter() {
    SessionTable client = TestDriver.builder(context).cipher(cipher).maxSessions(0).build().table;
    client.receive(CLIENT, pay(), nowUs);
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void filterIsSmallWhereMemoryIs() {
    MemoryBudget small = new MemoryBudget(4 << 20);
    ReplayFilter filter = ReplayFilter.of(small);
    assertEquals(1 << 16, small.usedBytes());
    filter.releaseFrom(small);
    filter.releaseFrom(small);
    assertEquals(0, small.usedBytes());
  }

  @Test
  void withoutMemoryThereIsASmallFilter() {
    MemoryBudget none = new MemoryBudget(1);
    ReplayFilter filter = ReplayFilter.of(none);
    ByteBuf nonce = Unpooled.buffer(12).writeZero(12);
    assertFalse(filter.addAndTest(nonce, 0, 12, 0));
    assertTrue(filter.addAndTest(nonce, 0, 12, 0));
    filter.releaseFrom(none);
    assertEquals(0, none.usedBytes());
  }

  @Test
  void filterHoldsAsManyNoncesAsAServerOfManyClientsReceives() {
    ReplayFilter filter = ReplayFilter.of(MemoryBudget.unlimited());
    int nonces = 60_000; // 500 a second
    ByteBuf nonce = Unpooled.buffer(12).writeZero(12);
    for (int i = 0; i < nonces; i++) {
      nonce.setInt(4, i);
      assertFalse(filter.addAndTest(nonce, 0, 12, i * 2_000L));
    }
    int forgotten = 0;
    int step = 97; // A nonce that is found to be forgotten replaces another.
    for (int i = nonces / 100; i < nonces; i += step) {
      nonce.setInt(4, i);
      forgotten += filter.addAndTest(nonce, 0, 12, nonces * 2_000L) ? 0 : 1;
    }
    assertTrue(forgotten < nonces / step / 50, forgotten + " forgotten");
    nonce.setInt(8, 1);
    assertFalse(filter.addAndTest(nonce, 0, 12, nonces * 2_000L), "all twelve bytes count");
  }
}
