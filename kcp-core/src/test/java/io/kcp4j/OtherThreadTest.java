package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kcp4j.internal.arq.DrivenKcp;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** A loop on another thread that waits for a value sees it come, however it has been compiled. */
class OtherThreadTest {

  private static final long SPINS_TO_COMPILE = 10_000_000;

  /** Kept simple, so that a compiler would take what cannot change out of the loop. */
  private static long waitForCounter(KcpCounters counters, long spins) {
    long spun = 0;
    while (counters.get(KcpCounter.BYTES_IN) == 0 && spun < spins) {
      spun++;
    }
    return spun;
  }

  private static long waitForBudget(MemoryBudget budget, long spins) {
    long spun = 0;
    while (budget.usedBytes() == 0 && spun < spins) {
      spun++;
    }
    return spun;
  }

  private static long waitForSrtt(Kcp kcp, long spins) {
    long spun = 0;
    while (kcp.stats().srttUs() == 0 && spun < spins) {
      spun++;
    }
    return spun;
  }

  /** Has the loop compiled, then changes the value while another thread is in it. */
  private static void assertSeen(Runnable warmUp, Runnable wait, Runnable change)
      throws InterruptedException {
    for (int i = 0; i < 10; i++) {
      warmUp.run();
    }
    CountDownLatch begun = new CountDownLatch(1);
    Thread waiting =
        new Thread(
            () -> {
              begun.countDown();
              wait.run();
            });
    waiting.setDaemon(true);
    waiting.start();
    begun.await();
    warmUp.run(); // As long as this takes, the other thread has been in its loop.
    change.run();
    waiting.join(10_000);
    assertFalse(waiting.isAlive(), "waits for ever");
  }

  @Test
  void counterIsSeen() throws InterruptedException {
    KcpCounters counters = new KcpCounters();
    KcpCounters none = new KcpCounters();
    assertSeen(
        () -> assertEquals(SPINS_TO_COMPILE, waitForCounter(none, SPINS_TO_COMPILE)),
        () -> waitForCounter(counters, Long.MAX_VALUE),
        () -> counters.add(KcpCounter.BYTES_IN, 1));
  }

  @Test
  void memoryInUseIsSeen() throws InterruptedException {
    MemoryBudget budget = new MemoryBudget(1000);
    MemoryBudget none = new MemoryBudget(1000);
    assertSeen(
        () -> assertEquals(SPINS_TO_COMPILE, waitForBudget(none, SPINS_TO_COMPILE)),
        () -> waitForBudget(budget, Long.MAX_VALUE),
        () -> budget.charge(1));
  }

  @Test
  void roundTripTimeIsSeen() throws InterruptedException {
    DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);
    driven.sendSegments(1);
    KcpContext context = KcpContext.of(UnpooledByteBufAllocator.DEFAULT);
    Kcp none = new Kcp(1, KcpConfig.DEFAULT, context, 0);
    assertSeen(
        () -> assertEquals(1000, waitForSrtt(none, 1000)),
        () -> waitForSrtt(driven.kcp, Long.MAX_VALUE),
        () -> {
          driven.nowUs = 50_000;
          driven.receiveBatch(driven.ack(0, DrivenKcp.TS_ORIGIN));
        });
    assertEquals(50_000, driven.kcp.stats().srttUs());
  }
}
