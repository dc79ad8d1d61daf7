package io.kcp4j.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.wire.DatagramOutput;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * In the steady state a packet allocates nothing, from one session table to another and back: what
 * is allocated for a batch must not add up to an object for each packet.
 */
class AllocationTest {

  private static final int SEGMENTS_PER_BATCH = 60;
  private static final int BATCHES = 500;

  /** The JIT compiler does away with some objects once it has seen enough. */
  private static final int MAX_ROUNDS = 40;

  /** The smallest object; several per batch come to less. */
  private static final int LEAST_BYTES = 16;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private final MemoryBudget budget = MemoryBudget.unlimited();
  private final ResourceLeakDetector.Level level = ResourceLeakDetector.getLevel();

  @BeforeEach
  void withoutWrappersOfTheLeakDetector() {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
  }

  @AfterEach
  void restoreTheLeakDetector() {
    ResourceLeakDetector.setLevel(level);
  }

  @Test
  void plainPackets() {
    assertNothingPerPacket(KeyRing.NONE, FecConfig.NONE);
  }

  @Test
  void packetsWithCipherAndParity() {
    PacketKey key = PacketKey.ofPassphrase(CipherAlgorithm.SALSA20, "k");
    assertNothingPerPacket(KeyRing.of(key), FecConfig.of(10, 3));
  }

  /** On a thread such as an event loop has: on others Netty's pools keep less. */
  private void assertNothingPerPacket(KeyRing keys, FecConfig fec) {
    CompletableFuture.runAsync(
            () -> awaitNothingPerPacket(keys, fec), task -> new FastThreadLocalThread(task).start())
        .join();
  }

  private void awaitNothingPerPacket(KeyRing keys, FecConfig fec) {
    End client = new End(1, keys, fec);
    End server = new End(2, keys, fec);
    Session session = client.session(server.address, 7);
    client.table.add(session, 0);
    ByteBuf batch = PooledByteBufAllocator.DEFAULT.directBuffer();
    batch.writeZero(SEGMENTS_PER_BATCH * session.kcp().mssBytes());
    try {
      long packets = (long) BATCHES * SEGMENTS_PER_BATCH;
      long allocated = Long.MAX_VALUE;
      int rounds = 0;
      while (allocated >= LEAST_BYTES * packets && rounds < MAX_ROUNDS) {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        transfer(client, server, session, batch);
        allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
        rounds++;
      }
      assertEquals((long) rounds * BATCHES * batch.readableBytes(), server.receivedBytes);
      long bytes = allocated / packets;
      assertTrue(bytes < LEAST_BYTES, () -> bytes + " bytes for each packet");
    } finally {
      batch.release();
      client.close();
      server.close();
    }
    assertEquals(0, budget.usedBytes());
  }

  private static void transfer(End client, End server, Session session, ByteBuf batch) {
    for (int i = 0; i < BATCHES; i++) {
      batch.markReaderIndex();
      assertTrue(session.kcp().send(batch));
      batch.resetReaderIndex();
      for (int ms = 0; !session.kcp().isDrained(); ms++) {
        assertTrue(ms < 1_000, "is not acknowledged");
        client.table.scheduleFlush(session);
        client.table.flushPending(client.nowUs);
        server.nowUs += 500;
        client.carryTo(server);
        client.nowUs += 1_000;
        server.carryTo(client);
        server.nowUs += 500;
      }
    }
  }

  /** A table and the buffer that it writes packets into, which are carried over from there. */
  private final class End implements DatagramOutput {

    private static final int WIRE_BYTES = 1 << 20;

    final InetSocketAddress address;
    final TestDriver driver;
    final SessionTable table;
    long nowUs;
    long receivedBytes;

    private final KcpConfig config =
        KcpConfig.builder().sendWindow(256).receiveWindow(256).ackNoDelay(true).build();
    private final KcpContext context =
        new KcpContext(PooledByteBufAllocator.DEFAULT, budget, new KcpCounters());
    private final FecConfig fec;
    private final PacketCipher cipher;
    private final ByteBuf wire = PooledByteBufAllocator.DEFAULT.directBuffer(WIRE_BYTES);
    private final PacketBatch packets = new PacketBatch().reset(wire);
    private Session session;
    private int start;

    End(int port, KeyRing keys, FecConfig fec) {
      address = InetSocketAddress.createUnresolved("host", port);
      this.fec = fec;
      cipher = keys.newCipher();
      driver = TestDriver.builder(context).cipher(cipher).build();
      driver.acceptor = this::session;
      driver.onProgress = this::read;
      driver.onEnd = AllocationTest::failEnded;
      driver.output = remote -> this;
      table = driver.table;
    }

    Session session(InetSocketAddress remote, int conv) {
      session = driver.newSession(remote, new Kcp(conv, config, context, 0));
      session.reconfigure(config, fec);
      return session;
    }

    void carryTo(End other) {
      cipher.seal(packets);
      for (int i = 0; i < packets.size(); i++) {
        wire.setIndex(packets.start(i), packets.end(i));
        other.table.receive(address, wire, other.nowUs);
      }
      other.table.endBatch(other.nowUs);
      packets.reset(wire.clear());
      start = 0;
    }

    void close() {
      session.close();
      table.close();
      wire.release();
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      return wire;
    }

    @Override
    public void end() {
      packets.add(start, wire.writerIndex());
      start = wire.writerIndex();
    }

    private void read(Session session) {
      for (ByteBuf part; (part = session.kcp().receive()) != null; part.release()) {
        receivedBytes += part.readableBytes();
      }
    }
  }

  private static void failEnded(Session session, EndReason reason) {
    throw new AssertionError("conv " + session.conv() + " ended: " + reason);
  }
}
