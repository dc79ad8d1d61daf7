package io.kcp4j.jmh;

import io.kcp4j.Kcp;
import io.kcp4j.session.DeadlineWheel;
import io.kcp4j.session.Session;
import io.kcp4j.session.SessionTable;
import io.netty.buffer.ByteBufAllocator;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.openjdk.jol.info.GraphLayout;
import org.openjdk.jol.vm.VM;

/**
 * Prints what a session costs in memory, on average over many: the heap that they retain, without
 * the allocator, and the direct memory that they hold.
 */
public final class SessionMemory {

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
    // Whatever it still has to say comes before the table.
    VM.current();
    System.out.printf(
        Locale.ROOT,
        "Bytes per session, JDK %s, average of %d%n%n%-32s %9s %9s%n",
        Runtime.version(),
        SESSIONS,
        "",
        "heap",
        "direct");
    printKcp("Kcp, fresh", KcpStates::fresh);
    printKcp("Kcp, idle after an echo", KcpStates::echoed);
    printKcp("Kcp, send window in flight", KcpStates::sending);
    printKcp("Kcp, receive window unread", KcpStates::unread);
    printSession("Session, idle in a table");
    printChannel("KcpChannel, accepted and idle");
  }

  private static void printKcp(String what, Function<KcpStates, Kcp> state) throws Exception {
    try (KcpStates states = new KcpStates()) {
      Kcp[] kcps = new Kcp[SESSIONS + 1];
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
      SessionTable table =
          new SessionTable(
              new DiscardingHandler(null),
              states.context(),
              new DeadlineWheel(0),
              Integer.MAX_VALUE,
              KcpBenchmark.MTU_BYTES,
              0);
      print(
          what,
          table,
          states.context().allocator(),
          states.context().budget()::usedBytes,
          i -> table.add(new Session(Addresses.of(i), states.echoed(), null), 0));
    }
  }

  private static void printChannel(String what) throws Exception {
    try (EchoedChannels channels = new EchoedChannels()) {
      print(
          what,
          channels.server(),
          channels.server().config().getAllocator(),
          channels.server()::heldBytes,
          i -> channels.add(i + 1));
    }
  }

  /**
   * Weighs sessions that {@code root} leads to. The first is not counted: it brings along what all
   * of them share.
   */
  private static void print(
      String what, Object root, ByteBufAllocator allocator, LongSupplier direct, Sessions sessions)
      throws Exception {
    sessions.add(0);
    long heapBefore = retainedHeap(root, allocator);
    long directBefore = direct.getAsLong();
    for (int i = 1; i <= SESSIONS; i++) {
      sessions.add(i);
    }
    long heapBytes = retainedHeap(root, allocator) - heapBefore;
    long directBytes = direct.getAsLong() - directBefore;
    System.out.printf(
        Locale.ROOT, "%-32s %9d %9d%n", what, heapBytes / SESSIONS, directBytes / SESSIONS);
  }

  private static long retainedHeap(Object root, ByteBufAllocator allocator) {
    return GraphLayout.parseInstance(root, allocator).totalSize()
        - GraphLayout.parseInstance(allocator).totalSize();
  }
}
