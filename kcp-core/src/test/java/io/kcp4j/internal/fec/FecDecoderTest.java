package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.fec.FecDecoder.Result;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link FecDecoder} with a known ratio. */
class FecDecoderTest {

  private static final FecConfig RATIO = FecConfig.of(3, 2);

  /** What the ring of the groups of this ratio counts. */
  private static final int RING_BYTES = ringBytes();

  private static int ringBytes() {
    FecReceiver receiver = new FecReceiver(RATIO);
    receiver.prove(0, 3, 2);
    return (int) receiver.budget.usedBytes();
  }

  private final FecSender sender = new FecSender(3, 2);
  private FecReceiver receiver = new FecReceiver(RATIO);

  @AfterEach
  void closedDecoderHoldsNoMemory() {
    receiver.close();
  }

  private static byte[] payload(byte[] packet) {
    return Arrays.copyOfRange(packet, FecPacket.DATA_HEADER_BYTES, packet.length);
  }

  /** Inputs whole groups until the ratio is proven. */
  private void prove() {
    receiver.inputAll(sender.sendRandom(4 * 3, 200, 0));
  }

  private List<byte[]> group() {
    return sender.sendRandom(3, 200, 0);
  }

  private void assertInput(Result expected, byte[] packet) {
    assertEquals(expected, receiver.input(packet));
  }

  private void assertRecovered(byte[]... packets) {
    assertEquals(packets.length, receiver.recovered.size());
    for (int i = 0; i < packets.length; i++) {
      assertArrayEquals(payload(packets[i]), receiver.recovered.get(i));
    }
    receiver.recovered.clear();
  }

  @Test
  void completeGroupHoldsNoMemory() {
    List<byte[]> group = group();
    receiver.input(group.get(0));
    receiver.input(group.get(1));
    assertTrue(receiver.decoder.heldBytes() > 0);
    assertInput(Result.KEPT, group.get(2));
    assertEquals(0, receiver.decoder.heldBytes());
    assertInput(Result.DUPLICATE, group.get(3));
    assertRecovered();
  }

  @Test
  void lostDatagramsAreRecoveredInOrderWithTheLastNeededPacket() {
    prove();
    List<byte[]> group = group();
    receiver.input(group.get(4));
    receiver.input(group.get(3));
    assertRecovered();
    receiver.input(group.get(1));
    assertRecovered(group.get(0), group.get(2));
    assertEquals(0, receiver.decoder.heldBytes());
  }

  @Test
  void groupWithTooFewPacketsRecoversNothing() {
    List<byte[]> group = group();
    receiver.input(group.get(4));
    receiver.input(group.get(1));
    assertRecovered();
  }

  @Test
  void datagramThatArrivesAfterItsRecoveryIsADuplicate() {
    prove();
    List<byte[]> group = group();
    receiver.inputAll(group.subList(1, 4));
    assertRecovered(group.get(0));
    assertInput(Result.DUPLICATE, group.get(0));
    assertInput(Result.DUPLICATE, group.get(4));
    assertRecovered();
    assertEquals(0, receiver.decoder.heldBytes());
  }

  @Test
  void datagramThatArrivesBeforeItsRecoveryIsNotRecovered() {
    List<byte[]> group = group();
    receiver.inputAll(group.subList(2, 5));
    assertInput(Result.DUPLICATE, group.get(0));
    prove();
    assertRecovered(group.get(1));
  }

  @Test
  void groupWhoseDataAllArriveBeforeItsRecoveryHoldsNoMemory() {
    List<byte[]> group = group();
    receiver.inputAll(group.subList(2, 5));
    assertInput(Result.DUPLICATE, group.get(0));
    assertInput(Result.DUPLICATE, group.get(0));
    assertTrue(receiver.decoder.heldBytes() > 0);
    assertInput(Result.DUPLICATE, group.get(1));
    assertEquals(0, receiver.decoder.heldBytes());
    prove();
    assertRecovered();
  }

