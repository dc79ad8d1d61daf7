package io.kcp4j.crypto;

import io.kcp4j.Unstable;
import java.security.SecureRandom;

/** Secret seeds of hash functions, so that peers cannot choose keys that collide. Thread-safe. */
@Unstable
public final class HashSeed {

  private static final SecureRandom RANDOM = new SecureRandom();

  private HashSeed() {}

  /** A new seed. */
  public static long next() {
    return RANDOM.nextLong();
  }
}
