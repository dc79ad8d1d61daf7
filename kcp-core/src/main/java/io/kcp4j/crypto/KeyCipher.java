package io.kcp4j.crypto;

import java.security.Provider;

/** One key's state on one thread. */
abstract class KeyCipher {

  /** Seals every packet; their lengths have been checked. */
  abstract void seal(PacketBurst burst);

  /**
   * Opens the packets whose numbers are the first {@code count} of {@code pending}, and narrows
   * those that open. The numbers of the others are moved to the front.
   *
   * @return how many others there are
   */
  abstract int open(PacketBurst burst, int[] pending, int count);

  static KeyCipher of(CipherAlgorithm algorithm, byte[] key, Provider provider) {
    if (algorithm == CipherAlgorithm.NULL) {
      return new NoCipher();
    }
    throw new UnsupportedOperationException(algorithm.kcptunName());
  }

  @SuppressWarnings("DoNotCallSuggester")
  static KeyCipher of(Aead aead) {
    throw new UnsupportedOperationException();
  }

  @SuppressWarnings("DoNotCallSuggester")
  static KeyCipher of(BlockCipher blockCipher) {
    throw new UnsupportedOperationException();
  }
}
