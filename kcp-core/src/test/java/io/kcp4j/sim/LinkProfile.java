package io.kcp4j.sim;

import java.util.SplittableRandom;

/**
 * What one direction of a network does to datagrams. Probabilities are per datagram.
 *
 * @param delayMs how long a datagram travels at least
 * @param jitterMs how much longer it may travel; jitter alone does not change the order
 * @param loss the probability of a random loss
 * @param burstBegin the probability that a burst of losses begins (Gilbert-Elliott)
 * @param burstEnd the probability that it ends; while it lasts nine of ten are lost
 * @param duplication the probability that a copy follows; copies may be copied again
 * @param reordering the probability of a delay so that later datagrams are received first
 * @param heldBackMs the longest such delay
 * @param corruption the probability that bits flip
 * @param truncation the probability that the end is cut off
 * @param padding the probability that bytes are appended, fewer than a header has
 * @param bytesPerSecond the rate limit, or 0
 * @param queueBytes how much may wait for the rate limit before datagrams are dropped
 */
public record LinkProfile(
    int delayMs,
    int jitterMs,
    double loss,
    double burstBegin,
    double burstEnd,
    double duplication,
    double reordering,
    int heldBackMs,
    double corruption,
    double truncation,
    double padding,
    int bytesPerSecond,
    int queueBytes) {

  /** A network that only delays. */
  public static LinkProfile clean(int delayMs) {
    return new LinkProfile(delayMs, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  }

  /** A network that reorders one datagram in {@code 1 / reordering}. */
  public static LinkProfile reordering(int delayMs, double reordering, int heldBackMs) {
    return new LinkProfile(delayMs, 0, 0, 0, 1, 0, reordering, heldBackMs, 0, 0, 0, 0, 0);
  }

  /**
   * Draws a network. Each fault is there or not, from rare to heavy; one network in ten is clean.
   *
   * @param windowBytes what the sender may have in flight; a rate limit lets it pass in 4 s
   */
  static LinkProfile draw(SplittableRandom random, long windowBytes) {
    int delayMs = (int) logUniform(random, 1, 250);
    if (random.nextInt(10) == 0) {
      return clean(delayMs);
    }
    double burstBegin = sometimes(random, 0.001, 0.01);
    int rate = 0;
    int queueBytes = 0;
    if (random.nextInt(4) == 0) {
      double slowest = Math.max(10_000, windowBytes / 4.0);
      rate = (int) logUniform(random, slowest, 20 * slowest);
      queueBytes = (int) logUniform(random, 5_000, 300_000);
    }
    return new LinkProfile(
        delayMs,
        random.nextBoolean() ? 0 : (int) logUniform(random, 1, 100),
        sometimes(random, 0.002, 0.3),
        burstBegin,
        logUniform(random, 0.05, 0.5),
        sometimes(random, 0.005, 0.2),
        sometimes(random, 0.005, 0.3),
        (int) logUniform(random, 2, 200),
        sometimes(random, 0.005, 0.1),
        sometimes(random, 0.005, 0.1),
        sometimes(random, 0.005, 0.1),
        rate,
        queueBytes);
  }

  /** The same path with every fault gone. */
  LinkProfile healed() {
    return new LinkProfile(delayMs, jitterMs, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  }

  /** How often the fault is to be expected, per datagram; 0 for those that cannot be foreseen. */
  double rate(Fault fault) {
    return switch (fault) {
      case LOST -> loss;
      case DUPLICATED -> duplication;
      case CORRUPTED -> corruption;
      case TRUNCATED -> truncation;
      case PADDED -> padding;
      default -> 0;
    };
  }

  private static double sometimes(SplittableRandom random, double min, double max) {
    return random.nextInt(5) < 2 ? logUniform(random, min, max) : 0;
  }

  static double logUniform(SplittableRandom random, double min, double max) {
    return min * Math.pow(max / min, random.nextDouble());
  }
}
