package io.kcp4j.lab;

import java.util.SplittableRandom;

/** See {@link LossModel#gilbert}. */
final class GilbertLoss implements LossModel {

  private final double goodUs;
  private final double badUs;
  private final SplittableRandom random;
  private boolean isBad;
  private double periodEndsAtUs;

  GilbertLoss(double loss, double burstUs, SplittableRandom random) {
    goodUs = burstUs * (1 - loss) / loss;
    badUs = burstUs;
    this.random = random;
    isBad = random.nextDouble() < loss;
    periodEndsAtUs = drawPeriodUs();
  }

  @Override
  public boolean loses(long nowUs) {
    while (nowUs >= periodEndsAtUs) {
      isBad = !isBad;
      periodEndsAtUs += drawPeriodUs();
    }
    return isBad;
  }

  private double drawPeriodUs() {
    return -Math.log(1 - random.nextDouble()) * (isBad ? badUs : goodUs);
  }
}
