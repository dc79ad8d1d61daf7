package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.memory.MemoryBudget;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The decoder detects the ratio of the peer, and follows its changes. */
class RatioDetectionTest {

  private static final int SEEDS = 12;
  private static final int QUICK_SEEDS = 4;

  private static final int[][] RATIOS = {
    {1, 1}, {2, 1}, {1, 2}, {1, 3}, {3, 1}, {3, 2}, {2, 2}, {4, 2}, {5, 5}, {8, 2}, {10, 1},
    {10, 3}, {10, 10}, {20, 5}, {20, 10}, {30, 2}, {40, 20}, {60, 4}, {63, 1}, {1, 63}
  };

  static Stream<Arguments> ratiosAndLosses() {
    return Stream.of(RATIOS)
        .flatMap(
            ratio ->
                Stream.of(0, 15, 30).map(percent -> Arguments.of(ratio[0], ratio[1], percent)));
  }

  private static FecSender sender(int dataShards, int parityShards, long first, Random random) {
    FecConfig config =
        FecConfig.of(dataShards, parityShards).toBuilder().flushAligned(true).build();
    return new FecSender(
        config, first / config.shards() * config.shards(), MemoryBudget.unlimited(), random);
  }

  private static List<byte[]> lose(List<byte[]> packets, int percent, Random random) {
    packets.removeIf(packet -> random.nextInt(100) < percent);
    return packets;
  }

  @ParameterizedTest
  @MethodSource("ratiosAndLosses")
  void ratioIsDetectedWithinAFewGroupsAndNeverAnotherOne(int data, int parity, int lossPercent) {
    detect(data, parity, lossPercent, QUICK_SEEDS);
  }

  @ParameterizedTest
  @MethodSource("ratiosAndLosses")
  @Tag("slow")
  void ratioIsDetectedWithEverySeed(int data, int parity, int lossPercent) {
    detect(data, parity, lossPercent, SEEDS);
  }

  private static void detect(int data, int parity, int lossPercent, int seeds) {
    String expected = data + "/" + parity;
    int shards = data + parity;
    int worst = 0;
    for (int seed = 0; seed < seeds; seed++) {
      Random random = new Random(seed);
      long first = seed % 3 == 0 ? 0 : random.nextLong(1L << 32);
      FecSender sender = sender(data, parity, first, random);
      FecReceiver receiver = new FecReceiver(FecConfig.NONE);
      int sent = 0;
      while (receiver.decoder.ratioChanges() == 0) {
        assertTrue(sent < 20 * shards + 100, "not found after " + sent + " packets");
        List<byte[]> packets = sender.sendRandom(1, 20, 0);
        sent += packets.size();
        receiver.inputAll(lose(packets, lossPercent, random));
      }
      assertEquals(expected, receiver.ratio());
      worst = Math.max(worst, sent);
      receiver.inputAll(sender.sendRandom(20 * data, 20, 0));
      assertEquals(1, receiver.decoder.ratioChanges());
      receiver.close();
    }
    if (lossPercent == 0) {
      assertTrue(worst <= 4 * shards + 32, "found after " + worst + " packets");
    }
  }

