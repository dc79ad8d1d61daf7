package io.kcp4j.lab;

import java.util.SplittableRandom;

/**
 * One direction of a path.
 *
 * @param delayUs how long a datagram travels at least
 * @param jitterUs how much longer it may travel: each datagram draws from 0 to this
 * @param loss the share of datagrams that are lost
 * @param burstUs the mean length of bursts of loss, or 0 for independent losses
 * @param bitsPerSecond the rate limit, or 0 for none; headers of UDP and IPv4 count
 * @param queueBytes how much may wait for the rate limit, the datagram that is leaving included
 * @param stepAtUs when the loss changes to {@code stepLoss}, or {@link #NO_STEP}
 */
record LinkSettings(
    int delayUs,
    int jitterUs,
    double loss,
    double burstUs,
    long bitsPerSecond,
    int queueBytes,
    long stepAtUs,
    double stepLoss) {

  static final long NO_STEP = Long.MAX_VALUE;

  /** A link that only delays. */
  static LinkSettings delay(int delayUs) {
    return new LinkSettings(delayUs, 0, 0, 0, 0, 0, NO_STEP, 0);
  }

  LinkSettings withJitter(int jitterUs) {
    return new LinkSettings(
        delayUs, jitterUs, loss, burstUs, bitsPerSecond, queueBytes, stepAtUs, stepLoss);
  }

  LinkSettings withLoss(double loss, double burstUs) {
    return new LinkSettings(
        delayUs, jitterUs, loss, burstUs, bitsPerSecond, queueBytes, stepAtUs, stepLoss);
  }

  LinkSettings withRate(long bitsPerSecond, int queueBytes) {
    return new LinkSettings(
        delayUs, jitterUs, loss, burstUs, bitsPerSecond, queueBytes, stepAtUs, stepLoss);
  }

  LinkSettings withStep(long stepAtUs, double stepLoss) {
    return new LinkSettings(
        delayUs, jitterUs, loss, burstUs, bitsPerSecond, queueBytes, stepAtUs, stepLoss);
  }

  /** The loss model of a link. */
  LossModel lossModel(SplittableRandom random) {
    LossModel model = LossModel.of(loss, burstUs, random.split());
    return stepAtUs == NO_STEP
        ? model
        : LossModel.step(model, stepAtUs, LossModel.of(stepLoss, burstUs, random.split()));
  }
}
