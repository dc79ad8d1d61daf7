package io.kcp4j.congestion;

/**
 * BBR (draft-ietf-ccwg-bbr, version 3) for KCP: sends at the bandwidth of the path, which it
 * measures, and keeps about as much in flight as fits on the path without a queue.
 *
 * <p><b>States.</b> {@code STARTUP} and {@code DRAIN} come first, then cycles of {@code DOWN},
 * {@code CRUISE}, {@code REFILL} and {@code UP}, with {@code PROBE_RTT} in between when the
 * shortest round trip has not been seen for long. {@link BbrState} says what each does.
 *
 * <p><b>Departures from BBRv3.</b>
 *
 * <ul>
 *   <li>Losses count as congestion only if a standing queue is their witness, in {@code UP} half of
 *       one, or if they are heavy: random losses would bring BBRv3 to a fraction of the bandwidth.
 *   <li>A standing queue in {@code CRUISE} bounds the bandwidth by what was delivered meanwhile,
 *       and begins {@code DOWN}. So several flows of this kind share a path evenly and keep its
 *       queue short; and what jitter has added to the bandwidth is corrected.
 *   <li>A queue that has stood after several such times is not ours: another sender fills it, which
 *       waits for losses. Yielding would leave it the whole path, so then {@code CRUISE} goes on,
 *       but with headroom, and {@code UP} goes on until losses, or until its rate no longer grows.
 *   <li>The path is probed every 16 to 24 rounds rather than every two to three seconds, so that
 *       changes are noticed soon, but less often if others share it: a probe may make them lose
 *       packets. One that has found room is followed by another. {@link BandwidthProbe} decides.
 *   <li>There is no restart from idle: a session goes on in the state in which it was.
 * </ul>
 */
final class BbrCongestionControl implements CongestionControl {

  private static final int HEADER_BYTES = 24;

  private static final double US_PER_S = 1e6;

  /** kcp-go's receive window, of which a peer is sure before it has advertised its own. */
  private static final int INITIAL_SEGMENTS = 32;

  /** The round trip by which the first of these are paced. */
  private static final int ASSUMED_RTT_US = 50_000;

  // The least that may leave: segments that arrive now and then tell too small a bandwidth.
  private static final int MIN_PIPE_SEGMENTS = 4;
  private static final int MIN_PIPE_US = 200_000;

  /** How often an event loop sends. The window is at least what is delivered meanwhile. */
  private static final int MIN_RTT_US = 1_000;

  /** How many segments the window may have beyond its gain, since ACKs come late. */
  private static final int EXTRA_SEGMENTS = 96;

  private static final int MAX_DRAIN_ROUNDS = 4;

  /** BBRv3's, where the queue is that of another sender. */
  private static final double FOREIGN_DOWN_PACING = 0.9;

  private static final int MAX_UP_ROUNDS = 8;

  /**
   * By which share of what losses allow a round of UP tries more beside the queue of another
   * sender. That sender loses from time to time, whatever UP does.
   */
  private static final double FOREIGN_RAISE = 0.25;

  /** BBRv3's BBRPacingMarginPercent. */
  private static final double PACING_MARGIN = 0.99;

  private static final long PROBE_RTT_US = 200_000;

  /** A longer round trip contains a pause of a host, for which it does not wait again. */
  private static final int MAX_PROBE_RTT_DRAIN_US = 1_000_000;

  /** What is kept in flight after a loss in UP, of what was in flight then. */
  private static final double LOSS_WINDOW = 0.85;

  /** Which share of what losses allow is used where headroom is left: 1 - BBRv3's BBRHeadroom. */
  private static final double HEADROOM_WINDOW = 0.85;

  /** The least bound of the bandwidth that losses or a standing queue set: BBRv3's BBRBeta. */
  private static final double LEAST_BOUND = 0.7;

  private final MaxBandwidth bandwidth = new MaxBandwidth();
  private final FullBandwidth full = new FullBandwidth();
  private final MinRtt minRtt = new MinRtt();
  private final AckAggregation aggregation = new AckAggregation();
  private final StandingQueue queue = new StandingQueue();
  private final ForeignQueue foreign = new ForeignQueue();
  private final RoundLoss loss = new RoundLoss();
  private final BandwidthProbe probe = new BandwidthProbe();
  private final ProbeCycle cycle = new ProbeCycle();
  private final TimeoutBackOff backOff = new TimeoutBackOff();

