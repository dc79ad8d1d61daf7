package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** {@link FecEncoder} alone. */
class FecEncoderTest {

  private static FecSender sender(FecConfig config, MemoryBudget budget) {
    return new FecSender(config, 0, budget, new Random(1));
  }

  private static int[] counts(FecSender sender, int packets, long nowUs) {
    int[] counts = new int[packets];
    for (int i = 0; i < packets; i++) {
      counts[i] = sender.send(new byte[100], nowUs).size() - 1;
    }
    return counts;
  }

  @Test
  void parityFollowsTheLastDatagramOfEachGroup() {
    FecSender sender = new FecSender(3, 2);
    assertArrayEquals(new int[] {0, 0, 2, 0, 0, 2}, counts(sender, 6, 0));
  }

  @Test
  void sequenceNumbersCountParityToo() {
    FecSender sender = new FecSender(2, 2);
    List<byte[]> packets = sender.sendRandom(6, 50, 0);
    for (int i = 0; i < 12; i++) {
      assertEquals(i, FecReceiver.seqid(packets.get(i)));
      assertEquals(i % 4 < 2, FecReceiver.isData(packets.get(i)));
    }
  }

  @Test
  void parityIsAsLongAsTheLongestDatagramOfItsGroup() {
    FecSender sender = new FecSender(3, 1);
    sender.send(new byte[10], 0);
    sender.send(new byte[1473], 0);
    List<byte[]> last = sender.send(new byte[0], 0);
    assertEquals(8, last.get(0).length);
    assertEquals(1481, last.get(1).length);
    assertEquals(1481, sender.encoder.parityBytes());
    sender.send(new byte[5], 0);
    sender.send(new byte[4], 0);
    assertEquals(13, sender.send(new byte[3], 0).get(1).length);
  }

  @Test
  void onlyTheTimeBeforeTheLastDatagramOfAGroupCounts() {
    FecSender sender = new FecSender(2, 1);
    sender.send(new byte[9], 0);
    assertEquals(2, sender.send(new byte[9], 499_999).size());
    sender.send(new byte[9], 5_000_000);
    assertEquals(2, sender.send(new byte[9], 5_499_999).size());
    sender.send(new byte[9], 5_499_999);
    assertEquals(1, sender.send(new byte[9], 5_999_999).size());
    assertEquals(0, sender.encoder.parityBytes());
  }

  @Test
  void numbersOfParityThatIsNotSentAreSkipped() {
    FecSender sender = new FecSender(2, 3);
    sender.send(new byte[9], 0);
    sender.send(new byte[9], 1_000_000);
    assertEquals(5, FecReceiver.seqid(sender.send(new byte[9], 1_000_000).get(0)));
  }

  @Test
  void parityMayBeLeftOutInPart() {
    FecSender sender =
        new FecSender(FecConfig.adaptive(), 0, MemoryBudget.unlimited(), new Random(1));
    List<Integer> seqids = new ArrayList<>();
    for (int parity = 0; parity <= 4; parity++) {
      for (int i = 0; i < 4; i++) {
        assertEquals(i, sender.encoder.openShards());
        for (byte[] packet : sender.send(new byte[50], parity, 0)) {
          seqids.add(FecReceiver.seqid(packet));
        }
      }
      assertEquals(0, sender.encoder.openShards());
      assertEquals(parity == 0 ? 0 : 58, sender.encoder.parityBytes());
    }
    assertEquals(
        List.of(
            0, 1, 2, 3, 7, 8, 9, 10, 11, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25, 26, 27, 28, 29,
            30, 31, 32, 33, 34),
        seqids);
  }

  @Test
  void alignedGroupGetsItsParityAfterAnyGap() {
    FecConfig config = FecConfig.of(1, 2).toBuilder().flushAligned(true).build();
    FecSender sender = sender(config, MemoryBudget.unlimited());
    assertEquals(3, sender.send(new byte[9], 0).size());
    assertEquals(3, sender.send(new byte[9], 10_000_000).size());
  }

  @Test
  void copiesAreHeldOnlyWhileTheGroupIsIncomplete() {
    FecSender sender = new FecSender(4, 2);
    int[] held = {128, 128 + 1536, 128 + 1536 + 256, 0};
    int[] bytes = {126, 1400, 127, 1400};
    for (int i = 0; i < 4; i++) {
      sender.send(new byte[bytes[i]], 0);
      assertEquals(held[i], sender.encoder.heldBytes());
      assertEquals(held[i], sender.budget.usedBytes());
    }
  }