  @Test
  void parityHasTheBytesThatAllDatagramsOfItsGroupShare() {
    Random random = new Random(1);
    for (int parity = 1; parity < 200; parity += 9) {
      FecSender peer = new FecSender(40, parity);
      List<byte[]> packets = new java.util.ArrayList<>();
      for (int i = 0; i < 40; i++) {
        byte[] payload = new byte[24 + random.nextInt(100)];
        random.nextBytes(payload);
        Unpooled.wrappedBuffer(payload).setInt(0, 0x11223344);
        packets.addAll(peer.send(payload, 0));
      }
      assertEquals(40 + parity, packets.size());
      for (byte[] packet : packets) {
        assertEquals(
            0x11223344, Unpooled.wrappedBuffer(packet).getInt(FecPacket.DATA_HEADER_BYTES));
      }
    }
  }

  @Test
  void duplicatesDoNotCountTwice() {
    prove();
    List<byte[]> group = group();
    for (int i = 0; i < 3; i++) {
      assertInput(i == 0 ? Result.KEPT : Result.DUPLICATE, group.get(1));
      assertInput(i == 0 ? Result.KEPT : Result.DUPLICATE, group.get(3));
    }
    assertRecovered();
    receiver.input(group.get(2));
    assertRecovered(group.get(0));
  }

  @Test
  void smallGroupsAreKeptForAsManyPacketsAsLargeOnes() {
    for (int[] ratio : new int[][] {{1, 1}, {3, 2}, {10, 3}, {30, 2}, {60, 4}}) {
      FecSender peer = new FecSender(ratio[0], ratio[1]);
      FecReceiver far = new FecReceiver(FecConfig.of(ratio[0], ratio[1]));
      int shards = ratio[0] + ratio[1];
      peer.send(new byte[1], 0); // the first packet of all has no parity where d = 1
      List<byte[]> packets = peer.sendRandom((3 + 140 / shards) * ratio[0], 50, 0);
      List<byte[]> group =
          packets.stream().filter(p -> FecReceiver.seqid(p) / shards == 1).toList();
      List<byte[]> others =
          packets.stream().filter(p -> FecReceiver.seqid(p) / shards > 1).toList();
      far.inputAll(group.subList(1, ratio[0]));
      far.inputAll(others.subList(0, 128));
      far.input(group.get(ratio[0]));
      far.inputAll(others.subList(128, others.size()));
      assertEquals(1, far.recovered.size(), ratio[0] + "/" + ratio[1]);
      far.close();
    }
  }

  @Test
  void oldGroupsAreDropped() {
    List<byte[]> first = group();
    receiver.input(first.get(0));
    int groupsBefore = (128 + 4) / 5;
    for (int i = 1; i <= groupsBefore; i++) {
      receiver.input(group().get(0));
    }
    assertInput(Result.KEPT, first.get(1));
    receiver.input(group().get(0));
    assertInput(Result.STALE, first.get(3));
    assertInput(Result.STALE, first.get(4));
    assertRecovered();
  }

  @Test
  void misplacedPacketsAreNotKept() {
    assertInput(Result.MISPLACED, FecReceiver.packet(3, FecPacket.DATA, 10));
    assertInput(Result.MISPLACED, FecReceiver.packet(5, FecPacket.PARITY, 10));
    assertInput(Result.KEPT, FecReceiver.packet(2, FecPacket.DATA, 10));
    assertInput(Result.KEPT, FecReceiver.packet(4, FecPacket.PARITY, 10));
    long paws = 0xffffffffL / 5 * 5;
    assertEquals(0xffffffffL, paws);
    FecReceiver other = new FecReceiver(FecConfig.of(2, 2));
    assertEquals(
        Result.MISPLACED, other.input(FecReceiver.packet(0xfffffffcL, FecPacket.DATA, 10)));
    assertEquals(Result.KEPT, other.input(FecReceiver.packet(0xfffffffbL, FecPacket.PARITY, 10)));
    other.close();
  }

  @Test
  void parityShorterThanDataAndDataLongerThanParityAreNotKept() {
    assertInput(Result.KEPT, FecReceiver.packet(0, FecPacket.DATA, 100));
    assertInput(Result.MISPLACED, FecReceiver.packet(3, FecPacket.PARITY, 99));
    assertInput(Result.KEPT, FecReceiver.packet(3, FecPacket.PARITY, 100));
    assertInput(Result.MISPLACED, FecReceiver.packet(4, FecPacket.PARITY, 101));
    assertInput(Result.MISPLACED, FecReceiver.packet(1, FecPacket.DATA, 101));
    assertInput(Result.KEPT, FecReceiver.packet(1, FecPacket.DATA, 100));
  }

