package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.admission.Incoming;
import io.kcp4j.internal.admission.ReplayFilter;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
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

  /** The timestamp of the last packet that was sent. */
  private int sentTs;

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
    driver.output = remote -> new LastSent();
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
    return pay(cipher, CONV, sn, isFec);
  }

  private static ByteBuf pay(PacketCipher cipher, int conv, int sn, boolean isFec) {
    ByteBuf packet = Unpooled.buffer();
    int start = cipher.headroom() + (isFec ? FecPacket.DATA_HEADER_BYTES : 0);
    packet.writeZero(start);
    Segment.write(packet, conv, Segment.PUSH, 0, 128, 1, sn, 0, 1);
    packet.writeByte(PAID);
    if (isFec) {
      FecPacket.write(packet, cipher.headroom(), packet.writerIndex(), 0, FecPacket.DATA);
    }
    return seal(cipher, packet);
  }

  private ByteBuf probe() {
    ByteBuf probe = Unpooled.buffer().writeZero(cipher.headroom());
    Segment.write(probe, CONV, Segment.WASK, 0, 128, 0, 0, 0, 0);
    return seal(cipher, probe);
  }

  private static ByteBuf seal(PacketCipher cipher, ByteBuf packet) {
    packet.writeZero(cipher.tailroom());
    PacketBatch batch = new PacketBatch().reset(packet);
    batch.add(0, packet.writerIndex());
    cipher.seal(batch);
    return packet;
  }

  /** Remembers the first segment of what is sent. */
  private final class LastSent implements DatagramOutput {

    private final ByteBuf packet = Unpooled.buffer();

    @Override
    public ByteBuf begin(int maxBytes) {
      return packet.clear();
    }

    @Override
    public void end() {
      sentTs = Segment.ts(packet, cipher.headroom());
    }
  }

  /** Acknowledges the challenge that was sent last. */
  private void answerChallenge(InetSocketAddress from) {
    answerChallenge(driver, from);
  }

  private void answerChallenge(TestDriver to, InetSocketAddress from) {
    ByteBuf ack = Unpooled.buffer().writeZero(cipher.headroom());
    Segment.write(ack, CONV, Segment.ACK, 0, 128, sentTs, -1, 0, 0);
    send(to, from, seal(cipher, ack));
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
    ByteBuf packet = pay();
    send(CLIENT, packet);
    send(THIEF, packet);
    assertEquals(List.of(PAID), payments);
    assertEquals(1, driver.table.size());
    assertEquals(1, count(KcpCounter.REPLAYED));
    assertEquals(1, count(KcpCounter.ADDRESS_CHALLENGES_OUT));
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

  /** It was held back: the server has never received it. */
  @Test
  void heldRetransmissionPaysOnce() {
    ByteBuf held = pay();
    send(CLIENT, pay());
    send(THIEF, held);
    assertEquals(List.of(PAID), payments);
    assertEquals(1, count(KcpCounter.REPLAYED));
  }

  @Test
  void firstPacketOfAnotherConvIsNoReplay() {
    send(CLIENT, pay());
    send(THIEF, pay(cipher, CONV + 1, 0, false));
    assertEquals(List.of(PAID, PAID), payments);
    assertEquals(0, count(KcpCounter.REPLAYED));
  }

  @Test
  void clientWithAKnownConvBeginsAValidatedSessionWhenItHasAnswered() {
    send(THIEF, pay());
    send(CLIENT, pay());
    answerChallenge(CLIENT);
    assertEquals(List.of(PAID), payments);
    send(CLIENT, pay());
    assertEquals(List.of(PAID, PAID), payments);
    assertTrue(driver.accepted.get(1).path().isValidated());
  }

  @Test
  void answerFromAnotherAddressBeginsNoSession() {
    ByteBuf first = pay();
    send(CLIENT, first);
    ByteBuf held = pay();
    send(THIEF, held);
    answerChallenge(address(3));
    send(address(3), held);
    answerChallenge(THIEF); // To the challenge of the other port.
    send(THIEF, held);
    assertEquals(List.of(PAID), payments);
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
    send(address(3), pay(cipher, CONV + 1, 0, false));
    ByteBuf deferred = pay();
    send(CLIENT, deferred);
    assertEquals(1, count(KcpCounter.ACCEPT_DEFERRED));
    send(THIEF, deferred);
    send(CLIENT, pay());
    answerChallenge(CLIENT);
    send(THIEF, deferred);
    assertEquals(List.of(PAID), payments);
    send(CLIENT, pay());
    assertEquals(List.of(PAID, PAID), payments);
    assertEquals(3, count(KcpCounter.REPLAYED));
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
  void clientGetsInAtAnotherSocketThanTheThief() {
    TestDriver other = driver(context(new MemoryBudget(1 << 30)), cipher);
    send(THIEF, pay());
    send(other, CLIENT, pay());
    answerChallenge(other, CLIENT);
    send(other, CLIENT, pay());
    assertEquals(List.of(PAID, PAID), payments);
    assertEquals(1, other.table.size());
  }

  @Test
  void recordedProbeBeginsNoSessionEither() {
    driver.table.acceptOnProbe(true);
    ByteBuf probe = probe();
    send(CLIENT, probe);
    send(THIEF, probe);
    assertEquals(1, driver.table.size());
  }

  /** The session that it would begin would take the first segment of another. */
  @Test
  void heldProbeIsNoWayAround() {
    driver.table.acceptOnProbe(true);
    ByteBuf held = pay();
    send(CLIENT, pay());
    send(THIEF, probe());
    send(THIEF, held);
    assertEquals(List.of(PAID), payments);
    assertEquals(1, driver.table.size());
    assertEquals(2, count(KcpCounter.REPLAYED));
  }

  @Test
  void clientWhoseProbeWasSentAheadGetsIn() {
    driver.table.acceptOnProbe(true);
    ByteBuf probe = probe();
    send(THIEF, probe);
    send(CLIENT, probe);
    answerChallenge(CLIENT);
    assertEquals(1, driver.table.size());
    send(CLIENT, probe());
    send(CLIENT, pay());
    assertEquals(2, driver.table.size());
    assertEquals(List.of(PAID), payments);
  }

  @Test
  void probeThatBeginsNoSessionIsNotRemembered() {
    send(CLIENT, probe());
    send(CLIENT, pay());
    assertEquals(List.of(PAID), payments);
    assertEquals(0, count(KcpCounter.REPLAYED));
  }

  @Test
  void convIsForgottenAfterTwoMinutes() {
    ByteBuf packet = pay();
    send(CLIENT, packet);
    driver.table.remove(driver.accepted.get(0), nowUs);
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
  void filterCountsAgainstTheMemoryLimitUntilTheTableCloses() {
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
    assertFalse(filter.addConv(CONV, 0));
    assertTrue(filter.addConv(CONV, 0));
    filter.releaseFrom(none);
    assertEquals(0, none.usedBytes());
  }

  /** A conversation id and a nonce of each session. */
  @Test
  void filterHoldsAsMuchAsAServerOfManyClientsNeeds() {
    ReplayFilter filter = ReplayFilter.of(MemoryBudget.unlimited());
    int sessions = 30_000; // 250 a second
    ByteBuf nonce = Unpooled.buffer(12).writeZero(12);
    for (int i = 0; i < sessions; i++) {
      nonce.setInt(4, i);
      assertFalse(filter.addConv(i, i * 4_000L));
      assertFalse(filter.addNonce(filter.hashOfNonce(nonce, 0, 12), i * 4_000L));
    }
    int forgotten = 0;
    int tested = 0;
    for (int i = sessions / 100; i < sessions; i += 97) { // One that is forgotten replaces another.
      tested++;
      forgotten += filter.addConv(i, sessions * 4_000L) ? 0 : 1;
    }
    assertTrue(forgotten < tested / 50, forgotten + " forgotten");
    nonce.setInt(8, 1);
    assertFalse(
        filter.containsNonce(filter.hashOfNonce(nonce, 0, 12), sessions * 4_000L),
        "all twelve bytes count");
  }
}
