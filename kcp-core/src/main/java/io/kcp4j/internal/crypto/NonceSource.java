package io.kcp4j.internal.crypto;

import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.function.LongSupplier;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;

/**
 * Nonce generation with a block cipher that encrypts a counter: AES, with a key and an initial
 * count from the random source of the system. Calling that source for each packet would cost as
 * much as the packet. Used by one thread; each instance has its own key, so that no two give equal
 * nonces.
 *
 * <p>It takes a new key after 2<sup>16</sup> nonces and, where {@link #expire} is called before
 * each batch, after 1 s of use. A copy of the process (a snapshot or clone of a virtual machine, a
 * CRaC checkpoint) repeats the nonces of the original only until then; protocol.md 10.5.
 */
final class NonceSource {

  /** Limits the use of one key, and the number of nonces that a copy of the process repeats. */
  static final int NONCES_PER_SEED = 1 << 16;

  /** The maximum age of a key, in milliseconds. */
  static final int MAX_AGE_MS = 1000;

  private static final int BLOCK_BYTES = 16;
  private static final int BATCH_BYTES = 128 * BLOCK_BYTES;

  private final SecureRandom system;
  private final LongSupplier clockMs;
  private final Cipher aes;
  private final byte[] zeros = new byte[BATCH_BYTES];
  private final byte[] batch = new byte[BATCH_BYTES];
  private int used = BATCH_BYTES;
  private int noncesLeft;
  private long seededAtMs;

  /** Whether {@link #system} keeps state, which a copy of the process shares. */
  private boolean reseedsSystem = true;

  /**
   * Makes a source.
   *
   * @param system the source of its keys
   */
  NonceSource(SecureRandom system) {
    // The time of day, since it jumps when a copy of the machine resumes and its clock is set. The
    // monotonic clock continues where it was.
    this(system, System::currentTimeMillis);
  }

  /**
   * Makes a source.
   *
   * @param clockMs the time, in milliseconds; it may jump either way
   */
  NonceSource(SecureRandom system, LongSupplier clockMs) {
    this.system = system;
    this.clockMs = clockMs;
    try {
      aes = Cipher.getInstance("AES/CTR/NoPadding");
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("AES is missing", e);
    }
  }

  /**
   * Reads the clock, and expires the key if it has been in use for a second, or if the clock has
   * gone back. To be called before each batch of nonces.
   */
  void expire() {
    long ageMs = clockMs.getAsLong() - seededAtMs;
    if (ageMs < 0 || ageMs >= MAX_AGE_MS) {
      noncesLeft = 0;
    }
  }

  /**
   * Writes {@code bytes} random bytes, at most 64.
   *
   * @throws IllegalStateException if the AES of the JVM fails; nothing has been written then
   */
  void next(byte[] to, int index, int bytes) {
    if (noncesLeft == 0 || used + bytes > BATCH_BYTES) {
      refill();
    }
    System.arraycopy(batch, used, to, index, bytes);
    used += bytes;
    noncesLeft--;
  }

  private void refill() {
    int left = noncesLeft;
    noncesLeft = 0; // A failure expires the key, since continuing might give the same bytes again.
    try {
      if (left == 0) {
        seed();
        left = NONCES_PER_SEED;
      }
      aes.update(zeros, 0, BATCH_BYTES, batch, 0);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("AES failed", e);
    }
    used = 0;
    noncesLeft = left;
  }

  private void seed() throws GeneralSecurityException {
    byte[] seed = new byte[2 * BLOCK_BYTES];
    reseedSystem();
    system.nextBytes(seed);
    KeyMaterial key = new KeyMaterial(Arrays.copyOf(seed, BLOCK_BYTES), "AES");
    try {
      aes.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(seed, BLOCK_BYTES, BLOCK_BYTES));
    } finally {
      key.destroy();
      Arrays.fill(seed, (byte) 0);
    }
    seededAtMs = clockMs.getAsLong();
  }

  /**
   * Sources that read that of the operating system each time cannot be reseeded, and need not be.
   */
  private void reseedSystem() {
    if (reseedsSystem) {
      try {
        system.reseed();
      } catch (UnsupportedOperationException e) {
        reseedsSystem = false;
      }
    }
  }
}