  @Test
  void malformedPacketsAreRefused() {
    byte[] good = FecReceiver.packet(0, FecPacket.DATA, 10);
    for (int length = 0; length < good.length; length++) {
      assertInput(Result.REFUSED, Arrays.copyOf(good, length));
    }
    assertInput(Result.REFUSED, Arrays.copyOf(good, good.length + 1));
    assertInput(Result.REFUSED, FecReceiver.packet(3, FecPacket.PARITY, 1));
    assertInput(Result.REFUSED, FecReceiver.packet(0xffffffffL, FecPacket.DATA, 10));
    assertInput(Result.REFUSED, FecReceiver.packet(0, FecPacket.OUT_OF_BAND, 10));
    assertInput(Result.REFUSED, FecReceiver.packet(3, FecPacket.PARITY, 65536));
    assertEquals(0, receiver.decoder.heldBytes());
    assertInput(Result.KEPT, FecReceiver.packet(3, FecPacket.PARITY, 65535));
    assertInput(Result.KEPT, FecReceiver.packet(1, FecPacket.DATA, 2));
  }

  @Test
  void recoveredShardWithInvalidSizeIsDropped() {
    receiver = new FecReceiver(FecConfig.of(1, 1));
    receiver.prove(0, 1, 1);
    int[] sizes = {0, 1, 2, 49, 50, 51, 0xffff};
    for (int i = 0; i < sizes.length; i++) {
      byte[] parity = FecReceiver.packet(2 * i + 53, FecPacket.PARITY, 50);
      parity[6] = (byte) sizes[i];
      parity[7] = (byte) (sizes[i] >> 8);
      assertInput(Result.KEPT, parity);
    }
    assertEquals(
        List.of(0, 47, 48), receiver.recovered.stream().map(bytes -> bytes.length).toList());
    assertEquals(4, receiver.decoder.refusedShards());
    assertEquals(0, receiver.decoder.heldBytes());
  }

  @Test
  void decodingContinuesAcrossTheWrap() {
    long paws = 0xffffffffL / 13 * 13;
    FecConfig config = FecConfig.of(10, 3);
    FecSender peer = new FecSender(config, paws - 20 * 13, MemoryBudget.unlimited(), new Random(3));
    receiver = new FecReceiver(config);
    List<byte[]> packets = peer.sendRandom(400, 100, 0);
    int lost = 0;
    for (int i = 0; i < packets.size(); i++) {
      if (i % 13 == i / 13 % 10 || i % 13 == (i / 13 + 3) % 10) {
        lost++;
      } else {
        receiver.input(packets.get(i));
      }
    }
    assertEquals(80, lost);
    assertEquals(80, receiver.recovered.size());
    assertEquals(0, receiver.decoder.heldBytes());
  }

  @Test
  void groupsOnBothSidesOfTheWrapAreNeighbours() {
    long paws = 0xffffffffL / 13 * 13;
    FecConfig config = FecConfig.of(10, 3);
    FecSender peer = new FecSender(config, paws - 6 * 13, MemoryBudget.unlimited(), new Random(3));
    receiver = new FecReceiver(config);
    receiver.inputAll(peer.sendRandom(50, 100, 0));
    List<byte[]> packets = peer.sendRandom(20, 100, 0);
    receiver.inputAll(packets.subList(13 + 1, 13 + 10));
    receiver.inputAll(packets.subList(1, 11));
    assertRecovered(packets.get(0));
    receiver.input(packets.get(13 + 11));
    assertRecovered(packets.get(13));
  }

  @Test
  void oneForgedNumberHasNoEffect() {
    for (long forged : new long[] {1 << 20, 0xffffff00L, 5 * 14, 5 * 12, 500, 0x80000000L}) {
      FecReceiver disturbed = new FecReceiver(RATIO);
      FecSender peer = new FecSender(3, 2);
      disturbed.inputAll(peer.sendRandom(60, 50, 0));
      List<byte[]> group = peer.sendRandom(3, 50, 0);
      disturbed.input(group.get(0));
      disturbed.input(FecReceiver.packet((100 + forged) / 5 * 5, FecPacket.DATA, 40));
      disturbed.input(group.get(1));
      disturbed.input(group.get(3));
      assertEquals(1, disturbed.recovered.size(), "forged: " + forged);
      disturbed.close();
    }
  }

