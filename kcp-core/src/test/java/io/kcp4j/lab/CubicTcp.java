package io.kcp4j.lab;

import io.kcp4j.sim.VirtualTime;
import java.util.ArrayDeque;
import java.util.Arrays;

/**
 * A TCP connection that sends as fast as it can, to compete with: {@link CubicWindow}, SACK, loss
 * detection by time (RFC 8985) with a quarter of the least round trip, a retransmission timeout of
 * at least 200 ms, and delayed acknowledgements of every second segment. Its segments share a
 * {@link Bottleneck} with others; acknowledgements come back without a limit. It has no pacing, as
 * Linux without fq.
 */
final class CubicTcp implements CongestionFlow {

  /** A segment on the link: IPv4, TCP with timestamps, and {@link #MSS_BYTES}. */
  static final int SEGMENT_BYTES = 1500;

  static final int MSS_BYTES = 1448;

  /** More than the largest window, and a power of two. */
  private static final int RING = 1 << 16;

  private static final int MIN_RTO_US = 200_000;

  private static final int INITIAL_RTO_US = 1_000_000;

  private static final int MAX_RTO_US = 60_000_000;

  private static final int DELAYED_ACK_US = 40_000;

  private static final int ACK_SEGMENTS = 2;

  /** One transmission of a segment. */
  private record Transmission(long segment, long number, long sentAtUs) {}

  private final VirtualTime time;
  private final Bottleneck bottleneck;
  private final LossModel loss;
  private final LossModel ackLoss;
  private final int oneWayUs;
  private final CubicWindow window = new CubicWindow();

  // The sender

  private final ArrayDeque<Transmission> inFlight = new ArrayDeque<>();
  private final ArrayDeque<Long> lost = new ArrayDeque<>();
  private final long[] latestNumber = new long[RING];
  private final boolean[] isAcknowledged = new boolean[RING];
  private long una;
  private long next;
  private long transmissions;
  private int pipe;
  private long recoveryEndsAt;
  private long roundEndsAt;
  private long latestSentAtUs;
  private int minRttUs = Integer.MAX_VALUE;
  private int srttUs;
  private int rttVarUs;
  private int backOff = 1;
  private long timerAtUs;
  private long retransmitted;

  // The receiver

  private final boolean[] isReceived = new boolean[RING];
  private final ArrayDeque<Transmission> unacknowledged = new ArrayDeque<>();
  private long receiveNext;
  private long received;
  private long acks;

  /**
   * Makes a connection.
   *
   * @param loss of segments behind the bottleneck
   * @param ackLoss of acknowledgements
   */
  CubicTcp(
      VirtualTime time, Bottleneck bottleneck, LossModel loss, LossModel ackLoss, int oneWayUs) {
    this.time = time;
    this.bottleneck = bottleneck;
    this.loss = loss;
    this.ackLoss = ackLoss;
    this.oneWayUs = oneWayUs;
    Arrays.fill(latestNumber, -1);
  }

  /** A connection over the bottleneck of a run. */
  static CubicTcp over(CongestionWorld world) {
    int oneWayUs = world.path().rttUs() / 2;
    return new CubicTcp(world.time(), world.up(), world.loss(), world.loss(), oneWayUs);
  }

  @Override
  public void start() {
    send();
  }

  /** What has arrived, also behind a gap. */
  @Override
  public long bytes() {
    return received * MSS_BYTES;
  }

  @Override
  public double overhead() {
    return (double) SEGMENT_BYTES / MSS_BYTES;
  }

  @Override
  public CellResult.Direction direction() {
    return null;
  }

  @Override
  public Latencies latencies() {
    return new Latencies();
  }

  @Override
  public void close() {}

  // The sender

  private void send() {
    while (pipe < window.segments()) {
      Long segment = lost.poll();
      if (segment == null) {
        isAcknowledged[slot(next)] = false;
        transmit(next++);
      } else if (!isAcknowledged[slot(segment)]) {
        retransmitted++;
        transmit(segment);
      }
    }
    armTimer();
  }

  private void transmit(long segment) {
    Transmission transmission = new Transmission(segment, transmissions++, time.nowUs());
    latestNumber[slot(segment)] = transmission.number();
    inFlight.add(transmission);
    pipe++;
    long leavesAtUs = bottleneck.admit(SEGMENT_BYTES, time.nowUs());
    if (leavesAtUs != Bottleneck.DROPPED && !loss.loses(leavesAtUs)) {
      time.at(leavesAtUs + oneWayUs, () -> receive(transmission));
    }
  }

  private static int slot(long segment) {
    return (int) segment & RING - 1;
  }

