package io.kcp4j.internal.congestion;

import io.kcp4j.AckSample;
import io.kcp4j.BbrState;
import io.kcp4j.CongestionControl;
import io.kcp4j.LossSample;

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
 *   <li>Losses signal congestion only if the queue is standing, in {@code UP} half of that, or if
 *       they exceed 25 % for three rounds: random losses would bring BBRv3 to a fraction of the
 *       bandwidth. {@link BbrLoss} decides.
 *   <li>A standing queue in {@code CRUISE} bounds the bandwidth by what was delivered meanwhile,
 *       and begins {@code DOWN}. So several flows of this kind share a path evenly and keep its
 *       queue short; and what jitter has added to the bandwidth is corrected.
 *   <li>A queue that has stood after several such times is kept by a competing flow, which waits
 *       for losses. Yielding would leave it the whole path, so then {@code CRUISE} goes on, but
 *       with headroom, and {@code UP} goes on until losses, or until its rate no longer grows.
 *       {@link PathQueue} decides.
 *   <li>The path is probed every 16 to 24 rounds rather than every two to three seconds, so that
 *       changes are noticed soon, but less often if others share it: a probe may make them lose
 *       packets. One that has found room is followed by another. {@link BbrProbe} decides.
 *   <li>There is no restart from idle: a session goes on in the state in which it was.
 * </ul>
 *
 * <p>{@link BbrModel} has what is known of the path. The session samples the delivery rate.
 */
public final class BbrCongestionControl implements CongestionControl {

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

  /** BBRv3's, where a competing flow keeps the queue. */
  private static final double COMPETING_DOWN_PACING = 0.9;

  private static final int MAX_UP_ROUNDS = 8;

  /**
   * By which share of what losses allow a round of UP tries more beside a competing flow. That
   * loses from time to time, whatever UP does.
   */
  private static final double COMPETING_RAISE = 0.25;

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

  private final BbrModel model = new BbrModel();
  private final PathQueue queue = new PathQueue();
  private final BbrLoss loss = new BbrLoss();
  private final BbrProbe probe = new BbrProbe();

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

  public BbrCongestionControl(int mssBytes) {
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
    boolean isFirst = !model.isBandwidthMeasured();
    int segments = isFirst ? INITIAL_SEGMENTS : MIN_PIPE_SEGMENTS;
    int us = Math.max(rttUs(), isFirst ? MIN_RTT_US : MIN_PIPE_US);
    double least = segments * segmentBytes * US_PER_S / us;
    double bytesPerSecond = Math.max(model.bandwidth(), least);
    double paced = pacingGain() * PACING_MARGIN * bytesPerSecond * wireRatio;
    return Math.max(loss.backOff(paced), segmentBytes);
  }

  private int rttUs() {
    return model.minRttUs() == 0 ? ASSUMED_RTT_US : model.minRttUs();
  }

  private double pacingGain() {
    boolean isCompeting = state == BbrState.DOWN && queue.hasCompetitor();
    return isCompeting ? COMPETING_DOWN_PACING : state.pacingGain();
  }

  /**
   * The bandwidth-delay product times {@code gain}, in bytes. The delay includes the queue only if
   * a competing flow keeps it.
   */
  private double bdp(double gain) {
    boolean isQueuePart = queue.hasCompetitor() && state != BbrState.PROBE_RTT;
    int rttUs = isQueuePart ? model.minRttUs() : queue.shortestRttUs();
    return gain * model.bandwidth() * Math.max(rttUs, MIN_RTT_US) / US_PER_S;
  }

  @Override
  public boolean isQueueStanding() {
    return queue.isStanding();
  }

