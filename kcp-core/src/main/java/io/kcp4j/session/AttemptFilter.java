package io.kcp4j.session;

import java.util.Arrays;

/**
 * Tells first attempts to begin a session from repeated ones, without an entry for each: a Bloom
 * filter of two generations, of which the older one is cleared from time to time. A client repeats
 * its first datagram within a second; a forged address is seldom used twice.
 *
 * <p>By its size, one first attempt in 7,000 is taken for a repeated one at 100,000 a second.
 */
final class AttemptFilter {

  /** A generation takes 1 MiB. */
  private static final int BITS = 1 << 23;

  private static final int HASHES = 4;
  private static final int GENERATION_US = 2_000_000;

  private final SessionKey.Hash keyHash = new SessionKey.Hash();

  private long[] current = new long[BITS / Long.SIZE];
  private long[] previous = new long[BITS / Long.SIZE];
  private long startedAtUs;

  AttemptFilter(long nowUs) {
    startedAtUs = nowUs;
  }

  /**
   * Whether an attempt of this key was added within the last two to four seconds; adds this one.
   */
  boolean addAndTest(SessionKey key, long nowUs) {
    rotate(nowUs);
    long hash = keyHash.of(keyHash.address(key.remote()), key.conv());
    int step = (int) (hash >>> 32) | 1;
    boolean isInCurrent = true;
    boolean isInPrevious = true;
    int bit = (int) hash;
    for (int i = 0; i < HASHES; i++, bit += step) {
      int word = (bit & BITS - 1) >> 6;
      long mask = 1L << bit;
      isInCurrent &= (current[word] & mask) != 0;
      isInPrevious &= (previous[word] & mask) != 0;
      current[word] |= mask;
    }
    return isInCurrent || isInPrevious;
  }

  private void rotate(long nowUs) {
    for (int i = 0; i < 2 && nowUs - startedAtUs >= GENERATION_US; i++) {
      long[] cleared = previous;
      Arrays.fill(cleared, 0);
      previous = current;
      current = cleared;
      startedAtUs = i == 0 ? startedAtUs + GENERATION_US : nowUs;
    }
  }
}
