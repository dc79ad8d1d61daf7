package io.kcp4j.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.MemoryAccount;
import io.kcp4j.MemoryBudget;
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
    assertEquals(0, config.copyDelayMs());
    FecConfig changed = config.withMaxParity(3).withDelayedCopyMs(5);
    assertEquals(3, changed.maxParity());
    assertEquals(5, changed.copyDelayMs());
    assertTrue(changed.isAdaptive());
    assertThrows(IllegalArgumentException.class, () -> config.withMaxParity(0));
    assertThrows(IllegalArgumentException.class, () -> config.withMaxParity(4));
    assertThrows(IllegalStateException.class, () -> config.withFlushAlignment(false));
  }

  @Test
  void fixedRatioIsAlignedOnRequest() {
    FecConfig config = FecConfig.of(3, 2);
    assertFalse(config.isFlushAligned());
    assertEquals(2, config.maxParity());
    FecConfig aligned = config.withFlushAlignment(true);
    assertTrue(aligned.isFlushAligned());
    assertFalse(aligned.isAdaptive());
    assertFalse(aligned.withFlushAlignment(false).isFlushAligned());
    assertEquals(100, aligned.withDelayedCopyMs(100).copyDelayMs());
    assertThrows(IllegalArgumentException.class, () -> aligned.withDelayedCopyMs(101));
    assertThrows(IllegalArgumentException.class, () -> aligned.withDelayedCopyMs(-1));
    assertThrows(IllegalStateException.class, () -> aligned.withMaxParity(1));
    assertThrows(IllegalStateException.class, () -> config.withDelayedCopyMs(5));
    assertThrows(IllegalStateException.class, () -> FecConfig.NONE.withFlushAlignment(true));
  }

  @Test
  void textNamesTheRatioAndHowItIsUsed() {
    assertEquals("none", FecConfig.NONE.toString());
    assertEquals("10/3", FecConfig.of(10, 3).toString());
    assertEquals("3/2 aligned", FecConfig.of(3, 2).withFlushAlignment(true).toString());
    assertEquals("4/3 adaptive", FecConfig.adaptive().toString());
  }
}
