package io.kcp4j.session;

/**
 * The clients that have acknowledged the challenge of an {@link AddressValidation} within the last
 * 8 to 16 s, until they repeat their first datagram. A hash table of small buckets, in which a new
 * client replaces another one when its bucket is full: that is challenged again. With one place in
 * each bucket, two clients that keep the same time could replace each other again and again.
 */
final class AnsweredChallenges {

  private static final int SLOTS = 1 << 14;

  /** As many as two bits can tell apart. */
  private static final int SLOTS_OF_BUCKET = 4;

  private static final long PERIOD_US = 8_000_000;

  private final SessionKey.Hash keyHash = new SessionKey.Hash();

  /** The hash of a client, plus the number of the period of its answer. */
  private final long[] slots = new long[SLOTS];

  private long hash(SessionKey client) {
    return keyHash.of(keyHash.address(client.remote()), client.conv());
  }

  private static int bucket(long hash) {
    return (int) hash & SLOTS - SLOTS_OF_BUCKET;
  }

  private static long period(long nowUs) {
    return Math.floorDiv(nowUs, PERIOD_US);
  }

  /** The slot of a client, or -1. */
  private int find(long hash, long period) {
    int bucket = bucket(hash);
    for (int slot = bucket; slot < bucket + SLOTS_OF_BUCKET; slot++) {
      long periodsAgo = hash + period - slots[slot];
      if (periodsAgo == 0 || periodsAgo == 1) {
        return slot;
      }
    }
    return -1;
  }

  void add(SessionKey client, long nowUs) {
    long hash = hash(client);
    int slot = find(hash, period(nowUs));
    for (int i = bucket(hash); slot < 0 && i < bucket(hash) + SLOTS_OF_BUCKET; i++) {
      slot = slots[i] == 0 ? i : -1;
    }
    if (slot < 0) {
      slot = bucket(hash) + (int) (hash >>> (Long.SIZE - 2));
    }
    slots[slot] = hash + period(nowUs);
  }

  /** Removes a client; returns whether it was there. */
  boolean remove(SessionKey client, long nowUs) {
    int slot = find(hash(client), period(nowUs));
    if (slot < 0) {
      return false;
    }
    slots[slot] = 0;
    return true;
  }
}
