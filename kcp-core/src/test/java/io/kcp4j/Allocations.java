package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.lang.management.ManagementFactory;
import java.time.Duration;

/** What work allocates on the heap. */
public final class Allocations {

  private static final int CALLS = 10_000;
  private static final Duration LIMIT = Duration.ofMinutes(1);

  private Allocations() {}

  /**
   * Repeats work until a call of it allocates nothing: not at once, since the JIT compiler, which
   * does away with objects, has to be done first, and for ever if it gives up.
   */
  public static void awaitNone(Runnable work) {
    assertTimeoutPreemptively(
        LIMIT,
        () -> {
          long bytes;
          do {
            bytes = allocatedBy(work);
          } while (bytes >= CALLS);
        });
  }

  private static long allocatedBy(Runnable work) {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < CALLS; i++) {
      work.run();
    }
    return threads.getCurrentThreadAllocatedBytes() - before;
  }
}