  @Test
  void decoderFollowsAJumpOfThePeer() {
    long[] elsewhere = {5_000, 0x7fffff00L, 0x80000010L, 0xffffff00L};
    for (long ahead : elsewhere) {
      FecReceiver left = new FecReceiver(RATIO);
      left.inputAll(new FecSender(3, 2).sendRandom(60, 50, 0));
      FecSender gone = new FecSender(RATIO, ahead / 5 * 5, MemoryBudget.unlimited(), new Random(5));
      left.inputAll(gone.sendRandom(3, 50, 0));
      assertEquals(0, left.recovered.size(), "all have arrived");
      List<byte[]> group = gone.sendRandom(3, 50, 0);
      left.inputAll(group.subList(1, 4));
      left.inputAll(gone.sendRandom(30, 50, 0));
      assertEquals(1, left.recovered.size(), "ahead: " + ahead);
      assertArrayEquals(payload(group.get(0)), left.recovered.get(0));
      left.close();
    }
  }

  @Test
  void replayedPacketsDoNotMoveTheDecoderBack() {
    List<byte[]> recorded = sender.sendRandom(300, 200, 0);
    receiver.inputAll(recorded);
    for (int i = 0; i < 30; i++) {
      List<byte[]> group = group();
      for (int j = 0; j < 3; j++) {
        assertEquals(Result.REPLAYED, receiver.replay(recorded.get(3 * i + j)));
      }
      receiver.inputAll(group.subList(1, 4));
      assertRecovered(group.get(0));
    }
  }

  /** Nothing in a parity packet shows that it is no replay. */
  @ParameterizedTest
  @ValueSource(ints = {4, 10, 18})
  void parityThatIsLateByManyGroupsRecovers(int groups) {
    receiver.close();
    receiver = new FecReceiver(FecConfig.of(4, 3));
    FecSender peer = new FecSender(4, 3);
    receiver.inputAll(peer.sendRandom(12 * 4, 200, 0));
    List<byte[]> late = peer.sendRandom(4, 200, 0);
    receiver.inputAll(late.subList(1, 4));
    receiver.inputAll(peer.sendRandom(groups * 4, 200, 0));
    assertEquals(Result.KEPT, receiver.replay(late.get(4)));
    assertRecovered(late.get(0));
  }

  @Test
  void replayedPacketsOfAnEarlierRatioDoNotStopRecovery() {
    List<byte[]> recorded = sender.sendRandom(60, 200, 0);
    receiver.inputAll(recorded);
    sender.encoder = sender.encoder.successor(FecConfig.of(4, 1));
    receiver.inputAll(sender.sendRandom(100, 200, 0));
    assertEquals("4/1", receiver.ratio());
    for (int i = 0; i < 30; i++) {
      List<byte[]> group = sender.sendRandom(4, 200, 0);
      assertEquals(Result.REPLAYED, receiver.replay(recorded.get(i)));
      receiver.inputAll(group.subList(1, 5));
      assertRecovered(group.get(0));
    }
  }

  @Test
  void replayedPacketsDoNotMoveTheDecoderBackAfterItHasForgottenItsGroups() {
    List<byte[]> recorded = sender.sendRandom(300, 200, 0);
    receiver.inputAll(recorded);
    receiver.decoder.forget();
    receiver.replay(recorded.get(0));
    List<byte[]> group = group();
    receiver.inputAll(group.subList(1, 4));
    assertRecovered(group.get(0));
  }

  @Test
  void replayedPacketsDoNotRestartTheSearchForTheRatio() {
    receiver.close();
    receiver = new FecReceiver(FecConfig.NONE);
    FecSender peer = sender(600);
    List<byte[]> recorded = new FecSender(3, 2).sendRandom(8, 200, 0);
    for (int i = 0; i < 20; i++) {
      recorded.forEach(receiver::replay);
      receiver.inputAll(peer.sendRandom(3, 200, 0));
    }
    assertEquals("3/2", receiver.ratio());
  }

  private static FecSender sender(long firstSeqid) {
    return new FecSender(RATIO, firstSeqid, MemoryBudget.unlimited(), new Random(2));
  }