  /** A full segment. */
  private int segmentBytes;

  private double windowBytes;

  /** The bytes that leave for each byte of a segment, as of the last acknowledgement. */
  private double wireRatio = 1;

  /** BBRv3's inflight_longterm: what losses have shown to be too much, less a margin. */
  private double inflightLongTerm = Double.POSITIVE_INFINITY;

  private BbrState state = BbrState.STARTUP;
  private long stateAtUs;
  private int roundsInState;

  /** The highest rate of this round, and of the last one. */
  private double roundRate;

  private double lastRoundRate;

  /** Whether losses of the last round show congestion. */
  private boolean isCongested;

  /** Whether UP has just ended: its effect is not known until all is acknowledged or lost. */
  private boolean hasProbed;

  private long probeRttEndsAtUs;

  BbrCongestionControl(int mssBytes) {
    segmentBytes = mssBytes + HEADER_BYTES;
    windowBytes = INITIAL_SEGMENTS * segmentBytes;
  }

  @Override
  public boolean usesDeliveryRate() {
    return true;
  }

  @Override
  public long windowBytes() {
    return (long) windowBytes;
  }

  @Override
  public long pacingBytesPerSecond() {
    boolean isFirst = !bandwidth.isMeasured();
    int segments = isFirst ? INITIAL_SEGMENTS : MIN_PIPE_SEGMENTS;
    int us = Math.max(rttUs(), isFirst ? MIN_RTT_US : MIN_PIPE_US);
    double least = segments * segmentBytes * US_PER_S / us;
    double bytesPerSecond = Math.max(bandwidth.bytesPerSecond(), least);
    double paced = pacingGain() * PACING_MARGIN * bytesPerSecond * wireRatio;
    return Math.max(backOff.apply(paced), segmentBytes);
  }

  private int rttUs() {
    return minRtt.us() == 0 ? ASSUMED_RTT_US : minRtt.us();
  }

  private double pacingGain() {
    boolean isForeign = state == BbrState.DOWN && foreign.isPresent();
    return isForeign ? FOREIGN_DOWN_PACING : state.pacingGain();
  }

  /** So many bandwidth-delay products, in bytes. Only a queue of others is part of the path. */
  private double bdp(double gain) {
    boolean isQueuePart = foreign.isPresent() && state != BbrState.PROBE_RTT;
    int rttUs = isQueuePart ? minRtt.us() : queue.shortestRttUs();
    return gain * bandwidth.bytesPerSecond() * Math.max(rttUs, MIN_RTT_US) / US_PER_S;
  }

  @Override
  public boolean isQueueStanding() {
    return queue.isStanding();
  }

  @Override
  public long bandwidthBytesPerSecond() {
    return (long) bandwidth.bytesPerSecond();
  }

  @Override
  public int queueUs() {
    return queue.us();
  }

  @Override
  public String state() {
    return state.name();
  }

  @Override
  public void onMssChanged(int mssBytes) {
    segmentBytes = mssBytes + HEADER_BYTES;
  }

  @Override
  public void onLoss(LossSample sample) {
    if (sample.lostByTimeout() > 0) {
      backOff.timedOut(rttUs(), sample.nowUs());
    }
  }

  @Override
  public void onAck(AckSample sample) {
    long nowUs = sample.nowUs();
    AckSample.Rate rate = sample.rate();
    // A sample of less than half of the shortest round trip is not valid.
    boolean isValid = rate.intervalUs() >= minRtt.us() / 2;
    double bytesPerSecond = isValid ? rate.bytesPerSecond() : 0;
    wireRatio = rate.wireRatio();
    if (sample.rttUs() != AckSample.NO_RTT) {
      minRtt.sample(sample.rttUs(), nowUs, !foreign.isPresent());
      queue.sample(sample.rttUs(), nowUs);
    }
    bandwidth.sample(bytesPerSecond, rate.isApplicationLimited());
    roundRate = Math.max(roundRate, bytesPerSecond);
    if (bandwidth.max() > 0 && minRtt.us() > 0) {
      aggregate(rate, nowUs);
      if (rate.isRoundStart()) {
        endRound(rate, nowUs);
      }
      advance(rate, nowUs);
      probeRtt(sample, nowUs);
      updateWindow(rate);
    }
    backOff.reset();
  }

