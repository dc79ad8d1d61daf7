package io.kcp4j.session;

/**
 * The clients that have acknowledged the challenge of a {@link PressureFilter} within the last 8 to
 * 16 s, until they repeat their first datagram. A hash table without chains, in which a new client
 * replaces another one: that is challenged again.
 */
final class AnsweredChallenges {

  private static final int SLOTS = 1 << 14;
  private static final long PERIOD_US = 8_000_000;

  private final KeyHash keyHash = new KeyHash();

  /** The hash of a client, plus the number of the period of its answer. */
  private final long[] slots = new long[SLOTS];

  private long hash(SessionKey client) {
    return keyHash.of(keyHash.address(client.remote()), client.conv());
  }

  private static int slot(long hash) {
    return (int) hash & SLOTS - 1;
  }

  private static long period(long nowUs) {
    return Math.floorDiv(nowUs, PERIOD_US);
  }

  void add(SessionKey client, long nowUs) {
    long hash = hash(client);
    slots[slot(hash)] = hash + period(nowUs);
  }

  /** Removes a client; returns whether it was there. */
  boolean remove(SessionKey client, long nowUs) {
    long hash = hash(client);
    int slot = slot(hash);
    long periodsAgo = hash + period(nowUs) - slots[slot];
    if (periodsAgo != 0 && periodsAgo != 1) {
      return false;
    }
    slots[slot] = 0;
    return true;
  }
}