  @Test
  void groupBeyondTheBudgetGetsNoParityAndTheNextOneDoes() {
    MemoryBudget budget = new MemoryBudget(2 * (2 * 1536 + 128));
    FecSender sender = sender(FecConfig.of(3, 1), budget);
    FecContext context = new FecContext(MemoryAccount.of(budget));
    byte[] other = context.acquire(129);
    assertArrayEquals(new int[] {0, 0, 1}, counts(sender, 3, 0));
    sender.send(new byte[1400], 0);
    assertEquals(1536, sender.encoder.heldBytes());
    sender.send(new byte[1400], 0);
    assertEquals(0, sender.encoder.heldBytes(), "the rest of the group is of no use");
    assertEquals(1, sender.send(new byte[1400], 0).size());
    context.release(other);
    sender.send(new byte[1400], 0);
    sender.send(new byte[1400], 0);
    List<byte[]> last = sender.send(new byte[1400], 0);
    assertEquals(2, last.size());
    assertEquals(3 * 4 - 2, FecReceiver.seqid(last.get(0)));
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void droppedGroupGetsNoParityAndTheNextOneDoes() {
    FecSender sender = new FecSender(3, 2);
    sender.send(new byte[100], 0);
    sender.encoder.dropGroup();
    assertEquals(0, sender.budget.usedBytes());
    assertArrayEquals(new int[] {0, 0, 0, 0, 2}, counts(sender, 5, 0));
    sender.encoder.dropGroup();
    assertArrayEquals(new int[] {0, 0, 2}, counts(sender, 3, 0));
  }

  @Test
  void closeReleasesAllMemoryAndNothingIsKeptAfterwards() {
    FecSender sender = new FecSender(3, 2);
    counts(sender, 2, 0);
    sender.encoder.close();
    assertEquals(0, sender.budget.usedBytes());
    assertArrayEquals(new int[7], counts(sender, 7, 0));
    assertEquals(0, sender.budget.usedBytes());
    sender.encoder.close();
  }

  @Test
  void sequenceNumbersWrapAtTheLastWholeGroup() {
    FecConfig config = FecConfig.of(10, 3);
    long paws = 0xffffffffL / 13 * 13;
    FecSender sender = new FecSender(config, paws - 13, MemoryBudget.unlimited(), new Random(1));
    List<byte[]> packets = sender.sendRandom(20, 100, 0);
    for (int i = 0; i < 26; i++) {
      long expected = i < 13 ? paws - 13 + i : i - 13;
      assertEquals(expected, FecReceiver.seqid(packets.get(i)) & 0xffffffffL);
    }
  }

  @Test
  void successorContinuesFarAheadAtTheStartOfAGroup() {
    FecSender sender = new FecSender(3, 2);
    counts(sender, 5, 0);
    FecEncoder before = sender.encoder;
    assertThrows(IllegalArgumentException.class, () -> before.successor(FecConfig.NONE));
    assertEquals(256, before.heldBytes());
    sender.encoder = before.successor(FecConfig.of(4, 1));
    assertEquals(0, sender.budget.usedBytes());
    assertEquals((8 + 4096 + 4) / 5 * 5, FecReceiver.seqid(sender.send(new byte[9], 0).get(0)));
    sender.encoder.close();
    sender.encoder = sender.encoder.successor(FecConfig.of(2, 2));
    int next = FecReceiver.seqid(sender.send(new byte[9], 0).get(0));
    assertEquals(0, next % 4);
    assertTrue(next >= 4105 + 1 + 4096 && next < 4105 + 1 + 4096 + 4);
  }

  @Test
  void onlyTheHeaderOfTheBufferIsWritten() {
    FecEncoder encoder = new FecSender(1, 1).encoder;
    ByteBuf buf = Unpooled.buffer().writeZero(40);
    buf.setIndex(5, 30);
    for (int i = 0; i < 40; i++) {
      buf.setByte(i, 0x55);
    }
    encoder.protect(buf, 10, 30, 0);
    assertEquals(5, buf.readerIndex());
    assertEquals(30, buf.writerIndex());
    assertEquals(0, buf.getIntLE(10));
    assertEquals(FecPacket.DATA, FecPacket.type(buf, 10));
    assertEquals(14, FecPacket.size(buf, 10));
    for (int i = 0; i < 40; i++) {
      assertTrue((i >= 10 && i < 18) || buf.getByte(i) == 0x55, "byte " + i);
    }
  }

  @Test
  void payloadLongerThanTheSizeFieldIsRefused() {
    FecSender sender = new FecSender(2, 1);
    sender.send(new byte[65533], 0);
    assertThrows(IllegalArgumentException.class, () -> sender.send(new byte[65534], 0));
    assertEquals(2, sender.send(new byte[9], 0).size(), "the refused one has no number");
  }

  @Test
  void parityIsUnavailableOnceAnotherGroupIsEncoded() {
    FecContext context = new FecContext(MemoryAccount.of(MemoryBudget.unlimited()));
    FecConfig config = FecConfig.of(1, 1).toBuilder().flushAligned(true).build();
    FecEncoder one = new FecEncoder(config, context);
    FecEncoder other = new FecEncoder(config, context);
    ByteBuf buf = Unpooled.buffer().writeZero(100);
    assertThrows(IllegalStateException.class, () -> one.writeParity(0, Unpooled.buffer()));
    assertEquals(1, one.protect(buf, 0, 100, 0));
    one.writeParity(0, Unpooled.buffer());
    assertThrows(IllegalArgumentException.class, () -> one.writeParity(1, Unpooled.buffer()));
    assertEquals(1, other.protect(buf, 0, 100, 0));
    assertThrows(IllegalStateException.class, () -> one.writeParity(0, Unpooled.buffer()));
  }
}
