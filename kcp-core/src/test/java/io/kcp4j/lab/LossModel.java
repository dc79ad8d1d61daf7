package io.kcp4j.lab;

import java.util.SplittableRandom;

/** Which datagrams a link loses. Asked once for each datagram, with times that never decrease. */
interface LossModel {

  /** Loses nothing. */
  LossModel NONE = nowUs -> false;

  /** Whether the datagram that leaves now is lost. */
  boolean loses(long nowUs);

  /** Loses each datagram with the same probability, independently of all others. */
  static LossModel independent(double loss, SplittableRandom random) {
    return nowUs -> random.nextDouble() < loss;
  }

  /**
   * Loses in bursts: a Gilbert model in continuous time. Good and bad periods alternate, their
   * lengths are exponentially distributed, and everything that leaves in a bad period is lost.
   *
   * @param loss the share of time in bad periods
   * @param burstUs the mean length of a bad period, in microseconds
   */
  static LossModel gilbert(double loss, double burstUs, SplittableRandom random) {
    return new GilbertLoss(loss, burstUs, random);
  }

  /** The model of the given mean loss: independent if {@code burstUs} is 0, else in bursts. */
  static LossModel of(double loss, double burstUs, SplittableRandom random) {
    if (loss == 0) {
      return NONE;
    }
    return burstUs == 0 ? independent(loss, random) : gilbert(loss, burstUs, random);
  }

  /** What another model loses, and all that leaves between two times. */
  static LossModel blackout(LossModel model, long fromUs, long toUs) {
    return nowUs -> model.loses(nowUs) || (nowUs >= fromUs && nowUs < toUs);
  }

  /** The first model until a given time, and then the second. */
  static LossModel step(LossModel before, long atUs, LossModel after) {
    return nowUs -> (nowUs < atUs ? before : after).loses(nowUs);
  }
}
