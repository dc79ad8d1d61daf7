package io.kcp4j.jmh;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The settings that all benchmarks share. Leak detection is off, since its allocations would
 * distort the results.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 3,
    jvmArgsAppend = {
      "-Dio.netty.leakDetection.level=disabled",
      "-Djmh.executor=CUSTOM",
      "-Djmh.executor.class=io.kcp4j.jmh.EventLoopThreads"
    })
public abstract class KcpBenchmark {

  /** Of the packets of codecs, and of kcp-go's benchmarks beside them. */
  protected static final int PACKET_BYTES = 1400;

  /** Of sessions: the default, unless {@code -Dkcp4j.mtu} sets another. */
  protected static final int MTU_BYTES =
      Integer.getInteger("kcp4j.mtu", KcpConfig.DEFAULT_MTU_BYTES);

  static final int PAYLOAD_BYTES = MTU_BYTES - Segment.HEADER_BYTES;

  static final PooledByteBufAllocator ALLOCATOR = PooledByteBufAllocator.DEFAULT;

  static final int CONV = 1;

  private static final int SN_OFFSET = 12;

  /**
   * Of the sessions of all threads, each of which borrows from it like a socket of a server: the
   * option {@code -t 2} of JMH measures {@code SOCKETS} set to 2.
   */
  private static final MemoryLimit SERVER = MemoryLimit.shared(1L << 30);

  /**
   * Makes a session of a server, without congestion control, burst limit and timeouts, and a large
   * window.
   */
  static Kcp session(KcpConfig.Builder config) {
    KcpConfig unlimited =
        config
            .mtuBytes(MTU_BYTES)
            .congestionControl(CongestionControl.NONE)
            .maxBurst(0)
            .userTimeoutMs(0)
            .build();
    MemoryBudget budget = new MemoryBudget(SERVER);
    KcpContext context = new KcpContext(ALLOCATOR, budget, new KcpCounters());
    Kcp kcp = new Kcp(CONV, unlimited, context, 0);
    openRemoteWindow(kcp);
    return kcp;
  }

  /** Lets the peer of a session that has sent nothing yet advertise the largest window. */
  static void openRemoteWindow(Kcp kcp) {
    acknowledgeBelow(0, kcp, 0);
  }

  /** A datagram of one segment without payload. */
  static ByteBuf control(int cmd, int ts, int sn, int una) {
    ByteBuf datagram = ALLOCATOR.directBuffer(Segment.HEADER_BYTES);
    writeControl(datagram, cmd, ts, sn, una);
    return datagram;
  }

  static void writeControl(ByteBuf datagram, int cmd, int ts, int sn, int una) {
    Segment.write(datagram, CONV, cmd, 0, KcpConfig.MAX_WINDOW, ts, sn, una, 0);
  }

  /** A full datagram of one PUSH with sequence number 0. */
  static ByteBuf fullPush() {
    ByteBuf datagram = ALLOCATOR.directBuffer(MTU_BYTES);
    Segment.write(datagram, CONV, Segment.PUSH, 0, KcpConfig.MAX_WINDOW, 0, 0, 0, PAYLOAD_BYTES);
    return datagram.writeZero(PAYLOAD_BYTES);
  }

  static void setSn(ByteBuf datagram, int sn) {
    datagram.setIntLE(SN_OFFSET, sn);
  }

  /** Acknowledges everything below {@code una}. */
  static void acknowledgeBelow(int una, Kcp kcp, long nowUs) {
    ByteBuf datagram = control(Segment.WINS, 0, 0, una);
    kcp.input(datagram, nowUs);
    datagram.release();
  }

  /** Receives all available data and returns its number of bytes. */
  static int drain(Kcp kcp) {
    int bytes = 0;
    for (ByteBuf taken = kcp.receive(); taken != null; taken = kcp.receive()) {
      bytes += taken.readableBytes();
      taken.release();
    }
    return bytes;
  }

  /** Fails a benchmark that has left the state that it is meant to measure. */
  protected static void check(boolean expected, String what) {
    if (!expected) {
      throw new IllegalStateException(what);
    }
  }
}
