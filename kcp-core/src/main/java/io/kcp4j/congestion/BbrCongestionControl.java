package io.kcp4j.congestion;

final class BbrCongestionControl implements CongestionControl {

  /** The states of BBRv3. */
  enum State {
    STARTUP,
    DRAIN,
    DOWN,
    CRUISE,
    REFILL,
    UP,
    PROBE_RTT
  }

  static double parameter(String name, double preset) {
    return Double.parseDouble(System.getProperty("bbr." + name, Double.toString(preset)));
  }

  private static final int HEADER_BYTES = 24;
  private static final int INITIAL_SEGMENTS = 32;
  private static final int INITIAL_RTT_US = 50_000;
  private static final int MIN_SEGMENTS = 4;
  private static final double US_PER_S = 1e6;

  private static final double STARTUP_PACING = 2.77;
  private static final double STARTUP_WINDOW = 2;
  private static final double DRAIN_PACING = 0.5;
  private static final double DOWN_PACING = parameter("down", 0.75);
  private static final double UP_PACING = parameter("up", 1.25);
  private static final double WINDOW = parameter("window", 1.5);
  private static final double FOREIGN_WINDOW = parameter("foreignWindow", 0.5);
  private static final double FOREIGN_DOWN = parameter("foreignDown", 0.9);
  private static final double UP_WINDOW = parameter("upWindow", 0.25);
  private static final double MARGIN = parameter("margin", 0.99);
  private static final double PROBE_RTT_WINDOW = 0.5;
  private static final long PROBE_RTT_US = 200_000;
  private static final long PROBE_RTT_INTERVAL_US = 5_000_000;
  private static final int FULL_ROUNDS = 3;
  private static final double FULL_GROWTH = 1.25;
  private static final double BETA = 0.85;
  private static final double BOUND = parameter("bound", 0.7);
  private static final int MAX_DRAINS = (int) parameter("drains", 3);
  private static final int CRUISE_ROUNDS = (int) parameter("cruise", 16);
  private static final long MIN_CRUISE_US = (long) parameter("cruiseUs", 500_000);
  private static final int QUEUE_ROUNDS = (int) parameter("fullQueueRounds", 2);
  private static final boolean DEBUG = Boolean.getBoolean("bbr.debug");

  private final DeliveryRateSampler sampler = new DeliveryRateSampler();
  private final MaxBandwidth bandwidth = new MaxBandwidth();
  private final AckAggregation aggregation = new AckAggregation();
  private final StandingQueue queue = new StandingQueue();
  private final RoundLoss loss = new RoundLoss();

  private int segmentBytes;
  private State state = State.STARTUP;
  private double pacingGain = STARTUP_PACING;
  private double windowGain = STARTUP_WINDOW;
  private double windowBytes;
  private double highBytes = Double.POSITIVE_INFINITY;
  private long rounds;
  private long stateAtUs;
  private long stateRound;
  private long cruiseUs;
  private long cycleAtUs;
  private int cruiseRounds;
  private double fullBandwidth;
  private int fullRounds;
  private int queueRounds;
  private double roundRate;
  private double lastRoundRate;
  private int drainsInVain;
  private boolean isDrained;
  private long probeRttEndsAtUs;
  private int timeouts;
  private int seed = 12345;
  private int upRounds;

  BbrCongestionControl(int mssBytes) {
    segmentBytes = mssBytes + HEADER_BYTES;
    windowBytes = INITIAL_SEGMENTS * segmentBytes;
  }

  @Override
  public int window() {
    int room = (int) Math.max(windowBytes - sampler.inFlightBytes(), 0) / segmentBytes;
    return Math.max(inFlightSegments() + room, 1);
  }

  private int inFlightSegments() {
    return sampler.inFlightSegments();
  }

  @Override
  public boolean isWindowSelective() {
    return true;
  }

  @Override
  public long pacingBytesPerSecond() {
    double rate = bandwidth.bytesPerSecond();
    if (rate == 0) {
      rate = INITIAL_SEGMENTS * segmentBytes * US_PER_S / INITIAL_RTT_US;
    }
    double gain = state == State.DOWN && isForeign() ? FOREIGN_DOWN : pacingGain;
    double paced = rate * gain * MARGIN * sampler.wireRatio();
    int backOff = Math.min(Math.max(timeouts - 1, 0), 6);
    return Math.max((long) (paced / (1 << backOff)), segmentBytes);
  }

  @Override
  public void onSegmentSent(int sn, int bytes, int transmissions, long nowUs) {
    sampler.sent(sn, bytes, nowUs);
  }

  @Override
  public void onSegmentAcknowledged(int sn, DeliveredTransmission delivered, long nowUs) {
    sampler.acknowledged(sn, delivered, queue.minRttUs(), nowUs);
  }

