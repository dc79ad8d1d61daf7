package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.memory.MemoryBudget;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * {@link ParityPolicy} with an encoder, and decoders that know nothing of either: they find 4/3 and
 * recover what can be recovered, and nothing else.
 */
class AdaptiveParityTest {

  private static final long TICK_US = 16_667;
  private static final int GROUPS = 20_000;

  private final FecSender sender =
      new FecSender(FecConfig.adaptive(), 0, MemoryBudget.unlimited(), new Random(2));
  private final ParityPolicy policy =
      new ParityPolicy(FecConfig.adaptive().toBuilder().maxParity(3).build());
  private final FecReceiver receiver = new FecReceiver(FecConfig.NONE);
  private final Random random = new Random(3);
  private long nowUs;

  /** The packets of the next group. */
  private List<byte[]> group() {
    int parity = policy.parity(nowUs);
    List<byte[]> packets = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      byte[] payload = new byte[24 + random.nextInt(300)];
      random.nextBytes(payload);
      packets.addAll(sender.send(payload, parity, nowUs));
    }
    policy.onGroup(20_000, nowUs);
    nowUs += TICK_US;
    return packets;
  }

  private void receive(List<byte[]> packets, Set<Integer> lost) {
    receiver.nowUs = nowUs;
    for (int i = 0; i < packets.size(); i++) {
      if (!lost.contains(i)) {
        receiver.input(packets.get(i));
      }
    }
  }

  private Set<Integer> draw(int lost, int of) {
    Set<Integer> drawn = new HashSet<>();
    while (drawn.size() < lost) {
      drawn.add(random.nextInt(of));
    }
    return drawn;
  }

  /** Exactly the lost payloads have been recovered since the last call, in any order. */
  private void assertRecovered(List<byte[]> packets, Set<Integer> lost) {
    List<byte[]> expected = new ArrayList<>();
    for (int i : lost) {
      if (FecReceiver.isData(packets.get(i))) {
        expected.add(sender.payloads.get(FecReceiver.seqid(packets.get(i))));
      }
    }
    expected.sort(Arrays::compare);
    receiver.recovered.sort(Arrays::compare);
    assertArrayEquals(expected.toArray(), receiver.recovered.toArray());
    receiver.recovered.clear();
  }

  @Test
  void trainingAtTheBeginningShowsTheRatio() {
    receive(group(), Set.of());
    assertEquals("0/0", receiver.ratio());
    receive(group(), Set.of());
    assertEquals("4/3", receiver.ratio());
  }

  @Test
  void laterTrainingShowsTheRatioIfTheFirstIsLost() {
    for (int i = 0; i < 50; i++) {
      policy.onLost(0, nowUs);
      group();
    }
    for (int i = 0; i < 20; i++) {
      receive(group(), Set.of());
    }
    assertEquals("4/3", receiver.ratio());
  }

  @Test
  void lossesWithinTheParityThatIsSentAreRecovered() {
    receive(group(), Set.of());
    receive(group(), Set.of());
    int recovered = 0;
    for (int i = 0; i < GROUPS; i++) {
      if (random.nextInt(1000) == 0) {
        policy.onLost(1 + random.nextInt(2), nowUs);
      }
      List<byte[]> packets = group();
      Set<Integer> lost = draw(random.nextInt(packets.size() - 3), packets.size());
      receive(packets, lost);
      recovered += receiver.recovered.size();
      assertRecovered(packets, lost);
    }
    assertTrue(recovered > GROUPS / 2, "recovered " + recovered);
    assertEquals("4/3", receiver.ratio());
    assertEquals(1, receiver.decoder.ratioChanges());
    assertEquals(0, receiver.decoder.heldBytes());
  }

  /** Loss, reordering and duplication beyond what can be recovered, from the first packet on. */
  @Test
  void nothingThatWasNotSentIsRecovered() {
    List<byte[]> onTheWay = new ArrayList<>();
    for (int i = 0; i < GROUPS; i++) {
      double loss = (i / 500) % 4 * 0.1;
      for (byte[] packet : group()) {
        while (random.nextDouble() >= loss) {
          onTheWay.add(random.nextInt(onTheWay.size() + 1), packet);
          if (random.nextInt(50) > 0) {
            break;
          }
        }
      }
      while (onTheWay.size() > 8) {
        receiver.nowUs = nowUs;
        receiver.input(onTheWay.remove(onTheWay.size() - 1));
      }
    }
    Set<Integer> sent = new HashSet<>();
    sender.payloads.values().forEach(payload -> sent.add(Arrays.hashCode(payload)));
    assertTrue(receiver.recovered.size() > GROUPS / 10, "" + receiver.recovered.size());
    for (byte[] payload : receiver.recovered) {
      assertTrue(sent.contains(Arrays.hashCode(payload)));
    }
    assertEquals("4/3", receiver.ratio());
  }
}