  @Test
  void ratioIsDetectedWhereMostParityIsNotSent() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      FecSender sender =
          new FecSender(FecConfig.of(10, 3), 13_000, MemoryBudget.unlimited(), random);
      FecReceiver receiver = new FecReceiver(FecConfig.NONE);
      long nowUs = 0;
      for (int i = 0; i < 2000 && receiver.decoder.ratioChanges() == 0; i++) {
        nowUs += random.nextInt(10) == 0 ? 5_000 : 600_000;
        receiver.inputAll(lose(sender.sendRandom(1, 20, nowUs), 20, random));
      }
      assertEquals("10/3", receiver.ratio());
      receiver.close();
    }
  }

  @Test
  void reorderingAndDuplicationDoNotPreventRecovery() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      List<byte[]> packets = sender(10, 3, 1 << 30, random).sendRandom(200, 20, 0);
      for (int i = 0; i + 30 < packets.size(); i++) {
        packets.add(i, packets.remove(i + random.nextInt(30)));
      }
      FecReceiver receiver = new FecReceiver(FecConfig.NONE);
      for (byte[] packet : packets) {
        receiver.input(packet);
        receiver.input(packet);
      }
      assertEquals("10/3", receiver.ratio());
      receiver.close();
    }
  }

  @Test
  void lossesBeforeTheRatioIsKnownAreRecoveredOnceItIs() {
    FecReceiver receiver = new FecReceiver(FecConfig.NONE);
    FecSender sender = new FecSender(3, 2);
    List<byte[]> packets = sender.sendRandom(30, 20, 0);
    packets.remove(5);
    packets.remove(1);
    receiver.inputAll(packets);
    assertEquals("3/2", receiver.ratio());
    assertEquals(2, receiver.recovered.size());
    assertEquals(0, receiver.decoder.heldBytes());
    receiver.close();
  }

  @Test
  void recoveryWaitsForTheProofOfTheConfiguredRatioWithoutLoss() {
    FecReceiver receiver = new FecReceiver(FecConfig.of(3, 2));
    FecSender sender = new FecSender(3, 2);
    List<byte[]> group = sender.sendRandom(3, 20, 0);
    receiver.inputAll(group.subList(2, 5));
    assertEquals(0, receiver.recovered.size());
    receiver.inputAll(sender.sendRandom(6, 20, 0));
    assertEquals(2, receiver.recovered.size());
    assertEquals(0, receiver.decoder.ratioChanges());
    receiver.close();
  }

  @Test
  void wrongConfiguredRatioRecoversNothing() {
    int recovered = 0;
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      FecReceiver receiver = new FecReceiver(FecConfig.of(3, 1));
      FecSender sender = sender(7, 1, 0, random);
      for (int i = 0; i < 30; i++) {
        receiver.inputAll(lose(sender.sendRandom(7, 20, 0), 20, random));
        for (byte[] datagram : receiver.recovered) {
          recovered++;
          assertTrue(
              sender.payloads.values().stream().anyMatch(sent -> Arrays.equals(sent, datagram)));
        }
        receiver.recovered.clear();
      }
      receiver.close();
    }
    assertTrue(recovered > 300);
  }

  @Test
  void ratioHasToBeProvenAgainAfterAJump() {
    FecReceiver receiver = new FecReceiver(FecConfig.of(3, 1));
    receiver.inputAll(sender(3, 1, 0, new Random(1)).sendRandom(60, 20, 0));
    FecSender gone = sender(7, 1, 4096, new Random(2));
    List<byte[]> packets = gone.sendRandom(7, 20, 0);
    packets.remove(5);
    packets.remove(3);
    receiver.inputAll(packets);
    assertEquals("3/1", receiver.ratio());
    assertEquals(0, receiver.recovered.size());
    receiver.close();
  }

  /**
   * Directly after the jump no packet has indicated it, and the packets before it prove the ratio.
   */
  @Test
  void packetsBeforeAJumpDoNotProveTheRatioAfterIt() {
    for (int before = 1; before < 12; before++) {
      for (long first = 3000; first < 3000 + 13 * 3; first += 3) {
        FecReceiver receiver = new FecReceiver(FecConfig.of(10, 3));
        FecSender sender = sender(2, 1, first, new Random(before));
        receiver.inputAll(sender.sendRandom(before, 20, 0));
        receiver.nowUs = PeerRatio.CHANGE_INTERVAL_US;
        sender.encoder = sender.encoder.successor(FecConfig.of(4, 1));
        List<byte[]> packets = sender.sendRandom(80, 20, 0);
        packets.remove(3);
        packets.remove(1);
        receiver.inputAll(packets);
        for (byte[] datagram : receiver.recovered) {
          assertTrue(wasSent(datagram, sender), "was never sent");
        }
        receiver.inputAll(sender.sendRandom(40, 20, 0));
        assertEquals("4/1", receiver.ratio());
        receiver.close();
      }
    }
  }

  private static boolean wasSent(byte[] datagram, FecSender sender) {
    return sender.payloads.values().stream().anyMatch(sent -> Arrays.equals(sent, datagram));
  }

  @Test
  void contradictionStopsRecoveryUntilTheRatioIsProvenAgain() {
    FecReceiver receiver = new FecReceiver(FecConfig.of(3, 2));
    FecSender sender = new FecSender(3, 2);
    receiver.inputAll(sender.sendRandom(30, 20, 0));
    receiver.input(FecReceiver.packet(54, FecPacket.DATA, 10));
    List<byte[]> group = sender.sendRandom(3, 20, 0);
    receiver.inputAll(group.subList(2, 5));
    assertEquals(0, receiver.recovered.size());
    receiver.inputAll(sender.sendRandom(15, 20, 0));
    assertEquals(2, receiver.recovered.size());
    receiver.close();
  }

  @Test
  void wrongConfiguredRatioIsReplacedAtOnce() {
    for (int[] ratio : RATIOS) {
      Random random = new Random(7);
      FecReceiver receiver = new FecReceiver(FecConfig.of(12, 3));
      FecSender sender = sender(ratio[0], ratio[1], 0, random);
      receiver.inputAll(lose(sender.sendRandom(1500, 20, 0), 10, random));
      assertEquals(ratio[0] + "/" + ratio[1], receiver.ratio());
      assertEquals(1, receiver.decoder.ratioChanges());
      receiver.close();
    }
  }

  @Test
  void changeIsFollowedWhetherNumbersContinueOrRestart() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      int[] before = RATIOS[random.nextInt(RATIOS.length)];
      int[] after = RATIOS[(List.of(RATIOS).indexOf(before) + 1 + random.nextInt(19)) % 20];
      long first = random.nextBoolean() ? 0 : 20_000;
      FecReceiver receiver = new FecReceiver(FecConfig.NONE);
      receiver.inputAll(
          lose(sender(before[0], before[1], 0, random).sendRandom(1000, 20, 0), 10, random));
      assertEquals(before[0] + "/" + before[1], receiver.ratio());
      receiver.nowUs = 10_000_000;
      FecSender changed = sender(after[0], after[1], first, random);
      receiver.inputAll(lose(changed.sendRandom(2500, 20, 0), 10, random));
      assertEquals(after[0] + "/" + after[1], receiver.ratio(), "seed " + seed);
      assertEquals(2, receiver.decoder.ratioChanges());
      receiver.close();
    }
  }

  @Test
  void lossesAreRecoveredAfterARatioChange() {
    Random random = new Random(9);
    FecReceiver receiver = new FecReceiver(FecConfig.of(10, 3));
    FecSender changed = sender(3, 2, 0, random);
    receiver.inputAll(changed.sendRandom(60, 20, 0));
    receiver.recovered.clear();
    List<byte[]> group = changed.sendRandom(3, 20, 0);
    receiver.inputAll(group.subList(2, 5));
    assertEquals(2, receiver.recovered.size());
    receiver.close();
  }

  @Test
  void secondChangeWaitsForTenSeconds() {
    Random random = new Random(3);
    FecReceiver receiver = new FecReceiver(FecConfig.NONE);
    receiver.nowUs = 5_000;
    receiver.inputAll(sender(10, 3, 0, random).sendRandom(100, 20, 0));
    assertEquals("10/3", receiver.ratio());
    FecSender changed = sender(3, 2, 0, random);
    receiver.nowUs = 10_004_999;
    receiver.inputAll(changed.sendRandom(3000, 20, 0));
    assertEquals("10/3", receiver.ratio());
    receiver.nowUs = 10_005_000;
    receiver.inputAll(changed.sendRandom(300, 20, 0));
    assertEquals("3/2", receiver.ratio());
    receiver.close();
  }

  @Test
  void flappingChangesTheRatioOncePerTenSeconds() {
    Random random = new Random(4);
    FecReceiver receiver = new FecReceiver(FecConfig.NONE);
    List<FecSender> senders = new ArrayList<>();
    for (int[] ratio : RATIOS) {
      senders.add(sender(ratio[0], ratio[1], 0, random));
    }
    for (int i = 0; i < 160; i++) {
      receiver.nowUs += 250_000;
      receiver.inputAll(senders.get(random.nextInt(senders.size())).sendRandom(100, 20, 0));
      assertTrue(receiver.decoder.heldBytes() <= 256 * 1024);
    }
    assertTrue(receiver.decoder.ratioChanges() > 1);
    assertTrue(receiver.decoder.ratioChanges() <= 1 + 40_000_000 / 10_000_000);
    receiver.close();
  }

  @Test
  void someForgedPacketsDoNotChangeTheRatio() {
    Random random = new Random(5);
    FecReceiver receiver = new FecReceiver(FecConfig.NONE);
    FecSender sender = sender(10, 3, 0, random);
    for (int i = 0; i < 3000; i++) {
      receiver.inputAll(sender.sendRandom(1, 20, 0));
      if (i > 100 && i % 20 == 0) {
        int type = random.nextBoolean() ? FecPacket.DATA : FecPacket.PARITY;
        receiver.input(FecReceiver.packet(i + random.nextInt(1000), type, 20));
      }
    }
    assertEquals("10/3", receiver.ratio());
    assertEquals(1, receiver.decoder.ratioChanges());
    receiver.close();
  }

  @Test
  void ratioIsDetectedDespiteRareForgedPackets() {
    Random random = new Random(6);
    FecReceiver receiver = new FecReceiver(FecConfig.NONE);
    FecSender sender = sender(10, 3, 0, random);
    for (int i = 0; i < 3000; i++) {
      receiver.inputAll(sender.sendRandom(1, 20, 0));
      if (i % 100 == 0) {
        int type = random.nextBoolean() ? FecPacket.DATA : FecPacket.PARITY;
        receiver.input(FecReceiver.packet(i + random.nextInt(100), type, 20));
      }
    }
    assertEquals("10/3", receiver.ratio());
    receiver.close();
  }

  @Test
  void groupsBeyondTheLimitAreNotDetected() {
    for (int[] ratio :
        new int[][] {{62, 3}, {100, 28}, {128, 128}, {200, 55}, {254, 1}, {1, 254}}) {
      for (int seed = 0; seed < 4; seed++) {
        Random random = new Random(seed);
        FecReceiver receiver = new FecReceiver(FecConfig.NONE);
        FecSender sender = sender(ratio[0], ratio[1], random.nextLong(1L << 32), random);
        receiver.inputAll(lose(sender.sendRandom(1500, 5, 0), 10 * seed, random));
        assertEquals("0/0", receiver.ratio());
        assertEquals(0, receiver.decoder.heldBytes());
        receiver.close();
      }
    }
  }

  @Test
  void ratioIsDetectedAcrossTheWrap() {
    Random random = new Random(2);
    FecReceiver receiver = new FecReceiver(FecConfig.NONE);
    receiver.inputAll(sender(10, 3, (1L << 32) - 40, random).sendRandom(100, 20, 0));
    assertEquals("10/3", receiver.ratio());
    receiver.close();
  }
}