  @Override
  public void onSegmentLost(int sn, long nowUs) {
    sampler.lost(sn);
  }

  @Override
  public void onApplicationLimited() {
    sampler.applicationLimited();
  }

  @Override
  public void onLoss(LossSample sample) {
    if (sample.lostByTimeout() > 0) {
      timeouts++;
    }
  }

  @Override
  public void onMssChanged(int mssBytes) {
    segmentBytes = mssBytes + HEADER_BYTES;
  }

  @Override
  public void onAck(AckSample sample) {
    long nowUs = sample.nowUs();
    boolean wasTimeout = timeouts > 0;
    timeouts = 0;
    sampler.endAck(queue.minRttUs() / 2, sample.sentBytes());
    if (sample.rttUs() >= 0) {
      queue.sample(sample.rttUs(), nowUs);
    }
    double rate = sampler.bytesPerSecond();
    if (rate > 0 && (!sampler.isApplicationLimited() || rate > bandwidth.max())) {
      bandwidth.sample(rate);
    }
    roundRate = Math.max(roundRate, rate);
    if (!queue.isKnown() || bandwidth.max() == 0) {
      return;
    }
    if (state != State.STARTUP) {
      aggregation.acknowledged(
          sampler.acknowledgedBytes(),
          bandwidth.bytesPerSecond(),
          bdp(1) + 64 * segmentBytes,
          nowUs);
    }
    boolean congested = false;
    if (sampler.isRoundStart()) {
      rounds++;
      queue.endRound(nowUs);
      loss.endRound(sampler.lost(), sampler.delivered(), segmentBytes);
      aggregation.beginRound();
      congested = queue.isStanding() && loss.isExcessive() || loss.isHeavy();
      if (queue.isJudged() && !queue.isStanding() && !wasTimeout && (state == State.CRUISE || state == State.STARTUP)) {
        loss.learn();
      }
      lastRoundRate = roundRate;
      roundRate = 0;
    }
    advance(sampler.isRoundStart(), congested, nowUs);
    checkProbeRtt(sample, nowUs);
    updateWindow();
    if (DEBUG && sampler.isRoundStart()) {
      System.err.printf(
          "%.3f %s bw %.2f max %.2f round %.2f rtt+%.1f min %.1f inflight %d cwnd %d hi %.0f extra %.0f base %.3f vain %d wire %.3f%n",
          nowUs / 1e6,
          state,
          bandwidth.bytesPerSecond() * 8e-6,
          bandwidth.max() * 8e-6,
          lastRoundRate * 8e-6,
          queue.queueUs() / 1e3,
          queue.minRttUs() / 1e3,
          sampler.inFlightBytes() / segmentBytes,
          (int) windowBytes / segmentBytes,
          highBytes / segmentBytes,
          aggregation.bytes() / segmentBytes,
          loss.base(),
          drainsInVain,
          sampler.wireRatio());
    }
  }

  private boolean isForeign() {
    return drainsInVain >= MAX_DRAINS;
  }

  private double bdp(double gain) {
    return gain * bandwidth.bytesPerSecond() * queue.minRttUs() / US_PER_S;
  }

  private void enter(State next, long nowUs) {
    state = next;
    stateAtUs = nowUs;
    stateRound = rounds;
    switch (next) {
      case STARTUP -> {
        pacingGain = STARTUP_PACING;
        windowGain = STARTUP_WINDOW;
      }
      case DRAIN -> {
        pacingGain = DRAIN_PACING;
        windowGain = STARTUP_WINDOW;
      }
      case DOWN -> {
        pacingGain = DOWN_PACING;
        windowGain = WINDOW;
      }
      case CRUISE -> {
        pacingGain = 1;
        windowGain = WINDOW;
        isDrained = false;
      }
      case REFILL -> {
        pacingGain = 1;
        windowGain = WINDOW;
        bandwidth.unbound();
      }
      case UP -> {
        pacingGain = UP_PACING;
        windowGain = WINDOW + UP_WINDOW;
        bandwidth.beginCycle();
        upRounds = 0;
      }
      case PROBE_RTT -> {
        pacingGain = 1;
        windowGain = PROBE_RTT_WINDOW;
      }
    }
  }

  private int random(int bound) {
    seed = seed * 1664525 + 1013904223;
    return (seed >>> 16) % bound;
  }

  private void beginCycle(long nowUs) {
    cruiseRounds = CRUISE_ROUNDS + random(CRUISE_ROUNDS / 2 + 1);
    cruiseUs = MIN_CRUISE_US + random((int) (MIN_CRUISE_US / 2000) + 1) * 1000L;
    cycleAtUs = nowUs;
    enter(State.DOWN, nowUs);
  }