  @Override
  public void onWindowUpdate() {
    backOff.reset();
    bandwidth.limitedByPeer();
  }

  private void aggregate(AckSample.Rate rate, long nowUs) {
    if (state != BbrState.STARTUP) {
      double limit = bdp(1) + EXTRA_SEGMENTS * segmentBytes;
      int bytes = rate.acknowledgedBytes();
      aggregation.acknowledged(bytes, bandwidth.bytesPerSecond(), limit, nowUs);
    }
  }

  private void endRound(AckSample.Rate rate, long nowUs) {
    roundsInState++;
    cycle.endRound();
    queue.endRound();
    loss.endRound(rate.lostBytes(), rate.deliveredBytes(), segmentBytes);
    aggregation.beginRound();
    lastRoundRate = roundRate;
    roundRate = 0;
    foreign.endRound(queue, loss.isUnusual(), nowUs);
    isCongested = (queue.isStanding() && loss.isExcessive()) || loss.isHeavy();
    boolean isSteady = state == BbrState.CRUISE || state == BbrState.STARTUP;
    if (isSteady && queue.hasDrained() && !backOff.hasTimedOut()) {
      loss.learn();
    }
  }

  private void enter(BbrState next, long nowUs) {
    hasProbed = state == BbrState.UP;
    state = next;
    stateAtUs = nowUs;
    roundsInState = 0;
  }

  private void advance(AckSample.Rate rate, long nowUs) {
    boolean isRoundStart = rate.isRoundStart();
    switch (state) {
      case STARTUP -> {
        if (isRoundStart && !rate.isApplicationLimited()) {
          startUp(rate, nowUs);
        }
      }
      case DRAIN -> {
        if (rate.inFlightBytes() <= bdp(1) || roundsInState > MAX_DRAIN_ROUNDS) {
          beginCycle(nowUs);
        }
      }
      case DOWN -> {
        if (isRoundStart && hasProbed) {
          hasProbed = false;
          endProbe(rate, nowUs);
        } else if (isDrained(rate, nowUs)) {
          enter(BbrState.CRUISE, nowUs);
        }
      }
      case CRUISE -> {
        if (isRoundStart) {
          cruise(nowUs);
        }
      }
      case REFILL -> {
        if (roundsInState > 0) {
          if (!rate.isApplicationLimited()) { // Otherwise the cycle may not measure the path.
            bandwidth.beginCycle();
          }
          enter(BbrState.UP, nowUs);
        }
      }
      case UP -> {
        if (isRoundStart) {
          probeUp(rate, nowUs);
        }
      }
      case PROBE_RTT -> {
        if (nowUs >= probeRttEndsAtUs) {
          foreign.endProbeRtt(queue.isEmpty(minRtt.us()));
          beginCycle(nowUs);
        }
      }
    }
  }

  private void startUp(AckSample.Rate rate, long nowUs) {
    full.endRound(bandwidth.max(), queue.isStanding());
    if (isCongested) {
      reduceInflightLongTerm(rate);
    }
    if (isCongested || full.isReached()) {
      enter(BbrState.DRAIN, nowUs);
    }
  }

  private void reduceInflightLongTerm(AckSample.Rate rate) {
    inflightLongTerm = rate.sentInFlightBytes() * LOSS_WINDOW;
  }

  private void beginCycle(long nowUs) {
    cycle.begin(nowUs);
    enter(BbrState.DOWN, nowUs);
  }

  private boolean isDrained(AckSample.Rate rate, long nowUs) {
    double limit = Math.min(bdp(1), HEADROOM_WINDOW * allowedBytes(1));
    boolean isLate = nowUs - stateAtUs > 4L * minRtt.us();
    return roundsInState > 0 && (isLate || rate.inFlightBytes() <= limit);
  }

  private void boundBandwidth() {
    bandwidth.bound(Math.max(lastRoundRate, LEAST_BOUND * bandwidth.bytesPerSecond()));
  }