  @Test
  void repeatedForgeryOfOneNumberDoesNotMoveTheDecoder() {
    receiver.inputAll(sender.sendRandom(60, 50, 0));
    for (int i = 0; i < 10; i++) {
      assertInput(Result.STALE, FecReceiver.packet(100_000, FecPacket.DATA, 10));
    }
    List<byte[]> group = group();
    receiver.inputAll(group.subList(1, 4));
    assertRecovered(group.get(0));
  }

  @Test
  void datagramRefusedByTheBudgetIsNotRecovered() {
    MemoryBudget budget = new MemoryBudget(2L * (3 * 256 + RING_BYTES));
    receiver = new FecReceiver(RATIO, budget);
    receiver.prove(0, 3, 2);
    sender.sendRandom(4 * 3 + 3 * 7, 100, 0);
    FecContext context = new FecContext(MemoryAccount.of(budget));
    byte[] other = context.acquire(256);
    List<byte[]> group = sender.sendRandom(3, 200, 0);
    List<byte[]> large = List.of(new byte[150], new byte[150], new byte[150]);
    List<byte[]> packets = new java.util.ArrayList<>(sender.send(large.get(0), 0));
    packets.addAll(sender.send(large.get(1), 0));
    packets.addAll(sender.send(large.get(2), 0));
    assertInput(Result.KEPT, packets.get(4));
    assertInput(Result.KEPT, packets.get(3));
    assertInput(Result.NOT_KEPT, packets.get(1));
    assertRecovered();
    context.release(other);
    assertInput(Result.KEPT, packets.get(2));
    assertRecovered(packets.get(0));
    assertInput(Result.KEPT, group.get(0));
  }

  @Test
  void arraysOfGroupsAreChargedUntilTheyAreReleased() {
    group().subList(0, 3).forEach(packet -> assertInput(Result.KEPT, packet));
    assertEquals(0, receiver.decoder.heldBytes());
    int groups = 1 + (128 + 4) / 5;
    long arrays = 13L * groups + (4 + 2) * 5L * groups;
    long used = receiver.budget.usedBytes();
    assertTrue(used >= arrays && used < arrays + 300, used + " bytes");
    receiver.decoder.forget();
    assertEquals(0, receiver.budget.usedBytes());
  }

  @Test
  void arraysOfPacketsBeforeTheRatioIsKnownAreChargedUntilTheyAreReleased() {
    receiver = new FecReceiver(FecConfig.NONE);
    assertInput(Result.KEPT, FecReceiver.packet(0, FecPacket.DATA, 10));
    long arrays = 64L * (4 + 2 + 4 + 1);
    long used = receiver.budget.usedBytes() - receiver.decoder.heldBytes();
    assertTrue(used >= arrays && used < arrays + 150, used + " bytes");
    receiver.decoder.forget();
    assertEquals(0, receiver.budget.usedBytes());
  }

  @Test
  void decoderDoesWithoutArraysForWhichThereIsNoMemory() {
    for (FecConfig config : List.of(RATIO, FecConfig.NONE)) {
      MemoryBudget budget = new MemoryBudget(8 * 1024);
      FecReceiver late = new FecReceiver(config, budget);
      FecSender peer = new FecSender(3, 2);
      MemoryAccount other = MemoryAccount.of(budget);
      assertTrue(other.tryReserve(8 * 1024));
      for (byte[] packet : peer.sendRandom(30 * 3, 200, 0)) {
        assertEquals(Result.NOT_KEPT, late.input(packet));
      }
      assertEquals(8 * 1024, budget.usedBytes());
      other.release(8 * 1024);
      late.inputAll(peer.sendRandom(3 * 3, 200, 0));
      late.inputAll(peer.sendRandom(3, 200, 0).subList(1, 4));
      assertEquals(1, late.recovered.size());
      late.close();
    }
  }