  private void advance(boolean isRoundStart, boolean congested, long nowUs) {
    switch (state) {
      case STARTUP -> startup(isRoundStart, congested, nowUs);
      case DRAIN -> {
        if (sampler.inFlightBytes() <= bdp(1) || rounds - stateRound > 4) {
          beginCycle(nowUs);
        }
      }
      case DOWN -> {
        boolean isEmpty = sampler.inFlightBytes() <= Math.min(bdp(1), BETA * highBytes);
        if (isEmpty && rounds > stateRound || nowUs - stateAtUs > 4L * queue.minRttUs()) {
          enter(State.CRUISE, nowUs);
        }
      }
      case CRUISE -> {
        if (isRoundStart) {
          cruise(congested, nowUs);
        }
      }
      case REFILL -> {
        if (rounds > stateRound) {
          enter(State.UP, nowUs);
        }
      }
      case UP -> {
        if (isRoundStart) {
          up(congested, nowUs);
        }
      }
      case PROBE_RTT -> {
        if (nowUs >= probeRttEndsAtUs) {
          beginCycle(nowUs);
        }
      }
    }
  }

  private void startup(boolean isRoundStart, boolean congested, long nowUs) {
    if (!isRoundStart || sampler.isApplicationLimited()) {
      return;
    }
    if (bandwidth.max() >= fullBandwidth * FULL_GROWTH) {
      fullBandwidth = bandwidth.max();
      fullRounds = 0;
    } else {
      fullRounds++;
    }
    queueRounds = queue.isStanding() ? queueRounds + 1 : 0;
    if (fullRounds >= FULL_ROUNDS || queueRounds >= QUEUE_ROUNDS || congested) {
      if (congested) {
        highBytes = Math.max(bdp(1), sampler.sentInFlightBytes() * BETA);
      }
      aggregation.restart();
      enter(State.DRAIN, nowUs);
    }
  }

  private void cruise(boolean congested, long nowUs) {
    if (congested) {
      bandwidth.scale(0.9);
      highBytes = Math.min(highBytes, Math.max(0.7 * highBytes, bdp(1.25)));
    }
    if (rounds > stateRound + 1) {
      if (!queue.isStanding()) {
        if (queue.isJudged()) {
          drainsInVain = 0;
        }
      } else if (drainsInVain < MAX_DRAINS) {
        drainsInVain++;
        bandwidth.bound(Math.max(lastRoundRate, BOUND * bandwidth.bytesPerSecond()));
        enter(State.DOWN, nowUs);
        return;
      }
    }
    cruiseRounds--;
    if (cruiseRounds <= 0 && nowUs - cycleAtUs >= cruiseUs) {
      enter(State.REFILL, nowUs);
    }
  }

  private void up(boolean congested, long nowUs) {
    upRounds++;
    boolean isBound = highBytes < bdp(windowGain) + aggregation.bytes();
    if (congested) {
      highBytes = Math.max(sampler.sentInFlightBytes() * BETA, bdp(1));
      beginCycle(nowUs);
    } else if (queue.isStanding() && rounds > stateRound || rounds - stateRound > 8) {
      beginCycle(nowUs);
    } else if (isBound) {
      highBytes += segmentBytes * (double) (1 << Math.min(upRounds, 8));
    } else if (rounds > stateRound && sampler.inFlightBytes() >= bdp(1.25)) {
      beginCycle(nowUs);
    }
  }

  private void checkProbeRtt(AckSample sample, long nowUs) {
    boolean isBusy = state.ordinal() >= State.DOWN.ordinal() && state != State.PROBE_RTT;
    if (isBusy && queue.ageUs(nowUs) > PROBE_RTT_INTERVAL_US) {
      queue.forget(sample.rttUs() > 0 ? sample.rttUs() : StandingQueue.UNKNOWN, nowUs);
      probeRttEndsAtUs = nowUs + PROBE_RTT_US + queue.minRttUs();
      enter(State.PROBE_RTT, nowUs);
    }
  }

  private void updateWindow() {
    double window = bdp(isForeign() && state != State.PROBE_RTT ? windowGain + FOREIGN_WINDOW : windowGain);
    if (state != State.PROBE_RTT) {
      window += aggregation.bytes();
      window = Math.min(window, highBytes);
    }
    if (state == State.STARTUP) {
      double grown = windowBytes + sampler.acknowledgedBytes();
      double limit =
          Math.max(bdp(2) + 3.0 * INITIAL_SEGMENTS * segmentBytes, INITIAL_SEGMENTS * segmentBytes);
      window = Math.min(Math.max(window, grown), limit);
    }
    windowBytes = Math.max(window, MIN_SEGMENTS * segmentBytes);
  }
}
