package io.kcp4j.jmh;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.netty.buffer.ByteBuf;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Flushes with a window of {@value #WINDOW} full segments. The lower bound of sending is one copy
 * of the payload. When no segment is due, C KCP still examines each.
 */
public class FlushBenchmark extends KcpBenchmark {

  static final int WINDOW = 1024;

  /** More than the largest retransmission timeout. */
  private static final int EVERY_TIMEOUT_US = 60_001_000;

  /** A session whose send window is full of new data, or in flight. */
  @State(Scope.Thread)
  public static class Window {

    final DatagramSlots slots = new DatagramSlots();
    final ByteBuf payload = ALLOCATOR.directBuffer(WINDOW * PAYLOAD_BYTES);
    final long[] retransmitAtUs = new long[WINDOW];
    Kcp kcp;
    int next;
    long nowUs;

    /**
     * Puts a window in flight. Before the first acknowledgement, only its oldest would time out.
     */
    @Setup
    public void open() {
      payload.writeZero(WINDOW * PAYLOAD_BYTES);
      kcp = session(KcpConfig.builder().sendWindow(WINDOW));
      queue();
      kcp.flush(nowUs, slots);
      acknowledgeBelow(next, kcp, 0);
      queue();
      kcp.flush(nowUs, slots);
      check(kcp.stats().inFlight() == WINDOW, "the window is not full");
    }

    void queue() {
      check(kcp.send(payload.setIndex(0, WINDOW * PAYLOAD_BYTES)), "the queue is not empty");
      next += WINDOW;
    }

    /** The flushes covered the whole window. */
    @TearDown
    public void close() {
      KcpCounters counters = kcp.counters();
      // Full segments that are lost again and again have the session probe its peer.
      long segments = counters.get(KcpCounter.SEGMENTS_OUT) - counters.get(KcpCounter.PROBES_OUT);
      check(segments > 0 && segments % WINDOW == 0, "a flush was not of a window");
      kcp.close();
      payload.release();
      slots.release();
    }
  }

  /** A session that has a window of new data before each flush. */
  @State(Scope.Thread)
  public static class NewData extends Window {

    /** Replaces the data in flight by new data. */
    @Setup(Level.Invocation)
    public void replace() {
      acknowledgeBelow(next, kcp, 0);
      queue();
    }
  }

  /** One flush, everything in flight and nothing due. */
  @Benchmark
  public void nothingDue(Window state) {
    state.kcp.flush(state.nowUs, state.slots);
  }

  /** The baseline: reading the deadline of each segment, as C KCP does on every flush. */
  @Benchmark
  public boolean baselineWalk(Window state) {
    boolean isDue = false;
    for (long retransmitAtUs : state.retransmitAtUs) {
      isDue |= retransmitAtUs > state.nowUs;
    }
    return isDue;
  }

  /** One segment of a flush that retransmits the whole window. */
  @Benchmark
  @OperationsPerInvocation(WINDOW)
  public void everythingDue(Window state) {
    state.nowUs += EVERY_TIMEOUT_US;
    state.kcp.flush(state.nowUs, state.slots);
  }

  /** One segment of a flush that sends a window of new data. */
  @Benchmark
  @OperationsPerInvocation(WINDOW)
  public void newData(NewData state) {
    state.kcp.flush(state.nowUs, state.slots);
  }

  /** The baseline: one segment's payload copied to a datagram. */
  @Benchmark
  @OperationsPerInvocation(WINDOW)
  public void baselineCopy(Window state) {
    for (int i = 0; i < WINDOW; i++) {
      ByteBuf datagram = state.slots.begin(MTU_BYTES);
      datagram.writeBytes(state.payload, i * PAYLOAD_BYTES, PAYLOAD_BYTES);
      state.slots.end();
    }
  }
}
