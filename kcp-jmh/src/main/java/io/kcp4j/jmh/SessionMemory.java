package io.kcp4j.jmh;

import io.kcp4j.Kcp;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpContext;
import io.kcp4j.session.DeadlineWheel;
import io.kcp4j.session.Session;
import io.kcp4j.session.SessionTable;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.openjdk.jol.info.GraphLayout;
import org.openjdk.jol.vm.VM;

/**
 * Prints what a session costs in memory, on average over many: the heap that they retain, without
 * the allocator, and the direct memory that they hold.
 */
public final class SessionMemory {

  private static final int SESSIONS = 1000;
  private static final int ECHO_BYTES = 100;

  private final KcpContext context = KcpContext.of(new PooledByteBufAllocator(true));
  private final KcpContext peers = KcpContext.of(KcpBenchmark.ALLOCATOR);
  private final Burst burst = new Burst();
  private final List<Kcp> opened = new ArrayList<>();

  private SessionMemory() {}

  /** Makes one more session, that the root object leads to. */
  @FunctionalInterface
  private interface Sessions {
    void add(int i);
  }

  /** Prints the table. Takes no arguments. */
  public static void main(String[] args) {
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
    new SessionMemory().printKcp("Kcp, fresh", SessionMemory::open);
    new SessionMemory().printKcp("Kcp, idle after an echo", SessionMemory::echoed);
    new SessionMemory().printKcp("Kcp, send window in flight", SessionMemory::sending);
    new SessionMemory().printKcp("Kcp, receive window unread", SessionMemory::unread);
    new SessionMemory().printSession("Session, idle in a table");
  }

  @FunctionalInterface
  private interface Scenario {
    Kcp make(SessionMemory memory);
  }

  private void printKcp(String what, Scenario scenario) {
    Kcp[] kcps = new Kcp[SESSIONS + 1];
    print(what, kcps, i -> kcps[i] = scenario.make(this));
  }

  private void printSession(String what) {
    SessionTable table =
        new SessionTable(
            new DiscardingHandler(burst),
            context,
            new DeadlineWheel(0),
            Integer.MAX_VALUE,
            KcpBenchmark.MTU_BYTES,
            0);
    print(what, table, i -> table.add(new Session(Addresses.of(i), echoed(), null), 0));
  }

  /** The first session is not counted: it brings along what all of them share. */
  private void print(String what, Object root, Sessions sessions) {
    sessions.add(0);
    long heapBefore = retainedHeap(root);
    long directBefore = context.budget().usedBytes();
    for (int i = 1; i <= SESSIONS; i++) {
      sessions.add(i);
    }
    long heap = retainedHeap(root) - heapBefore;
    long direct = context.budget().usedBytes() - directBefore;
    System.out.printf(Locale.ROOT, "%-32s %9d %9d%n", what, heap / SESSIONS, direct / SESSIONS);
    opened.forEach(Kcp::close);
    burst.release();
  }

  private long retainedHeap(Object root) {
    Object allocator = context.allocator();
    return GraphLayout.parseInstance(root, allocator).totalSize()
        - GraphLayout.parseInstance(allocator).totalSize();
  }

  // The states in which a session is weighed

  private Kcp open() {
    Kcp kcp = new Kcp(KcpBenchmark.CONV, KcpConfig.DEFAULT, context, 0);
    opened.add(kcp);
    return kcp;
  }

  private Kcp echoed() {
    Kcp kcp = open();
    Kcp peer = new Kcp(KcpBenchmark.CONV, KcpConfig.DEFAULT, peers, 0);
    ByteBuf request = KcpBenchmark.ALLOCATOR.directBuffer(ECHO_BYTES).writeZero(ECHO_BYTES);
    send(request, peer, kcp);
    send(kcp.receive(), kcp, peer);
    peer.receive().release();
    peer.flush(0, burst);
    burst.deliverTo(kcp, 0);
    kcp.afterInput(0, burst);
    peer.close();
    KcpBenchmark.check(
        kcp.isDrained() && kcp.nextDeadline() == Kcp.NO_DEADLINE, "the session is not idle");
    return kcp;
  }

  private void send(ByteBuf data, Kcp from, Kcp to) {
    from.send(data);
    data.release();
    from.flush(0, burst);
    burst.deliverTo(to, 0);
  }

  private Kcp sending() {
    Kcp kcp = open();
    KcpBenchmark.openRemoteWindow(kcp);
    int window = kcp.config().sendWindow();
    int bytes = window * KcpBenchmark.PAYLOAD_BYTES;
    ByteBuf data = KcpBenchmark.ALLOCATOR.directBuffer(bytes).writeZero(bytes);
    kcp.send(data);
    data.release();
    kcp.flush(0, burst);
    KcpBenchmark.check(kcp.stats().inFlight() == window, "the window is not full");
    return kcp;
  }

  private Kcp unread() {
    Kcp kcp = open();
    ByteBuf datagram = KcpBenchmark.fullPush();
    for (int sn = 0; sn < kcp.config().receiveWindow(); sn++) {
      KcpBenchmark.setSn(datagram, sn);
      kcp.input(datagram, 0);
    }
    datagram.release();
    kcp.flush(0, burst);
    return kcp;
  }
}
