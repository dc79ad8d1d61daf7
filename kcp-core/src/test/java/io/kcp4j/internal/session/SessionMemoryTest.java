package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** What a session takes before anything happens, without a channel. */
class SessionMemoryTest {

  private static final int SESSIONS = 1_000;

  private static final KcpConfig CONFIG =
      KcpConfig.builder().congestionControl(CongestionControl.NONE).build();

  /** Each field of a part counts: of a million sessions, most are idle. */
  private static final int MAX_BYTES = 1_696;

  @Test
  void newSessionTakesLittleMemory() {
    KcpContext context =
        new KcpContext(
            UnpooledByteBufAllocator.DEFAULT, MemoryBudget.unlimited(), new KcpCounters());
    TestDriver driver = TestDriver.builder(context).maxSessions(1).build();
    InetSocketAddress remote = InetSocketAddress.createUnresolved("host", 1);
    Session[] sessions = new Session[SESSIONS];
    long bytes = 0;
    for (int round = 0; round < 2; round++) { // Classes are loaded in the first.
      long before = allocatedBytes();
      for (int i = 0; i < SESSIONS; i++) {
        Kcp kcp = new Kcp(i, CONFIG, context, 0);
        sessions[i] = driver.newSession(remote, kcp);
      }
      bytes = (allocatedBytes() - before) / SESSIONS;
    }
    assertTrue(bytes <= MAX_BYTES, bytes + " bytes");
    for (Session session : sessions) {
      session.close();
    }
  }

  private static long allocatedBytes() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    return threads.getCurrentThreadAllocatedBytes();
  }
}
