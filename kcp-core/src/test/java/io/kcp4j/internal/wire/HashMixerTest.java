package io.kcp4j.internal.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class HashMixerTest {

  /** What the generator adds to its state before it mixes that. */
  private static final long GOLDEN_GAMMA = 0x9e37_79b9_7f4a_7c15L;

  @Test
  void mixesAsSplitMix64() {
    assertEquals(0xe220_a839_7b1d_cdafL, HashMixer.mix(GOLDEN_GAMMA));
    for (long seed : new long[] {0, 1, -1, Long.MIN_VALUE, 1234567890123456789L}) {
      assertEquals(new SplittableRandom(seed).nextLong(), HashMixer.mix(seed + GOLDEN_GAMMA));
    }
  }
}
