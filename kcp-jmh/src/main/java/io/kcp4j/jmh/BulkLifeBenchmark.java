package io.kcp4j.jmh;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * The whole life of a message of 16 KiB, of which some are sent together: sent, flushed, input at
 * the peer, received and acknowledged, on a stream or on a lane. Sockets are left out.
 */
@State(Scope.Thread)
public class BulkLifeBenchmark extends KcpBenchmark {

  private static final int MESSAGES = 3;
  private static final int MESSAGE_BYTES = 16 << 10;
  private static final int LANE = 1;

  private final DatagramSlots forth = new DatagramSlots();
  private final DatagramSlots back = new DatagramSlots();
  private Kcp streamSender;
  private Kcp streamReceiver;
  private Kcp laneSender;
  private Kcp laneReceiver;
  private Lanes sending;
  private Lanes receiving;
  private long nowUs;

  /** Four fresh sessions. */
  @Setup
  public void open() {
    streamSender = session(KcpConfig.builder().delivery(Delivery.STREAM));
    streamReceiver = session(KcpConfig.builder().delivery(Delivery.STREAM).ackNoDelay(true));
    laneSender = session(KcpConfig.builder().delivery(Delivery.LANES));
    laneReceiver = session(KcpConfig.builder().delivery(Delivery.LANES).ackNoDelay(true));
    sending = lanes(laneSender);
    receiving = lanes(laneReceiver);
  }

  private static Lanes lanes(Kcp kcp) {
    Lanes lanes = new Lanes(kcp, LanesConfig.builder().build(), false, 0);
    LanesConfig limits = lanes.config();
    check(lanes.open(limits.maxLanes(), limits.budgetBytes()), "limits were refused");
    return lanes;
  }

  /** A message, or 16 KiB of a stream. */
  @Benchmark
  @OperationsPerInvocation(MESSAGES)
  public int stream() {
    for (int i = 0; i < MESSAGES; i++) {
      ByteBuf content = content();
      streamSender.send(content);
      content.release();
    }
    deliver(streamSender, streamReceiver);
    int bytes = drain(streamReceiver);
    acknowledge(streamSender, streamReceiver);
    return bytes;
  }

  /** A message on a lane. */
  @Benchmark
  @OperationsPerInvocation(MESSAGES)
  public int lane() {
    Lane lane = sending.lane(LANE);
    for (int i = 0; i < MESSAGES; i++) {
      lane.send(new Message(content()));
    }
    deliver(laneSender, laneReceiver);
    int bytes = 0;
    for (Lane read = receiving.nextNews(); read != null; read = receiving.nextNews()) {
      for (ByteBuf message = read.receive(); message != null; message = read.receive()) {
        bytes += message.readableBytes();
        message.release();
      }
    }
    acknowledge(laneSender, laneReceiver);
    return bytes;
  }

  /** What it holds does not matter. */
  private static ByteBuf content() {
    return ALLOCATOR.directBuffer(MESSAGE_BYTES).writerIndex(MESSAGE_BYTES);
  }

  private void deliver(Kcp sender, Kcp receiver) {
    nowUs += 1_000;
    sender.flush(nowUs, forth);
    forth.deliverTo(receiver, nowUs);
  }

  /** The receiver may report what has been read, which is acknowledged, too. */
  private void acknowledge(Kcp sender, Kcp receiver) {
    receiver.flush(nowUs, back);
    back.deliverTo(sender, nowUs);
    sender.flush(nowUs, forth);
    forth.deliverTo(receiver, nowUs);
  }

  /** A message of which nobody asks whether it was sent. */
  private static final class Message extends OutboundMessage {

    Message(ByteBuf content) {
      super(content);
    }

    @Override
    protected void sent() {}

    @Override
    protected void dropped(Drop reason) {
      throw new IllegalStateException("dropped: " + reason);
    }
  }

  /** Everything that was sent has been acknowledged. */
  @TearDown
  public void close() {
    sending.close();
    receiving.close();
    for (Kcp kcp : new Kcp[] {streamSender, streamReceiver, laneSender, laneReceiver}) {
      check(kcp.isDrained() && kcp.failure() == null, "segments were lost");
      check(kcp.counters().get(KcpCounter.RETRANSMITTED) == 0, "sent twice");
      kcp.close();
    }
    forth.release();
    back.release();
  }
}
