package io.kcp4j.session;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

class ReplayFilterTest {

  private static final int NONCE_BYTES = 12;

  private final ReplayFilter filter = ReplayFilter.of(new MemoryBudget(1 << 26));

  private boolean addAndTest(int number, long nowUs) {
    ByteBuf nonce = Unpooled.buffer().writeLong(number).writeInt(0);
    return filter.addAndTest(nonce, 0, NONCE_BYTES, nowUs);
  }

  @Test
  void nonceIsRememberedForTwoMinutes() {
    assertFalse(addAndTest(1, 10_000_000));
    assertTrue(addAndTest(1, 129_900_000));
    assertFalse(addAndTest(1, 130_000_000));
  }

  /** Its time was taken for one of 18 hours ago. */
  @Test
  void nonceIsRememberedBySocketWhoseTimeIsBehind() {
    assertFalse(addAndTest(1, 10_000_000));
    assertTrue(addAndTest(1, 9_999_000));
  }
}
