package io.kcp4j.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.MemoryBudget;
import org.junit.jupiter.api.Test;

/** {@link FecConfig}: its defaults and limits. */
class FecConfigTest {

  @Test
  void noneEncodesNothingAndDecodes() {
    assertFalse(FecConfig.NONE.isEncoding());
    assertTrue(FecConfig.NONE.isDecoding());
    assertEquals(0, FecConfig.NONE.shards());
    assertThrows(
        IllegalArgumentException.class,
        () -> new FecEncoder(FecConfig.NONE, new FecContext(MemoryBudget.unlimited())));
  }

  @Test
  void defaultsAreThoseOfKcpGoExceptForAcknowledgements() {
    FecConfig config = FecConfig.of(10, 3);
    assertTrue(config.isEncoding());
    assertTrue(config.isDecoding());
    assertEquals(13, config.shards());
    assertEquals(500, config.parityGapMs());
    assertFalse(config.protectsAcks());
    assertEquals(64, config.maxDetectedShards());
  }

  @Test
  void groupSizesAreLimitedByTheField() {
    assertEquals(256, FecConfig.of(255, 1).shards());
    assertEquals(256, FecConfig.of(1, 255).shards());
    assertEquals(256, FecConfig.of(200, 56).shards());
    for (int[] ratio : new int[][] {{0, 1}, {1, 0}, {256, 1}, {1, 256}, {200, 57}, {-1, 3}}) {
      assertThrows(IllegalArgumentException.class, () -> FecConfig.of(ratio[0], ratio[1]));
    }
  }

  @Test
  void eachSettingKeepsTheOthers() {
    FecConfig config =
        FecConfig.of(3, 2)
            .withParityGapMs(0)
            .withProtectsAcks(true)
            .withDecoding(false)
            .withMaxDetectedShards(256);
    assertEquals(3, config.dataShards());
    assertEquals(2, config.parityShards());
    assertEquals(0, config.parityGapMs());
    assertTrue(config.protectsAcks());
    assertFalse(config.isDecoding());
    assertEquals(256, config.maxDetectedShards());
  }

  @Test
  void valuesOutOfRangeAreRejected() {
    FecConfig config = FecConfig.NONE;
    assertThrows(IllegalArgumentException.class, () -> config.withParityGapMs(-1));
    assertThrows(IllegalArgumentException.class, () -> config.withMaxDetectedShards(1));
    assertThrows(IllegalArgumentException.class, () -> config.withMaxDetectedShards(257));
    assertEquals(2, config.withMaxDetectedShards(2).maxDetectedShards());
    assertEquals(0, config.withMaxDetectedShards(0).maxDetectedShards());
  }
}
