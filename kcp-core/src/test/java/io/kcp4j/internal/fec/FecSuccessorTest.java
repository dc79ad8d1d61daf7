package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.memory.MemoryBudget;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The first number of {@link FecEncoder} after a change of ratio, and receivers that follow it. */
class FecSuccessorTest {

  /**
   * The group state of kcp-go v5.6.72: the number of the newest group, by the group size that it
   * assumes, modulo 2^32. Groups more than three before it are dropped.
   */
  private static final class GroupsOfKcpGo {
    int shards;
    int newest;

    /** Returns whether the packet's group is kept. */
    boolean take(int seqid) {
      int group = Integer.divideUnsigned(seqid, shards);
      if (group * shards - newest * shards > 0) {
        newest = group;
      }
      return newest * shards - group * shards <= 3 * shards;
    }
  }

  private static FecSender sender(FecConfig config, long packets) {
    long first = packets / config.shards() * config.shards();
    return new FecSender(config, first, MemoryBudget.unlimited(), new Random(1));
  }

  /**
   * Whether kcp-go's receiver keeps the groups of the new ratio.
   *
   * @param misread how many of its packets it interprets by the old ratio before
   */
  private static boolean isFollowed(FecConfig before, FecConfig after, long packets, int misread) {
    FecSender sender = sender(before, packets);
    GroupsOfKcpGo groups = new GroupsOfKcpGo();
    groups.shards = before.shards();
    groups.newest = (int) (packets / before.shards()) - 1;
    for (byte[] packet : sender.sendRandom(3 * before.dataShards(), 10, 0)) {
      assertTrue(groups.take(FecReceiver.seqid(packet)));
    }
    sender.encoder = sender.encoder.successor(after);
    List<byte[]> packetsAfter = sender.sendRandom(misread + 10 * after.dataShards(), 10, 0);
    for (byte[] packet : packetsAfter.subList(0, misread)) {
      groups.take(FecReceiver.seqid(packet));
    }
    groups.shards = after.shards();
    for (byte[] packet : packetsAfter.subList(misread, packetsAfter.size())) {
      if (!groups.take(FecReceiver.seqid(packet))) {
        return false;
      }
    }
    return true;
  }

  @ParameterizedTest
  @CsvSource({
    "2, 1, 10, 3",
    "1, 1, 10, 3",
    "10, 3, 2, 1",
    "10, 3, 20, 10",
    "3, 2, 10, 3",
    "10, 3, 10, 3",
    "1, 1, 128, 127",
    "128, 127, 1, 1",
    "20, 10, 10, 3"
  })
  void receiverOfKcpGoFollowsHoweverItReadsTheFirstPackets(int d, int p, int newD, int newP) {
    FecConfig before = FecConfig.of(d, p);
    FecConfig after = FecConfig.of(newD, newP);
    for (long packets : new long[] {1000, 100_000, 20_000_000}) {
      for (int misread : new int[] {0, 1, 5, 258}) {
        assertTrue(isFollowed(before, after, packets, misread), packets + ", " + misread);
      }
    }
  }

  @Test
  void numbersSkipFarEnoughButLessThanHalfOfTheirRange() {
    Random random = new Random(1);
    for (int i = 0; i < 1000; i++) {
      FecConfig before = FecConfig.of(1 + random.nextInt(128), 1 + random.nextInt(128));
      FecConfig after = FecConfig.of(1 + random.nextInt(128), 1 + random.nextInt(128));
      long packets = random.nextLong(1L << 31);
      FecSender sender = sender(before, packets);
      sender.encoder = sender.encoder.successor(after);
      long next = packets / before.shards() * before.shards();
      int first = FecReceiver.seqid(sender.send(new byte[1], 0).get(0));
      int ahead = first - (int) next;
      assertTrue(ahead >= 4096, before + " to " + after + " at " + next + ": " + ahead);
      assertEquals(0, Integer.remainderUnsigned(first, after.shards()));
    }
  }

  @Test
  void slightlyLargerGroupsContinueAsSoonAsPossible() {
    FecSender sender = sender(FecConfig.of(10, 3), 13_000);
    sender.encoder = sender.encoder.successor(FecConfig.of(13, 4));
    assertEquals(
        (13_000 + 4096 + 16) / 17 * 17, FecReceiver.seqid(sender.send(new byte[1], 0).get(0)));
  }

  @Test
  void changeIsRefusedWithoutEffectWhereNumbersRunOut() {
    FecConfig before = FecConfig.of(10, 3);
    FecSender sender = sender(before, FecPacket.paws(13) - 26);
    FecEncoder encoder = sender.encoder;
    sender.send(new byte[9], 0);
    assertThrows(IllegalStateException.class, () -> encoder.successor(FecConfig.of(13, 4)));
    assertThrows(IllegalStateException.class, () -> encoder.checkSuccessor(FecConfig.of(13, 4)));
    int parity = 0;
    for (int i = 1; i < 10; i++) {
      parity += sender.send(new byte[9], 0).size() - 1;
    }
    assertEquals(3, parity);
  }

  @Test
  void sameRatioContinuesAcrossTheWrap() {
    FecConfig config = FecConfig.of(10, 3);
    FecSender sender = sender(config, FecPacket.paws(13) - 26);
    sender.encoder = sender.encoder.successor(config);
    int first = FecReceiver.seqid(sender.send(new byte[1], 0).get(0));
    assertTrue(first >= 4096 - 26 - 13 && first <= 4096 + 13, "first: " + first);
  }
}
