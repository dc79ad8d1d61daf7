package io.kcp4j.jmh;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * The cost of one ACK, while a window in flight is acknowledged from front to back by datagrams of
 * {@value #ACKS_PER_DATAGRAM}. With a hole the first segment stays lost, and {@code una} does not
 * advance. Without, {@code una} is beyond the ACKs of its datagram, as peers send it.
 *
 * <p>An invocation takes {@value #ACKS} ACKs with any window, in as many sessions as needed: the
 * time for refilling the windows between invocations does not count.
 */
public class AckBenchmark extends KcpBenchmark {

  static final int ACKS = 4096;
  static final int ACKS_PER_DATAGRAM = 32;

  private static final int MESSAGE_BYTES = 64;

  /** The period in which a send window grows. */
  private static final int ROUND_TRIP_US = 100_000;

  /** The parameters. */
  @State(Scope.Thread)
  public static class Flight {

    /** How many segments an invocation acknowledges in each session. */
    @Param({"128", "1024", "4096"})
    int window;

    /** Whether the segment before these is lost. */
    @Param({"false", "true"})
    boolean hole;

    int lost() {
      return hole ? 1 : 0;
    }

    /**
     * The {@code una} of the datagram whose ACKs begin at {@code offset}, from the first segment
     * on.
     */
    int una(int offset) {
      return hole ? 0 : offset + ACKS_PER_DATAGRAM;
    }
  }

  /** Sessions in the same state: the same datagrams acknowledge the segments of each. */
  @State(Scope.Thread)
  public static class Sessions {

    private final DatagramSlots slots = new DatagramSlots();
    private final ByteBuf message = ALLOCATOR.directBuffer(MESSAGE_BYTES).writeZero(MESSAGE_BYTES);
    private Kcp[] sessions;
    private ByteBuf[] datagrams;
    private int next;
    private long nowUs;

    /** Makes sessions with nothing in flight. */
    @Setup
    public void open(Flight flight) {
      int segments = flight.window + flight.lost();
      sessions = new Kcp[ACKS / flight.window];
      for (int i = 0; i < sessions.length; i++) {
        sessions[i] = session(config(segments));
        widen(sessions[i], segments);
      }
      datagrams = new ByteBuf[flight.window / ACKS_PER_DATAGRAM];
      for (int i = 0; i < datagrams.length; i++) {
        datagrams[i] = ALLOCATOR.directBuffer(MTU_BYTES);
      }
    }

    private static KcpConfig.Builder config(int segments) {
      return KcpConfig.builder()
          .delivery(Delivery.MESSAGE)
          .sendWindow(segments)
          .sendQueue(segments);
    }

    /** Has windows acknowledged, each after a round trip, until one has so many segments. */
    private void widen(Kcp kcp, int segments) {
      next = 0;
      nowUs = 0;
      for (int inFlight = 0; inFlight < segments; ) {
        for (int i = 0; i < segments; i++) {
          kcp.send(message.setIndex(0, MESSAGE_BYTES));
        }
        kcp.flush(nowUs, slots);
        inFlight = kcp.stats().inFlight();
        next += inFlight;
        ByteBuf ack = control(Segment.ACK, ts(), next - 1, next);
        nowUs += ROUND_TRIP_US;
        kcp.input(ack, nowUs);
        ack.release();
      }
    }

    private int ts() {
      return (int) (nowUs / 1_000);
    }

    /** Puts a new window in flight. */
    @Setup(Level.Invocation)
    public void refill(Flight flight) {
      int first = next;
      next += flight.window + flight.lost();
      for (Kcp kcp : sessions) {
        acknowledgeBelow(first, kcp, nowUs);
        for (int sn = first; sn != next; sn++) {
          kcp.send(message.setIndex(0, MESSAGE_BYTES));
        }
        kcp.flush(nowUs, slots);
      }
      for (int i = 0; i < datagrams.length; i++) {
        int offset = i * ACKS_PER_DATAGRAM;
        datagrams[i].clear();
        for (int k = 0; k < ACKS_PER_DATAGRAM; k++) {
          int sn = first + flight.lost() + offset + k;
          writeControl(datagrams[i], Segment.ACK, ts(), sn, first + flight.una(offset));
        }
      }
    }

    /** Everything but the hole has been acknowledged. */
    @TearDown
    public void close(Flight flight) {
      for (Kcp kcp : sessions) {
        check(kcp.stats().inFlight() == flight.lost(), "ACKs were not taken");
        kcp.close();
      }
      for (ByteBuf datagram : datagrams) {
        datagram.release();
      }
      message.release();
      slots.release();
    }
  }

  /** The reference's send buffers. */
  @State(Scope.Thread)
  public static class Linear {

    private LinearAckBaseline[] buffers;

    /** Makes the buffers. */
    @Setup
    public void open(Flight flight) {
      buffers = new LinearAckBaseline[ACKS / flight.window];
      for (int i = 0; i < buffers.length; i++) {
        buffers[i] = new LinearAckBaseline(flight.window + flight.lost());
      }
    }

    /** Puts a new window in flight. */
    @Setup(Level.Invocation)
    public void refill() {
      for (LinearAckBaseline buffer : buffers) {
        buffer.refill();
      }
    }

    /** Everything but the hole has been acknowledged. */
    @TearDown
    public void close(Flight flight) {
      for (LinearAckBaseline buffer : buffers) {
        check(buffer.unacknowledged() == flight.lost(), "ACKs were not taken");
      }
    }
  }

  /** One ACK. */
  @Benchmark
  @OperationsPerInvocation(ACKS)
  public void acknowledge(Sessions state) {
    for (Kcp kcp : state.sessions) {
      for (ByteBuf datagram : state.datagrams) {
        kcp.input(datagram, state.nowUs + 10_000);
      }
    }
  }

  /** The baseline: the linear searches of C KCP alone, without parsing. */
  @Benchmark
  @OperationsPerInvocation(ACKS)
  public boolean baselineLinear(Flight flight, Linear state) {
    boolean isFastRetransmitDue = false;
    for (LinearAckBaseline buffer : state.buffers) {
      for (int offset = 0; offset < flight.window; offset += ACKS_PER_DATAGRAM) {
        buffer.acknowledgeBelow(flight.una(offset));
        for (int k = 0; k < ACKS_PER_DATAGRAM; k++) {
          isFastRetransmitDue |= buffer.acknowledge(flight.lost() + offset + k, 0);
        }
      }
    }
    return isFastRetransmitDue;
  }
}
