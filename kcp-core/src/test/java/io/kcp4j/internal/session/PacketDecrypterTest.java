package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@link PacketDecrypter}: what packets that no key opens may cost. */
class PacketDecrypterTest {

  private static final int PER_SECOND = 1_600;
  private static final int BURST = 160;
  private static final int BURST_OF_A_NETWORK = 10;
  private static final int MAX_TRIES = 100;

  private static final PacketKey KEY = PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "k");

  private final PacketCipher cipher = KeyRing.of(KEY).newCipher();
  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final TestDriver driver =
      TestDriver.builder(context).cipher(cipher).maxSessions(1_000).build();
  private long nowUs;

  @BeforeEach
  void limit() {
    driver.trustsPeers = false;
    driver.table.decryptFailuresPerSecond(PER_SECOND);
  }

  private static InetSocketAddress address(int network, int port) {
    return new InetSocketAddress("127.0." + network + ".1", port);
  }

  private void junk(InetSocketAddress remote) {
    driver.table.receive(remote, Unpooled.buffer().writeZero(100), nowUs);
  }

  private void request(InetSocketAddress remote) {
    driver.table.receive(remote, sealedRequest(remote), nowUs);
    driver.table.endBatch(nowUs);
  }

  /** A first segment that is sealed; each client has a conversation id of its own. */
  private ByteBuf sealedRequest(InetSocketAddress remote) {
    ByteBuf packet = Unpooled.buffer();
    packet.writeZero(cipher.headroom());
    Segment.write(packet, remote.hashCode(), Segment.PUSH, 0, 128, 1, 0, 0, 1);
    packet.writeByte(0).writeZero(cipher.tailroom());
    PacketBatch batch = new PacketBatch().reset(packet);
    batch.add(0, packet.writerIndex());
    cipher.seal(batch);
    return packet;
  }

  private long count(KcpCounter counter) {
    return context.total().get(counter);
  }

  @Test
  void networkMayNotFailMoreOftenThanItsShare() {
    for (int port = 1; port <= 100; port++) {
      junk(address(1, port));
    }
    assertEquals(BURST_OF_A_NETWORK, count(KcpCounter.DECRYPT_FAILED));
    assertEquals(100 - BURST_OF_A_NETWORK, count(KcpCounter.DECRYPT_SKIPPED));
    request(address(2, 1));
    assertEquals(1, driver.accepted.size(), "other networks are not concerned");
    request(address(1, 1));
    assertEquals(1, driver.accepted.size());
  }

  @Test
  void allNetworksTogetherHaveABudget() {
    for (int network = 0; network < 256; network++) {
      junk(address(network, 1));
    }
    assertEquals(BURST, count(KcpCounter.DECRYPT_FAILED));
    nowUs += 100_000;
    for (int network = 0; network < 256; network++) {
      junk(address(network, 1));
    }
    assertEquals(2 * BURST, count(KcpCounter.DECRYPT_FAILED));
  }

  @Test
  void newClientThatTriesAgainGetsInDuringAFlood() {
    for (int i = 0; i < 1_000; i++) {
      junk(address(i % 256, 1));
    }
    assertTrue(count(KcpCounter.DECRYPT_SKIPPED) > 0);
    int tries = 0;
    while (driver.accepted.isEmpty() && tries < MAX_TRIES) {
      for (int i = 0; i < 30; i++) { // Twice the rate of the budget.
        junk(address(i % 256, 1));
        nowUs += 312;
      }
      request(address(255, 2));
      tries++;
    }
    assertEquals(1, driver.accepted.size());
  }

  @Test
  void packetsOfValidatedSessionsAreOpenedDuringAFlood() {
    InetSocketAddress honest = address(1, 1);
    InetSocketAddress unvalidated = address(1, 2);
    request(honest);
    request(unvalidated);
    driver.table.lifecycle().validated(driver.accepted.get(0), nowUs);
    for (int i = 0; i < 1_000; i++) {
      junk(address(1, 3));
      if (i % 10 == 0) {
        junk(honest);
      }
    }
    long bytes = driver.accepted.get(0).path().bytesReceived();
    request(honest);
    request(unvalidated);
    assertTrue(driver.accepted.get(0).path().bytesReceived() > bytes);
    assertEquals(
        driver.accepted.get(1).path().bytesReceived(), bytes, "it may be the flood's address");
  }

  @Test
  void forgedAddressOfASessionSpendsNothingOfTheOthers() {
    InetSocketAddress honest = address(1, 1);
    request(honest);
    driver.table.lifecycle().validated(driver.accepted.get(0), nowUs);
    for (int i = 0; i < BURST_OF_A_NETWORK + 1_000; i++) {
      junk(honest);
    }
    request(address(2, 1));
    assertEquals(2, driver.accepted.size());
  }

  @Test
  void junkFromTheAddressOfASessionHasALimit() {
    InetSocketAddress honest = address(1, 1);
    request(honest);
    driver.table.lifecycle().validated(driver.accepted.get(0), nowUs);
    for (int batch = 0; batch < 100; batch++) {
      for (int i = 0; i < 100; i++) {
        junk(honest);
      }
      driver.table.endBatch(nowUs);
    }
    assertEquals(BURST_OF_A_NETWORK + BURST, count(KcpCounter.DECRYPT_FAILED));
    assertEquals(10_000 - BURST_OF_A_NETWORK - BURST, count(KcpCounter.DECRYPT_SKIPPED));
  }

  /** The junk comes at fifteen times the share of a network. */
  @Test
  void playerIsNotSilencedByJunkFromItsAddress() {
    InetSocketAddress honest = address(1, 1);
    request(honest);
    Session session = driver.accepted.get(0);
    driver.table.lifecycle().validated(session, nowUs);
    long bytes = session.path().bytesReceived();
    for (int packets = 2; packets <= 100; packets++) {
      for (int i = 0; i < 15; i++) {
        junk(honest);
        nowUs += 667;
      }
      request(honest);
      assertEquals(packets * bytes, session.path().bytesReceived());
    }
    assertTrue(count(KcpCounter.DECRYPT_FAILED) >= 1_400);
  }

  @Test
  void packetsBeyondTheShareAreOpenedAfterTheOthersOfTheirBatch() {
    InetSocketAddress honest = address(1, 1);
    InetSocketAddress other = address(2, 1);
    request(honest);
    Session session = driver.accepted.get(0);
    driver.table.lifecycle().validated(session, nowUs);
    for (int i = 0; i < BURST_OF_A_NETWORK; i++) {
      junk(honest);
    }
    long bytes = session.path().bytesReceived();
    driver.table.receive(honest, sealedRequest(honest), nowUs);
    driver.table.receive(other, sealedRequest(other), nowUs);
    assertEquals(2, driver.accepted.size());
    assertEquals(bytes, session.path().bytesReceived());
    driver.table.endBatch(nowUs);
    assertEquals(2 * bytes, session.path().bytesReceived());
  }

  @Test
  void moreThanABatchIsOpenedAtOnce() {
    InetSocketAddress honest = address(1, 1);
    request(honest);
    Session session = driver.accepted.get(0);
    driver.table.lifecycle().validated(session, nowUs);
    for (int i = 0; i < BURST_OF_A_NETWORK; i++) {
      junk(honest);
    }
    long bytes = session.path().bytesReceived();
    for (int i = 0; i < PacketDecrypter.DeferredPackets.MAX_PACKETS + 1; i++) {
      driver.table.receive(honest, sealedRequest(honest), nowUs);
    }
    assertEquals(2 * bytes, session.path().bytesReceived());
    driver.table.endBatch(nowUs);
    assertEquals(
        (PacketDecrypter.DeferredPackets.MAX_PACKETS + 2) * bytes, session.path().bytesReceived());
  }

  @Test
  void closedTableHoldsNoPackets() {
    InetSocketAddress honest = address(1, 1);
    request(honest);
    driver.table.lifecycle().validated(driver.accepted.get(0), nowUs);
    for (int i = 0; i < 100; i++) {
      junk(honest);
    }
    driver.table.remove(driver.accepted.get(0), nowUs);
    driver.accepted.get(0).close();
    assertTrue(context.budget().usedBytes() > 0);
    driver.table.close();
    assertEquals(0, context.budget().usedBytes());
  }

  @Test
  void networksOfIpv6AreToldApartByTheir56Bits() {
    SessionKey.Hash hash = new SessionKey.Hash();
    InetSocketAddress first = new InetSocketAddress("2001:db8:0:1::1", 1);
    assertEquals(hash.prefix(first), hash.prefix(new InetSocketAddress("2001:db8:0:ff:9::2", 2)));
    assertTrue(hash.prefix(first) != hash.prefix(new InetSocketAddress("2001:db8:0:100::1", 1)));
    InetSocketAddress ipv4 = new InetSocketAddress(NetUtil.LOCALHOST4, 1);
    assertEquals(hash.prefix(ipv4), hash.prefix(new InetSocketAddress("127.0.0.255", 2)));
    assertTrue(hash.prefix(ipv4) != hash.prefix(new InetSocketAddress("127.0.1.1", 1)));
  }

  private static final InetSocketAddress REMOTE = InetSocketAddress.createUnresolved("host", 1);

  /** Allocates buffers that cannot be written, as if memory ended with the allocation. */
  private static final class LastMemory extends AbstractByteBufAllocator {

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      return new LastBuffer(this, initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
      return newHeapBuffer(initialCapacity, maxCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }

  private static final class LastBuffer extends UnpooledHeapByteBuf {

    private static int held;

    LastBuffer(ByteBufAllocator allocator, int initialCapacity, int maxCapacity) {
      super(allocator, initialCapacity, maxCapacity);
      held++;
    }

    @Override
    public ByteBuf writeBytes(ByteBuf source, int index, int length) {
      throw new OutOfMemoryError("simulated");
    }

    @Override
    protected void deallocate() {
      super.deallocate();
      held--;
    }
  }

  @Test
  void copyIsReleasedIfThereIsNoMemoryBehindItsAllocation() {
    KcpContext context = KcpContext.of(new LastMemory());
    PacketDecrypter.DeferredPackets packets = new PacketDecrypter.DeferredPackets(context);
    assertFalse(packets.add(REMOTE, Unpooled.buffer().writeZero(100)));
    assertEquals(0, LastBuffer.held);
    assertEquals(0, context.budget().usedBytes());
    assertEquals(1, context.total().get(KcpCounter.ALLOCATION_FAILED));
    assertNull(packets.poll());
  }

  @Test
  void packetsArePolledInOrderAndCountUntilTheyAreReleased() {
    UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(false, true);
    KcpContext context = KcpContext.of(allocator);
    PacketDecrypter.DeferredPackets packets = new PacketDecrypter.DeferredPackets(context);
    for (int i = 0; i < PacketDecrypter.DeferredPackets.MAX_PACKETS; i++) {
      assertTrue(packets.add(REMOTE, Unpooled.buffer().writeZero(8).writeInt(i).skipBytes(8)));
    }
    assertFalse(packets.add(REMOTE, Unpooled.buffer().writeInt(1)), "the limit");
    assertEquals(4 * PacketDecrypter.DeferredPackets.MAX_PACKETS, context.budget().usedBytes());
    for (int i = 0; i < 2; i++) {
      PacketDecrypter.DeferredPackets.Packet packet = packets.poll();
      assertEquals(i, packet.sealed().getInt(0));
      packets.release(packet);
    }
    assertEquals(
        4 * (PacketDecrypter.DeferredPackets.MAX_PACKETS - 2), context.budget().usedBytes());
    assertTrue(packets.add(REMOTE, Unpooled.buffer().writeInt(1)));
    packets.clear();
    assertNull(packets.poll());
    assertEquals(0, context.budget().usedBytes());
    assertEquals(0, allocator.metric().usedHeapMemory());
  }
}
