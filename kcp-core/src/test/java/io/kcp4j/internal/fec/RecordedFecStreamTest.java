package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.memory.MemoryBudget;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Streams are equal to those of kcp-go, byte for byte, and every recoverable loss is recovered. */
class RecordedFecStreamTest {

  static List<RecordedFecStream> streams() {
    return RecordedFecStream.all();
  }

  @ParameterizedTest
  @MethodSource("streams")
  void encoderSendsWhatKcpGoSends(RecordedFecStream stream) {
    FecConfig config = FecConfig.of(stream.dataShards(), stream.parityShards());
    FecSender sender =
        new FecSender(config, stream.firstSeqid(), MemoryBudget.unlimited(), new Random(0));
    long nowUs = 0;
    for (RecordedFecStream.Step step : stream.steps()) {
      nowUs += step.isLate ? 500_000 : 499_999;
      List<byte[]> sent = sender.send(step.payload(), nowUs);
      assertArrayEquals(step.data, sent.get(0));
      assertEquals(step.parity.size(), sent.size() - 1);
      for (int i = 0; i < step.parity.size(); i++) {
        assertArrayEquals(step.parity.get(i), sent.get(i + 1));
      }
    }
    assertEquals(0, sender.budget.usedBytes());
  }

  @ParameterizedTest
  @MethodSource("streams")
  void everyLossThatParityCoversIsRecovered(RecordedFecStream stream) {
    int shards = stream.dataShards() + stream.parityShards();
    assertFalse(stream.groups().isEmpty());
    for (List<byte[]> group : stream.groups()) {
      for (int lost = 0; lost < 1 << shards; lost++) {
        if (Integer.bitCount(lost) <= stream.parityShards()) {
          assertRecovered(stream, group, lost);
        }
      }
    }
  }

  private static void assertRecovered(RecordedFecStream stream, List<byte[]> group, int lost) {
    FecReceiver receiver =
        new FecReceiver(FecConfig.of(stream.dataShards(), stream.parityShards()));
    for (int place = 0; place < group.size(); place++) {
      if ((lost >> place & 1) == 0) {
        receiver.input(group.get(place));
      }
    }
    assertEquals(0, receiver.recovered.size(), "the ratio is not proven");
    long seqid = FecReceiver.seqid(group.get(0)) & 0xffffffffL;
    receiver.prove(seqid, stream.dataShards(), stream.parityShards());
    int recovered = 0;
    for (int place = 0; place < stream.dataShards(); place++) {
      if ((lost >> place & 1) != 0) {
        byte[] data = group.get(place);
        assertArrayEquals(
            Arrays.copyOfRange(data, FecPacket.DATA_HEADER_BYTES, data.length),
            receiver.recovered.get(recovered++));
      }
    }
    assertEquals(recovered, receiver.recovered.size());
    receiver.close();
  }
}
