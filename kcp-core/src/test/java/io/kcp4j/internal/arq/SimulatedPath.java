package io.kcp4j.internal.arq;

import io.kcp4j.AckSample;
import io.kcp4j.CongestionControl;
import io.kcp4j.LossSample;
import io.kcp4j.internal.buffer.SendRing;
import io.kcp4j.internal.recovery.DeliveryRate;
import io.kcp4j.internal.wire.Segment;
import java.util.ArrayDeque;
import java.util.SplittableRandom;

/**
 * A path with a bottleneck and a drop-tail queue, and a sender that always has something to send,
 * in steps of {@link #stepUs}: the least that a {@link CongestionControl} needs. Acknowledgements
 * come for each segment, losses are found a round trip after the segment was sent.
 */
public final class SimulatedPath implements AckSample, LossSample {

  public static final int MSS_BYTES = 1_376;

  public static final int SEGMENT_BYTES = MSS_BYTES + Segment.HEADER_BYTES;

  private static final double US_PER_S = 1e6;

  private record Sent(int sn, long atUs, long backAtUs, boolean isLost) {}

  /** For more segments than are ever in flight. */
  private static final int RING_SEGMENTS = 1 << 16;

  final CongestionControl control;
  private final DeliveryRate deliveryRate = new DeliveryRate(SEGMENT_BYTES);
  private final SendRing ring = new SendRing(RING_SEGMENTS);
  private final SplittableRandom random = new SplittableRandom(1);
  private final ArrayDeque<Sent> inFlight = new ArrayDeque<>();

  // The path; all may change at any time.

  public double bytesPerSecond;
  public int rttUs;
  public long queueBytes = Long.MAX_VALUE;
  public double loss;

  /** What another sender keeps in the queue, in microseconds. */
  public int foreignQueueUs;

  /** What another sender sends all the time; the queue always has room for it. */
  public double otherBytesPerSecond;

  /** How often the sender acts, in microseconds. */
  public int stepUs = 1_000;

  /** The segments that the application has to send in each step. */
  public int segmentsPerStep = Integer.MAX_VALUE;

  /** What a report of losses says of timeouts. */
  public int lostByTimeout;

  private long nowUs;
  private double freeAtUs;
  private double credit;
  private int next;
  private long sentBytes;
  private long deliveredBytes;
  private long droppedSegments;

  // The present sample:
  private int sampleRttUs;
  private int acknowledged;

  public SimulatedPath(CongestionControl control, double bytesPerSecond, int rttUs) {
    this.control = control;
    this.bytesPerSecond = bytesPerSecond;
    this.rttUs = rttUs;
    ring.makeDeliveries();
  }

  /** Lets time pass. */
  public void run(int ms) {
    for (int us = 0; us < 1_000 * ms; us += stepUs) {
      nowUs += stepUs;
      freeAtUs = Math.max(freeAtUs, (double) nowUs) + otherBytesPerSecond * stepUs / bytesPerSecond;
      receive();
      send();
    }
  }

  private void receive() {
    sampleRttUs = NO_RTT;
    acknowledged = 0;
    int lost = 0;
    while (!inFlight.isEmpty() && inFlight.peek().backAtUs() <= nowUs) {
      Sent sent = inFlight.poll();
      if (sent.isLost()) {
        leave(sent.sn());
        deliveryRate.retransmitted(ring, index(sent.sn()), nowUs);
        lost++;
      } else {
        deliveryRate.acknowledged(ring, index(sent.sn()), false, nowUs);
        int rtt = (int) (sent.backAtUs() - sent.atUs());
        sampleRttUs = sampleRttUs == NO_RTT ? rtt : Math.min(sampleRttUs, rtt);
        acknowledged++;
        deliveredBytes += SEGMENT_BYTES;
      }
    }
    if (acknowledged > 0) {
      deliveryRate.endDatagram(sentBytes);
      control.onAck(this);
    }
    if (lost > 0) {
      control.onLoss(this);
    }
  }

  private void send() {
    credit = Math.min(credit, 0) + control.pacingBytesPerSecond() * stepUs / US_PER_S;
    int left = segmentsPerStep;
    while (left > 0 && inFlight.size() < window() && credit > 0) {
      int index = index(next);
      ring.clearFlags(index);
      ring.length[index] = MSS_BYTES;
      leave(next++);
      deliveryRate.sent(ring, index, index + 1, nowUs);
      left--;
    }
    if (left == 0) {
      deliveryRate.applicationLimited();
    }
  }

  private static int index(int sn) {
    return sn & RING_SEGMENTS - 1;
  }

  private void leave(int sn) {
    credit -= SEGMENT_BYTES;
    sentBytes += SEGMENT_BYTES;
    ring.sentAtUs[index(sn)] = nowUs;
    double beginsAtUs = Math.max(freeAtUs, (double) nowUs);
    boolean isDropped = (beginsAtUs - nowUs) * bytesPerSecond / US_PER_S > queueBytes;
    if (isDropped) {
      droppedSegments++;
    } else {
      freeAtUs = beginsAtUs + SEGMENT_BYTES * US_PER_S / bytesPerSecond;
    }
    long backAtUs = (long) Math.max(freeAtUs, (double) nowUs) + foreignQueueUs + rttUs;
    inFlight.add(new Sent(sn, nowUs, backAtUs, isDropped || random.nextDouble() < loss));
  }

  /** The peer has said that it takes more, and has not been asked. */
  public void windowUpdate() {
    control.onWindowUpdate();
    deliveryRate.applicationLimited();
  }

  /** Segments have another size from now on, in the eyes of the control. */
  public void changeMss(int mssBytes) {
    control.onMssChanged(mssBytes);
    deliveryRate.segmentBytes(mssBytes + Segment.HEADER_BYTES);
  }

  /** The bytes that have been delivered. */
  public long delivered() {
    return deliveredBytes;
  }

  /** The queue, in microseconds, without that of another sender. */
  public double queueUs() {
    return Math.max(freeAtUs - nowUs, 0);
  }

  /** The segments that the queue has dropped. */
  public long dropped() {
    return droppedSegments;
  }

  @Override
  public long nowUs() {
    return nowUs;
  }

  @Override
  public int rttUs() {
    return sampleRttUs;
  }

  @Override
  public int inFlightSegments() {
    return inFlight.size();
  }

  @Override
  public int remoteWindow() {
    return Integer.MAX_VALUE;
  }

  @Override
  public boolean isUnaAdvanced() {
    return true;
  }

  @Override
  public Rate rate() {
    return deliveryRate;
  }

  @Override
  public int lostByAcks() {
    return 1;
  }

  @Override
  public int lostByTimeout() {
    return lostByTimeout;
  }

  @Override
  public int window() {
    return deliveryRate.window(control.windowBytes());
  }

  @Override
  public int fastRetransmit() {
    return 0;
  }
}
