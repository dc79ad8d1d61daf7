package io.kcp4j.jmh;

import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.session.TestDriver;
import io.netty.buffer.ByteBufAllocator;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.openjdk.jol.info.GraphLayout;

/**
 * Prints the average memory of a session: its retained heap, without the allocator, and the direct
 * memory that it holds.
 */
public final class SessionMemory {

  /** Excluded: they refer to objects that all sessions share. */
  private static final int FIRST_SESSIONS = 100;

  private static final int SESSIONS = 1000;

  private SessionMemory() {}

  /** Makes one more session. */
  @FunctionalInterface
  private interface Sessions {
    void add(int i) throws Exception;
  }

  /** Prints the table. Takes no arguments. */
  public static void main(String[] args) throws Exception {
    // Without the first JOL cannot look into records and lambdas; without the second it warns.
    System.setProperty("jol.magicFieldOffset", "true");
    System.setProperty("jol.skipDynamicAttach", "true");
    // Whatever it still has to say, about threads in particular, comes before the table.
    GraphLayout.parseInstance(Thread.currentThread());
    System.out.printf(
        Locale.ROOT,
        "Bytes per session, JDK %s, average of %d%n%n%-36s %9s %9s%n",
        Runtime.version(),
        SESSIONS,
        "",
        "heap",
        "direct");
    printKcp("Kcp, fresh", KcpStates::fresh);
    printKcp("Kcp, idle after an echo", KcpStates::echoed);
    printKcp("Kcp, send window in flight, no BBR", KcpStates::sending);
    printKcp("Kcp, receive window unread", KcpStates::unread);
    printSession("Session, idle in a table");
    printChannel("KcpChannel, accepted and idle");
  }

  private static void printKcp(String what, Function<KcpStates, Kcp> state) throws Exception {
    try (KcpStates states = new KcpStates()) {
      Kcp[] kcps = new Kcp[FIRST_SESSIONS + SESSIONS];
      print(
          what,
          kcps,
          states.context().allocator(),
          states.context().budget()::usedBytes,
          i -> kcps[i] = state.apply(states));
    }
  }

  private static void printSession(String what) throws Exception {
    try (KcpStates states = new KcpStates()) {
      TestDriver driver =
          TestDriver.builder(states.context())
              .maxSessions(Integer.MAX_VALUE)
              .maxDatagramBytes(KcpBenchmark.MTU_BYTES)
              .build();
      print(
          what,
          driver,
          states.context().allocator(),
          states.context().budget()::usedBytes,
          i -> driver.table.add(driver.newSession(Addresses.of(i), states.echoed()), 0));
    }
  }

  private static void printChannel(String what) throws Exception {
    try (EchoedChannels channels = new EchoedChannels()) {
      print(
          what,
          channels.server(),
          channels.server().config().getAllocator(),
          channels.server()::usedMemoryBytes,
          i -> channels.add(i + 1));
    }
  }

  /** Measures the sessions reachable from {@code root}. */
  private static void print(
      String what, Object root, ByteBufAllocator allocator, LongSupplier direct, Sessions sessions)
      throws Exception {
    int i = 0;
    while (i < FIRST_SESSIONS) {
      sessions.add(i++);
    }
    long heapBefore = retainedHeap(root, allocator);
    long directBefore = direct.getAsLong();
    while (i < FIRST_SESSIONS + SESSIONS) {
      sessions.add(i++);
    }
    long heapBytes = retainedHeap(root, allocator) - heapBefore;
    long directBytes = direct.getAsLong() - directBefore;
    System.out.printf(
        Locale.ROOT, "%-36s %9d %9d%n", what, heapBytes / SESSIONS, directBytes / SESSIONS);
  }

  private static long retainedHeap(Object root, ByteBufAllocator allocator) {
    return GraphLayout.parseInstance(root, allocator).totalSize()
        - GraphLayout.parseInstance(allocator).totalSize();
  }
}