  private void cruise(long nowUs) {
    if (isCongested) {
      boundBandwidth();
      inflightLongTerm =
          Math.min(
              inflightLongTerm,
              Math.max(LEAST_BOUND * inflightLongTerm, bdp(BbrState.UP.pacingGain())));
    }
    if (roundsInState > 1 && queue.isStanding()) { // The first round was sent in DOWN.
      foreign.onDrainFailed(queue);
      if (!foreign.isPresent()) {
        if (!isCongested) { // Otherwise it is bound already.
          boundBandwidth();
        }
        enter(BbrState.DOWN, nowUs);
        return;
      }
    }
    if (cycle.isOver(nowUs, probe.isShared())) {
      foreign.endCycle();
      bandwidth.unbound();
      enter(BbrState.REFILL, nowUs);
    }
  }

  /** Whether a probe has caused losses: the queue may be too short to be standing. */
  private boolean hasOverflowed() {
    return queue.isGrowing() && loss.isExcessive();
  }

  private void probeUp(AckSample.Rate rate, long nowUs) {
    probe.endRound(roundsInState, lastRoundRate, bandwidth.max(), rate.isApplicationLimited());
    boolean isOverflowing = isCongested || hasOverflowed();
    boolean isLimited = allowedBytes(1) < bdp(state.windowGain()) + extraAckedBytes();
    if (isOverflowing) {
      reduceInflightLongTerm(rate);
    } else if (isLimited) {
      raiseInflightLongTerm();
    }
    boolean isFull = !isLimited && rate.inFlightBytes() >= bdp(BbrState.UP.pacingGain());
    isFull &= !foreign.isPresent() || !probe.isGrowing();
    boolean isYielding = queue.isStanding() && !foreign.isPresent();
    if (isOverflowing || isFull || isYielding || roundsInState > MAX_UP_ROUNDS) {
      beginCycle(nowUs);
    }
  }

  private void raiseInflightLongTerm() {
    double bytes = allowedBytes(1);
    double more = (double) segmentBytes * (1 << roundsInState);
    inflightLongTerm = bytes + (foreign.isPresent() ? Math.max(more, FOREIGN_RAISE * bytes) : more);
  }

  private void endProbe(AckSample.Rate rate, long nowUs) {
    if (hasOverflowed()) {
      reduceInflightLongTerm(rate);
    }
    if (!rate.isApplicationLimited() && queue.isKnown()) {
      probe.end(lastRoundRate, queue.isGrowing());
      if (probe.hasFoundRoom() && !loss.isExcessive()) {
        enter(BbrState.REFILL, nowUs);
      }
    }
  }

  private void probeRtt(AckSample sample, long nowUs) {
    int rttUs = sample.rttUs();
    if (!state.isOfCycle() || rttUs == AckSample.NO_RTT || !minRtt.isExpired(nowUs)) {
      return;
    }
    minRtt.restart(rttUs, nowUs);
    if (!sample.rate().isApplicationLimited()) {
      probeRttEndsAtUs = nowUs + PROBE_RTT_US + Math.min(rttUs, MAX_PROBE_RTT_DRAIN_US);
      enter(BbrState.PROBE_RTT, nowUs);
    }
  }

  /**
   * BBRv3's extra_acked: what the window has in addition because acknowledgements come in lumps.
   * The path does not run dry meanwhile if another sender fills it.
   */
  private double extraAckedBytes() {
    return foreign.isPresent() ? 0 : aggregation.bytes();
  }

  /** A share of what losses allow, but never less than keeps the path busy. */
  private double allowedBytes(double share) {
    return Math.max(share * inflightLongTerm, bdp(1) + extraAckedBytes());
  }

  private void updateWindow(AckSample.Rate rate) {
    double bytes = bdp(state.windowGain());
    if (state == BbrState.STARTUP) {
      double limit = bytes + EXTRA_SEGMENTS * segmentBytes;
      bytes = Math.min(Math.max(bytes, windowBytes + rate.acknowledgedBytes()), limit);
    } else if (state != BbrState.PROBE_RTT) {
      double share = state == BbrState.CRUISE && foreign.isPresent() ? HEADROOM_WINDOW : 1;
      bytes = Math.min(bytes + extraAckedBytes(), allowedBytes(share));
    }
    windowBytes = Math.max(bytes, MIN_PIPE_SEGMENTS * segmentBytes);
  }
}