  private void acknowledge(Transmission[] arrived, long receiveNext) {
    int acknowledged = 0;
    for (Transmission transmission : arrived) {
      acknowledged += acknowledge(transmission);
    }
    for (; una < receiveNext; una++) {
      if (!isAcknowledged[slot(una)]) { // The acknowledgement of its own was lost.
        isAcknowledged[slot(una)] = true;
        acknowledged++;
        pipe -= isOutstanding(una) ? 1 : 0;
        latestNumber[slot(una)] = -1;
      }
    }
    if (acknowledged == 0) {
      return;
    }
    backOff = 1;
    if (una > roundEndsAt) {
      roundEndsAt = next;
      window.beginRound();
    }
    detectLosses();
    if (una >= recoveryEndsAt || window.isInSlowStart()) {
      window.acknowledged(acknowledged, srttUs, time.nowUs());
    }
    restartTimer();
    send();
  }

  /** Returns how many segments it acknowledges. */
  private int acknowledge(Transmission transmission) {
    long segment = transmission.segment();
    if (segment < una || isAcknowledged[slot(segment)]) {
      return 0;
    }
    latestSentAtUs = Math.max(latestSentAtUs, transmission.sentAtUs());
    sampleRtt((int) (time.nowUs() - transmission.sentAtUs()));
    pipe -= isOutstanding(segment) ? 1 : 0;
    isAcknowledged[slot(segment)] = true;
    latestNumber[slot(segment)] = -1;
    return 1;
  }

  /** Whether the last transmission of a segment counts as in flight. */
  private boolean isOutstanding(long segment) {
    return latestNumber[slot(segment)] >= 0;
  }

  private void sampleRtt(int rttUs) {
    minRttUs = Math.min(minRttUs, rttUs);
    if (srttUs == 0) {
      srttUs = rttUs;
      rttVarUs = rttUs / 2;
    } else {
      rttVarUs += (Math.abs(rttUs - srttUs) - rttVarUs) / 4;
      srttUs += (rttUs - srttUs) / 8;
    }
    window.sampleRtt(rttUs);
  }

  private void detectLosses() {
    while (!inFlight.isEmpty()) {
      Transmission oldest = inFlight.peek();
      long segment = oldest.segment();
      boolean isPending = latestNumber[slot(segment)] == oldest.number();
      if (isPending && oldest.sentAtUs() + minRttUs / 4 >= latestSentAtUs) {
        return;
      }
      inFlight.poll();
      if (isPending) {
        lose(segment);
      }
    }
  }

  private void lose(long segment) {
    latestNumber[slot(segment)] = -1;
    pipe--;
    lost.add(segment);
    if (segment >= recoveryEndsAt) {
      recoveryEndsAt = next;
      window.lost();
    }
  }

  private int rtoUs() {
    int rtoUs = srttUs == 0 ? INITIAL_RTO_US : srttUs + Math.max(4 * rttVarUs, MIN_RTO_US);
    return (int) Math.min((long) rtoUs * backOff, MAX_RTO_US);
  }

  private void restartTimer() {
    timerAtUs = 0;
    armTimer();
  }

  private void armTimer() {
    if (timerAtUs == 0 && pipe > 0) {
      long atUs = time.nowUs() + rtoUs();
      timerAtUs = atUs;
      time.at(atUs, () -> timeOut(atUs));
    }
  }

  private void timeOut(long atUs) {
    if (timerAtUs != atUs) {
      return; // restarted since
    }
    timerAtUs = 0;
    backOff = Math.min(2 * backOff, 64);
    lost.clear();
    for (long segment = una; segment < next; segment++) {
      if (!isAcknowledged[slot(segment)]) {
        latestNumber[slot(segment)] = -1;
        lost.add(segment);
      }
    }
    inFlight.clear();
    pipe = 0;
    recoveryEndsAt = next;
    window.timedOut();
    send();
  }

  // The receiver

  private void receive(Transmission transmission) {
    long segment = transmission.segment();
    boolean isInOrder = segment == receiveNext;
    if (segment >= receiveNext && !isReceived[slot(segment)]) {
      isReceived[slot(segment)] = true;
      received++;
    }
    while (isReceived[slot(receiveNext)]) {
      isReceived[slot(receiveNext)] = false;
      receiveNext++;
    }
    unacknowledged.add(transmission);
    if (!isInOrder || unacknowledged.size() >= ACK_SEGMENTS) {
      sendAck();
    } else {
      long expected = acks;
      time.after(DELAYED_ACK_US, () -> sendDelayedAck(expected));
    }
  }

  private void sendDelayedAck(long expected) {
    if (acks == expected) {
      sendAck();
    }
  }

  private void sendAck() {
    acks++;
    Transmission[] arrived = unacknowledged.toArray(new Transmission[0]);
    unacknowledged.clear();
    long upTo = receiveNext;
    if (!ackLoss.loses(time.nowUs())) {
      time.after(oneWayUs, () -> acknowledge(arrived, upTo));
    }
  }

  /** How many segments were sent again. */
  long retransmitted() {
    return retransmitted;
  }
}
