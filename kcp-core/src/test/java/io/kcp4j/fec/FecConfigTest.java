package io.kcp4j.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.fec.FecEncoder;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import org.junit.jupiter.api.Test;

/** {@link FecConfig}: its defaults and limits. */
class FecConfigTest {

  @Test
  void noneEncodesNothing() {
    assertFalse(FecConfig.NONE.isEncoding());
    assertEquals(0, FecConfig.NONE.shards());
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new FecEncoder(
                FecConfig.NONE, new FecContext(MemoryAccount.of(MemoryBudget.unlimited()))));
  }

  @Test
  void ratioIsNeitherAdaptiveNorAlignedByDefault() {
    FecConfig config = FecConfig.of(10, 3);
    assertTrue(config.isEncoding());
    assertEquals(10, config.dataShards());
    assertEquals(3, config.parityShards());
    assertEquals(13, config.shards());
    assertFalse(config.isAdaptive());
    assertFalse(config.isFlushAligned());
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
  void adaptiveSettingsAreAFixedCodeWithVariableParity() {
    FecConfig config = FecConfig.adaptive();
    assertEquals(4, config.dataShards());
    assertEquals(3, config.parityShards());
    assertEquals(2, config.maxParity());
    assertTrue(config.isAdaptive());
    assertTrue(config.isFlushAligned());
    assertEquals(0, config.delayedCopyMs());
    assertEquals(1, config.toBuilder().maxParity(1).build().maxParity());
    assertEquals(3, config.toBuilder().maxParity(3).build().maxParity());
    assertRejected(config.toBuilder().maxParity(0));
    assertRejected(config.toBuilder().maxParity(4));
    assertRejected(config.toBuilder().flushAligned(false));
  }

  private static void assertRejected(FecConfig.Builder builder) {
    assertThrows(IllegalArgumentException.class, builder::build);
  }

  @Test
  void fixedRatioIsAlignedOnRequest() {
    FecConfig config = FecConfig.of(3, 2);
    assertEquals(2, config.maxParity());
    FecConfig aligned = config.toBuilder().flushAligned(true).build();
    assertTrue(aligned.isFlushAligned());
    assertFalse(aligned.isAdaptive());
    assertFalse(aligned.toBuilder().flushAligned(false).build().isFlushAligned());
    assertRejected(aligned.toBuilder().maxParity(1));
    assertRejected(FecConfig.NONE.toBuilder().flushAligned(true));
  }

  @Test
  void delayedCopyIsOfAlignedFlushes() {
    FecConfig.Builder builder = FecConfig.of(3, 2).toBuilder().delayedCopyMs(100);
    assertRejected(builder);
    assertEquals(100, builder.flushAligned(true).build().delayedCopyMs());
    assertThrows(IllegalArgumentException.class, () -> builder.delayedCopyMs(101));
    assertThrows(IllegalArgumentException.class, () -> builder.delayedCopyMs(-1));
    assertEquals(100, builder.build().delayedCopyMs());
  }

  @Test
  void eachSettingKeepsTheOthers() {
    FecConfig config =
        FecConfig.adaptive().toBuilder().delayedCopyMs(5).build().toBuilder().maxParity(3).build();
    assertEquals(4, config.dataShards());
    assertEquals(3, config.parityShards());
    assertEquals(3, config.maxParity());
    assertEquals(5, config.delayedCopyMs());
    assertTrue(config.isAdaptive());
    assertTrue(config.isFlushAligned());
  }

  @Test
  void textNamesTheRatioAndHowItIsUsed() {
    assertEquals("none", FecConfig.NONE.toString());
    assertEquals("10/3", FecConfig.of(10, 3).toString());
    FecConfig aligned = FecConfig.of(3, 2).toBuilder().flushAligned(true).build();
    assertEquals("3/2 aligned", aligned.toString());
    assertEquals("4/3 adaptive", FecConfig.adaptive().toString());
  }
}
