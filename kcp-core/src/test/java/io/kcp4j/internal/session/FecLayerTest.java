package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounters;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import org.junit.jupiter.api.Test;

/** {@link FecLayer}: what a session needs for it. */
class FecLayerTest {

  private static final int LIMIT_BYTES = 4 * 1024;

  private final MemoryBudget budget = new MemoryBudget(LIMIT_BYTES);
  private final FecLayer layer =
      new FecLayer(new FecContext(MemoryAccount.of(budget)), new KcpCounters());

  @Test
  void decodingBeginsWhenThereIsMemoryForADecoder() {
    layer.configure(FecConfig.of(3, 2));
    MemoryAccount other = MemoryAccount.of(budget);
    assertTrue(other.tryReserve(LIMIT_BYTES));
    layer.startDecoding();
    assertFalse(layer.isDecoding(), "the next packet tries again");
    other.release(LIMIT_BYTES);
    layer.startDecoding();
    assertTrue(layer.isDecoding());
    assertTrue(budget.usedBytes() > 400, budget.usedBytes() + " bytes");
    layer.close();
    assertEquals(0, budget.usedBytes());
  }
}
