package io.kcp4j.congestion;

/**
 * When to probe for more bandwidth: after some rounds and some time, whose lengths vary so that
 * sessions do not probe at the same time again and again.
 */
final class ProbeCycle {

  /** A cycle takes at least so long and so many rounds, or up to half as much again. */
  private static final int MIN_US = 500_000;

  private static final int MIN_ROUNDS = 16;

  /** Where others share the path. BBRv3's cycles take two to three seconds. */
  private static final int SHARED_US = 1_600_000;

  /** After this the next probe begins, whatever the rounds. */
  private static final int MAX_US = 3_000_000;

  private static final int RANDOM_BITS = 16;

  private long beginsAtUs;
  private int roundsLeft;
  private int random;

  /** Which part of the variation this cycle takes, in units of 2^-RANDOM_BITS. */
  private int share;

  void begin(long nowUs) {
    random = random * 1_664_525 + 1_013_904_223 + (int) nowUs; // of Numerical Recipes, and the time
    share = random >>> (Integer.SIZE - RANDOM_BITS);
    roundsLeft = varied(MIN_ROUNDS);
    beginsAtUs = nowUs;
  }

  private int varied(int least) {
    return least + (int) (((long) share * (least / 2)) >> RANDOM_BITS);
  }

  void endRound() {
    roundsLeft--;
  }

  boolean isOver(long nowUs, boolean isPathShared) {
    long sinceUs = nowUs - beginsAtUs;
    int lengthUs = varied(isPathShared ? SHARED_US : MIN_US);
    return (roundsLeft <= 0 && sinceUs >= lengthUs) || sinceUs >= MAX_US;
  }
}