  @Test
  void whatTheHeapHasNoRoomForIsNotCharged() {
    MemoryBudget budget = MemoryBudget.unlimited();
    FecContext context = new FecContext(MemoryAccount.of(budget));
    Supplier<int[]> part =
        () -> {
          throw new OutOfMemoryError("simulated");
        };
    assertNull(context.make(100, part));
    assertNull(context.acquire(Integer.MAX_VALUE)); // No virtual machine has such an array.
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void newGroupsReplaceOldOnesWhenTheBudgetIsExhausted() {
    MemoryBudget budget = new MemoryBudget(2L * (3 * 128 + RING_BYTES));
    receiver = new FecReceiver(RATIO, budget);
    receiver.prove(0, 3, 2);
    sender.sendRandom(4 * 3 + 3 * 7, 100, 0);
    for (int i = 0; i < 20; i++) {
      List<byte[]> group = sender.sendRandom(3, 100, 0);
      if (i % 4 != 3) {
        receiver.input(group.get(0));
      } else {
        receiver.inputAll(group.subList(2, 5));
        assertEquals(2, receiver.recovered.size());
        receiver.recovered.clear();
      }
    }
  }

  @Test
  void oneDecoderHoldsNoMoreThanItsShare() {
    for (int[] ratio : new int[][] {{64, 1}, {10, 3}, {200, 56}, {1, 255}}) {
      int shards = ratio[0] + ratio[1];
      int limit = Math.max(256 * 1024, 2 * shards * 1536);
      for (int bytes : new int[] {3, 1500, 65_535}) {
        FecReceiver greedy = new FecReceiver(FecConfig.of(ratio[0], ratio[1]));
        for (int i = 0; i < 3_000; i++) {
          if (i % shards < ratio[0] && i % shards != 0) {
            greedy.input(FecReceiver.packet(i, FecPacket.DATA, bytes));
            assertTrue(greedy.decoder.heldBytes() <= limit);
          }
        }
        greedy.close();
      }
    }
  }

  @Test
  void noMoreThanTheShareOfADecoderIsHeldBeforeTheRatioIsKnown() {
    FecReceiver greedy = new FecReceiver(FecConfig.NONE);
    int most = 0;
    for (int i = 0; i < 200; i++) {
      greedy.input(FecReceiver.packet(i, FecPacket.DATA, FecPacket.MAX_SHARD_BYTES));
      most = Math.max(most, greedy.decoder.heldBytes());
    }
    assertTrue(most > 128 * 1024 && most <= 256 * 1024, most + " bytes");
    greedy.close();
  }

  @Test
  void closedDecoderKeepsNoPackets() {
    List<byte[]> group = group();
    receiver.input(group.get(1));
    receiver.decoder.close();
    assertInput(Result.NOT_KEPT, group.get(2));
    assertInput(Result.NOT_KEPT, group.get(3));
    assertRecovered();
  }

  @Test
  void droppedGroupsAreLostAndLaterOnesAreRecovered() {
    prove();
    receiver.input(group().get(0));
    receiver.decoder.forget();
    assertEquals(0, receiver.decoder.heldBytes());
    List<byte[]> group = group();
    receiver.inputAll(group.subList(1, 4));
    assertRecovered(group.get(0));
  }

  @Test
  void recoveredDatagramsAreDroppedIfAnotherDecoderIntervenes() {
    FecContext context = new FecContext(MemoryAccount.of(MemoryBudget.unlimited()));
    FecDecoder one = new FecDecoder(RATIO, context);
    FecDecoder other = new FecDecoder(RATIO, context);
    for (byte[] packet : sender.sendRandom(12, 100, 0)) {
      input(one, packet);
      input(other, packet);
    }
    List<byte[]> group = group();
    FecSender otherSender = new FecSender(3, 2);
    otherSender.sendRandom(12, 100, 0);
    List<byte[]> otherGroup = otherSender.sendRandom(3, 120, 0);
    for (int i = 2; i < 5; i++) {
      input(one, group.get(i));
      input(other, otherGroup.get(i));
    }
    assertEquals(Unpooled.wrappedBuffer(payload(group.get(0))), one.nextRecovered());
    assertEquals(Unpooled.wrappedBuffer(payload(otherGroup.get(0))), other.nextRecovered());
    assertNull(one.nextRecovered());
    assertEquals(Unpooled.wrappedBuffer(payload(otherGroup.get(1))), other.nextRecovered());
    assertNull(other.nextRecovered());
  }

  private static void input(FecDecoder decoder, byte[] packet) {
    Result result = decoder.input(Unpooled.wrappedBuffer(packet), 0, packet.length, 0);
    assertTrue(result == Result.KEPT || result == Result.DUPLICATE);
  }
}
