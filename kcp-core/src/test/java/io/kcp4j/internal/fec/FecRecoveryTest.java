package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Streams over a seeded network with loss, duplication and reordering: every loss that parity
 * covers is recovered, once and unchanged, and nothing else.
 */
class FecRecoveryTest {

  private static final int SEEDS = 15;

  /**
   * A packet's arrival.
   *
   * @param sent its index among the packets sent
   * @param at its arrival, in terms of those indices
   */
  private record Arrival(int sent, int at) {}

  @ParameterizedTest
  @CsvSource({
    "1,1", "2,1", "1,3", "3,2", "10,3", "5,5", "20,10", "30,2", "60,4", "100,28", "255,1", "1,255"
  })
  void everyLossCoveredByParityIsRecoveredOnceAndUnchanged(int dataShards, int parityShards) {
    int recovered = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
      recovered += run(FecConfig.of(dataShards, parityShards), new Random(seed));
    }
    assertTrue(recovered > 0);
  }

  private static int run(FecConfig config, Random random) {
    long paws = FecPacket.paws(config.shards());
    long firstGroup = random.nextBoolean() ? 0 : paws - (1L + random.nextInt(8)) * config.shards();
    MemoryBudget budget = MemoryBudget.unlimited();
    FecSender sender = new FecSender(config, firstGroup, MemoryBudget.unlimited(), random);
    List<byte[]> sent = new ArrayList<>();
    List<byte[]> payloads = new ArrayList<>();
    long nowUs = 0;
    for (int i = 0; i < config.dataShards() * Math.max(12, 600 / config.shards()); i++) {
      nowUs += config.shards() < 64 && random.nextInt(20) == 0 ? 600_000 : 5_000;
      payloads.add(payload(i, random));
      sent.addAll(sender.send(payloads.get(i), nowUs));
    }
    double worstLoss = Math.min(0.5, (double) config.parityShards() / config.shards());
    FecReceiver receiver = new FecReceiver(config, budget);
    Map<Integer, BitSet> arrived = new HashMap<>();
    Set<Integer> received = new HashSet<>();
    int intact = Math.max(6 * config.shards(), 100);
    for (Arrival arrival : transmit(sent.size(), intact, worstLoss, random)) {
      byte[] packet = sent.get(arrival.sent());
      int seqid = FecReceiver.seqid(packet);
      arrived
          .computeIfAbsent(Integer.divideUnsigned(seqid, config.shards()), g -> new BitSet())
          .set(Integer.remainderUnsigned(seqid, config.shards()));
      receiver.input(packet);
      for (byte[] datagram : receiver.recovered) {
        int number = number(datagram);
        assertTrue(received.add(number), "came before, or twice");
        assertArrayEquals(payloads.get(number), datagram);
      }
      receiver.recovered.clear();
      if (FecReceiver.isData(packet)) {
        received.add(Unpooled.wrappedBuffer(packet).getInt(FecPacket.DATA_HEADER_BYTES));
      }
    }
    for (Map.Entry<Integer, byte[]> payload : sender.payloads.entrySet()) {
      BitSet group = arrived.get(Integer.divideUnsigned(payload.getKey(), config.shards()));
      if (group != null && group.cardinality() >= config.dataShards()) {
        int number = number(payload.getValue());
        assertTrue(received.contains(number), "not recovered: " + payload.getKey());
      }
    }
    receiver.close();
    return received.size()
        - (int)
            arrived.values().stream()
                .mapToLong(group -> group.get(0, config.dataShards()).cardinality())
                .sum();
  }

  /** A number, followed by random bytes. */
  private static byte[] payload(int number, Random random) {
    byte[] payload = new byte[4 + random.nextInt(random.nextInt(4) == 0 ? 1400 : 60)];
    random.nextBytes(payload);
    Unpooled.wrappedBuffer(payload).setInt(0, number);
    return payload;
  }

  private static int number(byte[] payload) {
    return Unpooled.wrappedBuffer(payload).getInt(0);
  }

  /**
   * The first packets arrive in order, to prove the ratio. A packet may arrive after up to 60 later
   * ones.
   */
  private static List<Arrival> transmit(int packets, int intact, double worstLoss, Random random) {
    double loss = random.nextInt(4) * worstLoss / 3;
    List<Arrival> arrivals = new ArrayList<>();
    for (int i = 0; i < packets; i++) {
      if (i < intact) {
        arrivals.add(new Arrival(i, i));
      } else if (random.nextDouble() >= loss) {
        do {
          int delay = random.nextInt(5) == 0 ? random.nextInt(60) : 0;
          arrivals.add(new Arrival(i, i + delay));
        } while (random.nextInt(10) == 0);
      }
    }
    arrivals.sort(Comparator.comparingInt(Arrival::at));
    return arrivals;
  }

  @Test
  void bothDirectionsMayHaveDifferentRatiosInOneContext() {
    FecContext context = new FecContext(MemoryAccount.of(MemoryBudget.unlimited()));
    MemoryBudget budget = MemoryBudget.unlimited();
    FecReceiver one =
        new FecReceiver(FecConfig.of(10, 3), context.withMemory(MemoryAccount.of(budget)), budget);
    FecReceiver other =
        new FecReceiver(FecConfig.of(3, 2), context.withMemory(MemoryAccount.of(budget)), budget);
    FecSender toOne = new FecSender(10, 3);
    FecSender toOther = new FecSender(3, 2);
    one.inputAll(toOne.sendRandom(40, 300, 0));
    other.inputAll(toOther.sendRandom(40, 300, 0));
    other.inputAll(toOther.sendRandom(2, 300, 0));
    for (int i = 0; i < 50; i++) {
      List<byte[]> group = toOne.sendRandom(10, 300, 0);
      List<byte[]> otherGroup = toOther.sendRandom(3, 1400, 0);
      one.inputAll(group.subList(1, 8));
      other.inputAll(otherGroup.subList(2, 5));
      one.inputAll(group.subList(10, 13));
      assertEquals(3, one.recovered.size());
      assertEquals(2, other.recovered.size());
      byte[] lost = group.get(9);
      assertArrayEquals(
          Arrays.copyOfRange(lost, FecPacket.DATA_HEADER_BYTES, lost.length), one.recovered.get(2));
      one.recovered.clear();
      other.recovered.clear();
    }
    assertEquals(0, one.decoder.heldBytes() + other.decoder.heldBytes());
    one.decoder.close();
    other.decoder.close();
    assertEquals(0, budget.usedBytes());
  }
}