  @Override
  public long bandwidthBytesPerSecond() {
    return (long) model.bandwidth();
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
      loss.timedOut(rttUs(), sample.nowUs());
    }
  }

  @Override
  public void onAck(AckSample sample) {
    long nowUs = sample.nowUs();
    AckSample.Rate rate = sample.rate();
    // A sample of less than half of the shortest round trip is not valid.
    boolean isValid = rate.intervalUs() >= model.minRttUs() / 2;
    double bytesPerSecond = isValid ? rate.bytesPerSecond() : 0;
    wireRatio = rate.wireRatio();
    if (sample.rttUs() != AckSample.NO_RTT) {
      model.sampleRtt(sample.rttUs(), nowUs, !queue.hasCompetitor());
      queue.sample(sample.rttUs(), nowUs);
    }
    model.sampleRate(bytesPerSecond, rate.isApplicationLimited());
    roundRate = Math.max(roundRate, bytesPerSecond);
    if (model.maxBandwidth() > 0 && model.minRttUs() > 0) {
      aggregate(rate, nowUs);
      if (rate.isRoundStart()) {
        endRound(rate, nowUs);
      }
      advance(rate, nowUs);
      probeRtt(sample, nowUs);
      updateWindow(rate);
    }
    loss.resetBackOff();
  }

  @Override
  public void onWindowUpdate() {
    loss.resetBackOff();
    model.limitedByPeer();
  }

  private void aggregate(AckSample.Rate rate, long nowUs) {
    if (state != BbrState.STARTUP) {
      double limit = bdp(1) + EXTRA_SEGMENTS * segmentBytes;
      model.acknowledged(rate.acknowledgedBytes(), limit, nowUs);
    }
  }

  private void endRound(AckSample.Rate rate, long nowUs) {
    roundsInState++;
    probe.endRound();
    loss.endRound(rate.lostBytes(), rate.deliveredBytes(), segmentBytes);
    queue.endRound(loss.isUnusual(), nowUs);
    model.beginRound();
    lastRoundRate = roundRate;
    roundRate = 0;
    isCongested = (queue.isStanding() && loss.isExcessive()) || loss.isHeavy();
    boolean isSteady = state == BbrState.CRUISE || state == BbrState.STARTUP;
    if (isSteady && queue.hasDrained() && !loss.hasTimedOut()) {
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
            model.beginCycle();
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
          queue.endProbeRtt(model.minRttUs());
          beginCycle(nowUs);
        }
      }
    }
  }

  private void startUp(AckSample.Rate rate, long nowUs) {
    probe.endRoundOfStartup(model.maxBandwidth(), queue.isStanding());
    if (isCongested) {
      reduceInflightLongTerm(rate);
    }
    if (isCongested || probe.isFullBandwidthReached()) {
      enter(BbrState.DRAIN, nowUs);
    }
  }

  private void reduceInflightLongTerm(AckSample.Rate rate) {
    inflightLongTerm = rate.sentInFlightBytes() * LOSS_WINDOW;
  }

  private void beginCycle(long nowUs) {
    probe.beginCycle(nowUs);
    enter(BbrState.DOWN, nowUs);
  }

  private boolean isDrained(AckSample.Rate rate, long nowUs) {
    double limit = Math.min(bdp(1), HEADROOM_WINDOW * allowedBytes(1));
    boolean isLate = nowUs - stateAtUs > 4L * model.minRttUs();
    return roundsInState > 0 && (isLate || rate.inFlightBytes() <= limit);
  }

  private void boundBandwidth() {
    model.boundBandwidth(Math.max(lastRoundRate, LEAST_BOUND * model.bandwidth()));
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
      queue.onDrainFailed();
      if (!queue.hasCompetitor()) {
        if (!isCongested) { // Otherwise it is bound already.
          boundBandwidth();
        }
        enter(BbrState.DOWN, nowUs);
        return;
      }
    }
    if (probe.isCycleOver(nowUs)) {
      queue.endCycle();
      model.unboundBandwidth();
      enter(BbrState.REFILL, nowUs);
    }
  }

  /** Whether a probe has caused losses: the queue may be too short to be standing. */
  private boolean hasOverflowed() {
    return queue.isAboveHalf() && loss.isExcessive();
  }

  private void probeUp(AckSample.Rate rate, long nowUs) {
    boolean isApplicationLimited = rate.isApplicationLimited();
    probe.endRoundOfUp(roundsInState, lastRoundRate, model.maxBandwidth(), isApplicationLimited);
    boolean isOverflowing = isCongested || hasOverflowed();
    boolean isLimited = allowedBytes(1) < bdp(state.windowGain()) + extraAckedBytes();
    if (isOverflowing) {
      reduceInflightLongTerm(rate);
    } else if (isLimited) {
      raiseInflightLongTerm();
    }
    boolean isFull = !isLimited && rate.inFlightBytes() >= bdp(BbrState.UP.pacingGain());
    isFull &= !queue.hasCompetitor() || !probe.isGrowing();
    boolean isYielding = queue.isStanding() && !queue.hasCompetitor();
    if (isOverflowing || isFull || isYielding || roundsInState > MAX_UP_ROUNDS) {
      beginCycle(nowUs);
    }
  }

  private void raiseInflightLongTerm() {
    double bytes = allowedBytes(1);
    double more = (double) segmentBytes * (1 << roundsInState);
    boolean isCompeting = queue.hasCompetitor();
    inflightLongTerm = bytes + (isCompeting ? Math.max(more, COMPETING_RAISE * bytes) : more);
  }

  private void endProbe(AckSample.Rate rate, long nowUs) {
    if (hasOverflowed()) {
      reduceInflightLongTerm(rate);
    }
    if (!rate.isApplicationLimited() && queue.isKnown()) {
      probe.endProbe(lastRoundRate, queue.isAboveHalf());
      if (probe.hasFoundRoom() && !loss.isExcessive()) {
        enter(BbrState.REFILL, nowUs);
      }
    }
  }

  private void probeRtt(AckSample sample, long nowUs) {
    int rttUs = sample.rttUs();
    if (!state.isOfCycle() || rttUs == AckSample.NO_RTT || !model.isMinRttExpired(nowUs)) {
      return;
    }
    model.restartMinRtt(rttUs, nowUs);
    if (!sample.rate().isApplicationLimited()) {
      probeRttEndsAtUs = nowUs + PROBE_RTT_US + Math.min(rttUs, MAX_PROBE_RTT_DRAIN_US);
      enter(BbrState.PROBE_RTT, nowUs);
    }
  }

  /**
   * BBRv3's extra_acked: what the window has in addition because acknowledgements come in lumps.
   * The path does not run dry meanwhile if a competing flow fills it.
   */
  private double extraAckedBytes() {
    return queue.hasCompetitor() ? 0 : model.extraAckedBytes();
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
      double share = state == BbrState.CRUISE && queue.hasCompetitor() ? HEADROOM_WINDOW : 1;
      bytes = Math.min(bytes + extraAckedBytes(), allowedBytes(share));
    }
    windowBytes = Math.max(bytes, MIN_PIPE_SEGMENTS * segmentBytes);
  }
}
