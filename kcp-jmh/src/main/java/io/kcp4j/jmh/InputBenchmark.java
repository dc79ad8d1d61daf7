package io.kcp4j.jmh;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp;
import io.netty.buffer.ByteBuf;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Input of full datagrams that arrive in order, in batches as they are read from a socket: input,
 * receive, and the acknowledgements. The lower bound is one copy of the payload.
 */
@State(Scope.Thread)
public class InputBenchmark extends KcpBenchmark {

  private static final int BATCH = 32;
  private static final int RECEIVED_BYTES = 64 * 1024;

  private final DatagramSlots acks = new DatagramSlots();
  private final ByteBuf datagram = fullPush();
  private Kcp kcp;
  private int sn;

  /** A fresh session. */
  @Setup
  public void open() {
    kcp = session(KcpConfig.builder());
  }

  /** One datagram of one PUSH. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public int inOrder() {
    for (int i = 0; i < BATCH; i++) {
      setSn(datagram, sn++);
      kcp.input(datagram, 0);
    }
    int bytes = drain(kcp);
    kcp.afterInput(0, acks);
    return bytes;
  }

  /** The baseline: the payload copied to a pooled buffer that the batch shares. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public int baselineCopy() {
    ByteBuf received = ALLOCATOR.directBuffer(RECEIVED_BYTES);
    for (int i = 0; i < BATCH; i++) {
      received.writeBytes(datagram, MTU_BYTES - PAYLOAD_BYTES, PAYLOAD_BYTES);
    }
    int bytes = received.readableBytes();
    received.release();
    return bytes;
  }

  /** All sent data has been received. */
  @TearDown
  public void close() {
    acknowledgeBelow(0, kcp, 0);
    check(kcp.failure() == null, "the session has failed");
    kcp.close();
    datagram.release();
    acks.release();
  }
}
