package io.kcp4j.jmh;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * The smallest datagram, a WINS segment, demultiplexed to one of many idle sessions, in batches as
 * they are read from a socket. The baseline is the input of the session; the rest is the cost of
 * the table.
 */
@State(Scope.Thread)
public class SessionTableBenchmark extends KcpBenchmark {

  private static final int BATCH = 32;

  /** How many sessions there are. */
  @Param({"1", "10000", "100000"})
  int sessions;

  private final DatagramSlots slots = new DatagramSlots();
  private final ByteBuf datagram = control(Segment.WINS, 0, 0, 0);
  private SessionTable table;

  /** In random order; the addresses are equal to those in the table, but other objects. */
  private InetSocketAddress[] addresses;

  private Kcp[] kcps;
  private int turn;

  /** Fills the table. */
  @Setup
  public void open() {
    KcpContext context = KcpContext.of(ALLOCATOR);
    TestDriver driver =
        TestDriver.builder(context).maxSessions(sessions).maxDatagramBytes(MTU_BYTES).build();
    driver.output = remote -> slots;
    table = driver.table;
    List<Session> shuffled = new ArrayList<>();
    for (int i = 0; i < sessions; i++) {
      Kcp kcp = new Kcp(Segment.conv(datagram, 0), KcpConfig.DEFAULT, context, 0);
      Session session = driver.newSession(Addresses.of(i), kcp);
      table.add(session, 0);
      shuffled.add(session);
    }
    Collections.shuffle(shuffled, new Random(1));
    addresses =
        shuffled.stream().map(s -> Addresses.copyOf(s.remote())).toArray(InetSocketAddress[]::new);
    kcps = shuffled.stream().map(Session::kcp).toArray(Kcp[]::new);
  }

  private int next() {
    turn = turn + 1 == sessions ? 0 : turn + 1;
    return turn;
  }

  /** One datagram, each for another session. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public void anySession() {
    for (int i = 0; i < BATCH; i++) {
      table.receive(addresses[next()], datagram, 0);
    }
    table.endBatch(0);
  }

  /** One datagram, all of a batch for the same session. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public void hotSession() {
    InetSocketAddress address = addresses[next()];
    for (int i = 0; i < BATCH; i++) {
      table.receive(address, datagram, 0);
    }
    table.endBatch(0);
  }

  /** The baseline of {@link #anySession}: the sessions themselves. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public void baselineAnyKcp() {
    for (int i = 0; i < BATCH; i++) {
      Kcp kcp = kcps[next()];
      kcp.input(datagram, 0);
      kcp.afterInput(0, slots);
    }
  }

  /** The baseline of {@link #hotSession}. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public void baselineHotKcp() {
    Kcp kcp = kcps[next()];
    for (int i = 0; i < BATCH; i++) {
      kcp.input(datagram, 0);
    }
    kcp.afterInput(0, slots);
  }

  /** Every session is still there. */
  @TearDown
  public void close() {
    check(table.size() == sessions, "sessions were lost");
    for (Kcp kcp : kcps) {
      check(kcp.failure() == null, "a session has failed");
    }
    datagram.release();
    slots.release();
  }
}
