package io.kcp4j.crypto;

import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Nonces, from a block cipher that encrypts a counter: AES under a key and from a first count that
 * the system's random source gives, and gives anew after 2<sup>24</sup> blocks. Asking the system
 * for each packet would cost as much as the packet. Used by one thread; each has its own keys, so
 * that no two give the same.
 */
public final class NonceSource {

  /** As kcp-go: what one key is used for stays small. */
  static final int BLOCKS_PER_SEED = 1 << 24;

  private static final int BLOCK_BYTES = 16;
  private static final int BATCH_BYTES = 128 * BLOCK_BYTES;

  private final SecureRandom system;
  private final Cipher aes;
  private final byte[] zeros = new byte[BATCH_BYTES];
  private final byte[] batch = new byte[BATCH_BYTES];
  private int used = BATCH_BYTES;
  private int blocksLeft;

  /**
   * Makes a source.
   *
   * @param system where its keys come from
   */
  public NonceSource(SecureRandom system) {
    this.system = system;
    try {
      aes = Cipher.getInstance("AES/CTR/NoPadding");
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("AES is missing", e);
    }
  }

  /** Writes {@code bytes} random bytes, at most 64. */
  public void next(byte[] to, int index, int bytes) {
    if (used + bytes > BATCH_BYTES) {
      refill();
    }
    System.arraycopy(batch, used, to, index, bytes);
    used += bytes;
  }

  private void refill() {
    try {
      if (blocksLeft == 0) {
        seed();
      }
      aes.update(zeros, 0, BATCH_BYTES, batch, 0);
      blocksLeft -= BATCH_BYTES / BLOCK_BYTES;
      used = 0;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("AES failed", e);
    }
  }

  private void seed() throws GeneralSecurityException {
    byte[] seed = new byte[2 * BLOCK_BYTES];
    system.nextBytes(seed);
    aes.init(
        Cipher.ENCRYPT_MODE,
        new SecretKeySpec(seed, 0, BLOCK_BYTES, "AES"),
        new IvParameterSpec(seed, BLOCK_BYTES, BLOCK_BYTES));
    blocksLeft = BLOCKS_PER_SEED;
  }
}
