package io.kcp4j.crypto;

import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.function.LongSupplier;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;

/**
 * Nonces, from a block cipher that encrypts a counter: AES under a key and from a first count that
 * the system's random source gives. Asking the system for each packet would cost as much as the
 * packet. Used by one thread; each has its own keys, so that no two give the same.
 *
 * <p>The system is asked anew after 2<sup>16</sup> nonces and, where {@link #expire} is called
 * before each batch, after 1 s of use. A copy of the process (a virtual machine's snapshot or
 * clone, a CRaC checkpoint) gives the same nonces as the original only until then: protocol.md
 * 10.5.
 */
final class NonceSource {

  /** What one key is used for stays small, and so does what a copy of the process repeats. */
  static final int NONCES_PER_SEED = 1 << 16;

  /** The same in time, in milliseconds. */
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

  /** Whether {@link #system} keeps a state of its own, which a copy of the process has, too. */
  private boolean reseedsSystem = true;

  /**
   * Makes a source.
   *
   * @param system where its keys come from
   */
  NonceSource(SecureRandom system) {
    // The time of day, since it jumps when a copy of the machine wakes up and its clock is set. The
    // monotonic clock goes on where it was.
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
   * Reads the clock, and has the next nonce come from a new key if this one has been in use for a
   * second, or if the clock has gone back. To be called before each batch of nonces.
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
   * @throws IllegalStateException if the JVM's AES fails; then nothing has been written
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
    noncesLeft = 0; // What fails half-way is not gone on with: it might give the same bytes again.
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
    ShortLivedKey key = new ShortLivedKey(seed, 0, BLOCK_BYTES, "AES");
    try {
      aes.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(seed, BLOCK_BYTES, BLOCK_BYTES));
    } finally {
      key.destroy();
      Arrays.fill(seed, (byte) 0);
    }
    seededAtMs = clockMs.getAsLong();
  }

  /** Those that read the operating system's random source each time cannot, and need not. */
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
