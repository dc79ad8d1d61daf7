package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** {@link MemoryReclaim}: what it costs. That sessions end is in {@link HoardingNetworksTest}. */
class MemoryReclaimTest {

  private static final int UPDATES = 1_000;

  /** A table without sessions that send looked at all of them after each batch. */
  @Test
  void sessionsAreLookedAtOnceInAPeriod() {
    Crowd crowd = new Crowd(1 << 20, KcpConfig.builder().delivery(Delivery.STREAM).build());
    MemoryReclaim reclaim =
        new MemoryReclaim(crowd.server.table.lifecycle(), crowd.budget, new KcpCounters());
    crowd.budget.limit().networkParts().awaitSending(crowd.nowUs);
    reclaim.update(crowd.nowUs);
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < UPDATES; i++) {
      reclaim.update(crowd.nowUs);
    }
    long each = (threads.getCurrentThreadAllocatedBytes() - before) / UPDATES;
    assertTrue(reclaim.isActive());
    assertTrue(each < 16, each + " bytes");
  }
}
