package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link PeerRatio.RatioSearch}: the packets that prove a ratio. */
class PeerRatioTest {

  private static final int QUICK_SEEDS = 10;
  private static final int SEEDS = 500;
  private static final int NUMBERS = 600;

  private final PeerRatio.RatioSearch search = new PeerRatio.RatioSearch();

  private void add(boolean isData, int... seqids) {
    for (int seqid : seqids) {
      search.add(seqid, isData, true);
    }
  }

  @Test
  void fewPacketsOfManyGroupsDoNotProveTheSmallerOfTwoSizes() {
    add(true, 2, 18, 70, 94);
    add(false, 3, 27);
    assertFalse(search.find(), "groups of 3+1 as well as of 1+1");
  }

  @Test
  void manyGroupsWithoutOnePlaceDoNotProveTheSmallerOfTwoSizes() {
    for (int group = 0; group < 100; group++) {
      add(true, 4 * group, 4 * group + 2);
      add(false, 4 * group + 3);
      assertFalse(search.find(), "groups of 3+1 as well as of 1+1");
    }
  }

  @Test
  void parityOfOneMoreGroupProvesTheSmallerOfTwoSizes() {
    for (int group = 0; group < 24; group++) {
      add(true, 4 * group, 4 * group + 2);
      add(false, 4 * group + 3);
    }
    add(false, 4 * 24 + 1);
    assertTrue(search.find());
    assertEquals(1, search.dataShards());
    assertEquals(1, search.parityShards());
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "3, 1", "5, 1", "3, 2", "4, 4", "10, 3", "20, 10"})
  void noLossProvesAnotherRatio(int dataShards, int parityShards) {
    prove(dataShards, parityShards, QUICK_SEEDS);
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "3, 1", "5, 1", "3, 2", "4, 4", "10, 3", "20, 10"})
  @Tag("slow")
  void noLossProvesAnotherRatioWithAnySeed(int dataShards, int parityShards) {
    prove(dataShards, parityShards, SEEDS);
  }

  @ParameterizedTest
  @CsvSource({"62, 3", "100, 28", "128, 128", "200, 55"})
  void largeGroupsAreProvenDespiteLosses(int dataShards, int parityShards) {
    String found = find(dataShards, parityShards, 10, 10_000, new Random(8));
    assertEquals(dataShards + "/" + parityShards, found);
  }

  private static void prove(int dataShards, int parityShards, int seeds) {
    for (int lossPercent = 0; lossPercent <= 95; lossPercent += 5) {
      for (int seed = 0; seed < seeds; seed++) {
        String found = find(dataShards, parityShards, lossPercent, NUMBERS, new Random(seed));
        if (found != null || lossPercent <= 30) {
          assertEquals(
              dataShards + "/" + parityShards, found, lossPercent + " % lost, seed " + seed);
        }
      }
    }
  }

  /** The first ratio detected in sequence numbers with losses, or null. */
  private static String find(
      int dataShards, int parityShards, int lossPercent, int numbers, Random random) {
    int shards = dataShards + parityShards;
    long first = random.nextLong(1L << 31) / shards * shards;
    PeerRatio.RatioSearch search = new PeerRatio.RatioSearch();
    for (int i = 0; i < numbers; i++) {
      if (random.nextInt(100) >= lossPercent) {
        search.add(first + i, i % shards < dataShards, true);
        if (search.find()) {
          return search.dataShards() + "/" + search.parityShards();
        }
      }
    }
    return null;
  }
}
