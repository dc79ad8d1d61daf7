package io.kcp4j.congestion;

/**
 * When to probe for more bandwidth: after some rounds and some time, whose lengths vary so that
 * sessions do not probe at the same time again and again.
 */
final class ProbeCycle {

  /** A cycle takes at least so long and so many rounds, or up to half as much again. */
  private static final int MIN_US = 500_000;

  private static final int MIN_ROUNDS = 16;

  /** But no longer than this, whatever its rounds. */
  private static final int MAX_US = 3_000_000;

  private static final int RANDOM_BITS = 16;

  private long beginsAtUs;
  private int lengthUs;
  private int roundsLeft;
  private int random;

  void begin(long nowUs) {
    random = random * 1_664_525 + 1_013_904_223 + (int) nowUs; // of Numerical Recipes, and the time
    int share = random >>> (Integer.SIZE - RANDOM_BITS);
    lengthUs = MIN_US + (int) (((long) share * (MIN_US / 2)) >> RANDOM_BITS);
    roundsLeft = MIN_ROUNDS + ((share * (MIN_ROUNDS / 2)) >> RANDOM_BITS);
    beginsAtUs = nowUs;
  }

  void endRound() {
    roundsLeft--;
  }

  boolean isOver(long nowUs) {
    long sinceUs = nowUs - beginsAtUs;
    return (roundsLeft <= 0 && sinceUs >= lengthUs) || sinceUs >= MAX_US;
  }
}
