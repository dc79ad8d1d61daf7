package io.kcp4j.jmh;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp;
import io.netty.buffer.ByteBuf;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * The whole life of a full segment: sent, flushed, input at the peer, received and acknowledged.
 * The lower bound is three copies: into the send buffer, the datagram and the reader's buffer.
 */
@State(Scope.Thread)
public class SegmentLifeBenchmark extends KcpBenchmark {

  private static final int BATCH = 32;

  private final DatagramSlots forth = new DatagramSlots();
  private final DatagramSlots back = new DatagramSlots();
  private final ByteBuf payload =
      ALLOCATOR.directBuffer(BATCH * PAYLOAD_BYTES).writeZero(BATCH * PAYLOAD_BYTES);
  private Kcp sender;
  private Kcp receiver;
  private long nowUs;

  /** Two fresh sessions. */
  @Setup
  public void open() {
    sender = session(KcpConfig.builder());
    receiver = session(KcpConfig.builder().ackNoDelay(true));
  }

  /** One segment that is acknowledged before the next is sent. */
  @Benchmark
  public int alone() {
    return live(1);
  }

  /** One segment of a batch. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public int inBatch() {
    return live(BATCH);
  }

  private int live(int segments) {
    nowUs += 1_000;
    sender.send(payload.setIndex(0, segments * PAYLOAD_BYTES));
    sender.afterSend(nowUs, forth);
    forth.deliverTo(receiver, nowUs);
    int bytes = drain(receiver);
    receiver.afterInput(nowUs, back);
    back.deliverTo(sender, nowUs);
    sender.afterInput(nowUs, forth);
    return bytes;
  }

  /** The baseline of {@link #alone}. */
  @Benchmark
  public int baselineCopiesAlone() {
    return copy(1);
  }

  /** The baseline of {@link #inBatch}. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public int baselineCopiesInBatch() {
    return copy(BATCH);
  }

  private int copy(int segments) {
    int bytes = segments * PAYLOAD_BYTES;
    ByteBuf sent = ALLOCATOR.directBuffer(bytes).writeBytes(payload, 0, bytes);
    ByteBuf received = ALLOCATOR.directBuffer(bytes);
    for (int i = 0; i < segments; i++) {
      ByteBuf datagram = forth.begin(MTU_BYTES);
      datagram.writeBytes(sent, PAYLOAD_BYTES);
      received.writeBytes(datagram, PAYLOAD_BYTES);
      forth.end();
    }
    int copied = received.readableBytes();
    sent.release();
    received.release();
    return copied;
  }

  /** Everything that was sent has been acknowledged. */
  @TearDown
  public void close() {
    check(sender.isDrained() && sender.failure() == null, "segments were lost");
    check(sender.counters().get(KcpCounter.RETRANSMITTED) == 0, "sent twice");
    sender.close();
    receiver.close();
    payload.release();
    forth.release();
    back.release();
  }
}
