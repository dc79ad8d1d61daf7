package io.kcp4j.internal.fec;

import io.kcp4j.fec.FecConfig;

/**
 * The number of parity packets of a session's groups; protocol.md 11.16 and 11.17.
 *
 * <p>With adaptive settings, as few as keep residual losses rare: those that FEC has not prevented
 * and the ARQ had to retransmit. The sender knows no others, since a peer acknowledges what it has
 * recovered like what has arrived. Therefore the control is that of outer-loop link adaptation in
 * mobile networks: each residual loss raises a level by one, and each group lowers it a little. A
 * loss delays its own group and those that are sent until it is repaired, a round trip later. In
 * equilibrium, a share of {@value #DELAYED_SHARE} of all groups is delayed. Parity is the level
 * rounded up. Nothing says when losses have ended, so parity is left out when one packet has been
 * enough for a minute, or for longer where losses came soon after such an attempt.
 *
 * <p>Training: peers detect the ratio from whole groups, so there are runs of three of them, at the
 * start, then often, then every half a minute. kcp-go needs nine packets in a row of a run.
 */
public final class ParityPolicy {

  private static final double DELAYED_SHARE = 0.0007;

  /** So that one loss is enough for a second parity packet. */
  private static final double MIN_LEVEL = 0.5;

  /** Weight 1/16 for the newest interval between groups, as in a moving average over 16. */
  private static final int INTERVAL_GAIN = 16;

  private static final long MAX_INTERVAL_US = 1_000_000;

  private static final long QUIET_US = 60_000_000;

  private static final long MAX_QUIET_US = 16 * QUIET_US;

  /** By then an acknowledgement has shown which retransmissions were spurious. */
  private static final long SPURIOUS_WITHIN_US = 1_000_000;

  private static final int TRAINING_GROUPS = 3;

  /** The groups from the beginning of a run to that of the next, while the session is young. */
  private static final int YOUNG_TRAINING_PERIOD = 60;

  private static final long YOUNG_US = 10_000_000;

  private static final long TRAINING_INTERVAL_US = 30_000_000;

  private final FecConfig config;

  /** Copies need no training. */
  private final boolean isTrained;

  /** Without the unconfirmed losses. */
  private double level = 1;

  private boolean hasBegun;
  private long begunAtUs;

  /** The mean time from one group to the next, and when the last one was sent. */
  private long groupIntervalUs = MAX_INTERVAL_US;

  private long groupAtUs;

  /** Groups get no parity after this time in which one parity packet was enough. */
  private long quietUs = QUIET_US;

  private long lostAtUs;

  /** The last time at which the level was above 1. */
  private long highAtUs;

  /** Recent losses that may turn out to be spurious, and the state before them. */
  private long unconfirmed;

  private long confirmedLostAtUs;
  private long confirmedQuietUs = QUIET_US;

  /** The groups that are left of a run. */
  private int trainingLeft = TRAINING_GROUPS;

  private int groupsSinceTraining;
  private long trainedAtUs;

  /**
   * Makes the policy of a session.
   *
   * @param config one that encodes; the parity of one that is not adaptive is constant
   */
  public ParityPolicy(FecConfig config) {
    this.config = config;
    isTrained = config.isAdaptive() && config.delayedCopyMs() == 0;
  }

  /**
   * Segments count as lost, and are retransmitted.
   *
   * @param segments how many since the last call
   * @param nowUs the time, in microseconds
   */
  public void onLost(long segments, long nowUs) {
    begin(nowUs);
    confirm(nowUs);
    if (unconfirmed == 0) {
      confirmedLostAtUs = lostAtUs;
      confirmedQuietUs = quietUs;
    }
    if (isQuiet(nowUs)) {
      long withoutParityUs = nowUs - quietSinceUs() - quietUs;
      quietUs = withoutParityUs < QUIET_US ? Math.min(2 * quietUs, MAX_QUIET_US) : QUIET_US;
    }
    unconfirmed += segments;
    lostAtUs = nowUs;
  }

  /** Counts the losses that were not spurious. */
  private void confirm(long nowUs) {
    if (unconfirmed > 0 && nowUs - lostAtUs > SPURIOUS_WITHIN_US) {
      level = level();
      unconfirmed = 0;
    }
  }

  private double level() {
    return Math.min(level + unconfirmed, config.maxParity());
  }

  /**
   * Segments that counted as lost had arrived.
   *
   * @param segments how many since the last call
   */
  public void onSpurious(long segments) {
    if (unconfirmed == 0) {
      return;
    }
    unconfirmed = Math.max(unconfirmed - segments, 0);
    if (unconfirmed == 0) {
      lostAtUs = confirmedLostAtUs;
      quietUs = confirmedQuietUs;
    }
  }

  /**
   * The number of parity packets of a group that begins now. 0: nothing is to be protected.
   *
   * @param nowUs the time, in microseconds
   */
  public int parity(long nowUs) {
    if (!config.isAdaptive()) {
      return config.parityShards();
    }
    begin(nowUs);
    confirm(nowUs);
    if (trainingLeft == 0 && isTrainingDue(nowUs)) {
      trainingLeft = TRAINING_GROUPS;
      groupsSinceTraining = 0;
      trainedAtUs = nowUs;
    }
    if (isTraining()) {
      return config.parityShards();
    }
    return isQuiet(nowUs) ? 0 : (int) Math.ceil(level());
  }

  /** Whether the group of the last {@link #parity} is part of a run, and has to be a whole one. */
  public boolean isTraining() {
    return isTrained && trainingLeft > 0;
  }

  private boolean isTrainingDue(long nowUs) {
    return nowUs - begunAtUs < YOUNG_US
        ? groupsSinceTraining >= YOUNG_TRAINING_PERIOD
        : nowUs - trainedAtUs >= TRAINING_INTERVAL_US;
  }

  /**
   * A group, or copies in place of one, has been sent with the parity of {@link #parity}.
   *
   * @param srttUs the smoothed round-trip time, in microseconds
   * @param nowUs the time, in microseconds
   */
  public void onGroup(int srttUs, long nowUs) {
    long intervalUs = Math.min(nowUs - groupAtUs, MAX_INTERVAL_US);
    groupIntervalUs += (intervalUs - groupIntervalUs) / INTERVAL_GAIN;
    groupAtUs = nowUs;
    double delayedByLoss = 1 + (double) srttUs / Math.max(groupIntervalUs, 1);
    level = Math.max(level - DELAYED_SHARE / delayedByLoss, MIN_LEVEL);
    if (level > 1) {
      highAtUs = nowUs;
    }
    trainingLeft = Math.max(trainingLeft - 1, 0);
    groupsSinceTraining++;
  }

  private boolean isQuiet(long nowUs) {
    return nowUs - quietSinceUs() >= quietUs;
  }

  private long quietSinceUs() {
    return Math.max(lostAtUs, highAtUs);
  }

  private void begin(long nowUs) {
    if (!hasBegun) {
      hasBegun = true;
      begunAtUs = nowUs;
      trainedAtUs = nowUs;
      lostAtUs = nowUs;
      highAtUs = nowUs;
    }
  }
}
