package io.kcp4j.crypto;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/**
 * Which library is in use, and why. A service is used only if it agrees with the ciphers of the JVM
 * on every algorithm, and refuses modified packets.
 */
record LibraryChoice(CipherLibrary library, String reason) {

  /** Limits the number of services examined, in case one fails repeatedly. */
  private static final int MAX_SERVICES = 16;

  /** Empty, less than a block, whole blocks, and more than a kernel processes at a time. */
  private static final int[] CHECKED_LENGTHS = {0, 1, 15, 16, 17, 128, 255, 1400, 4097};

  private static final int[] CHECKED_BLOCKS = {1, 2, 7, 8, 9, 32, 200};

  /** The index of the first checked byte: arrays are used at any offset. */
  private static final int INDEX = 3;

  static final LibraryChoice CURRENT =
      choose(
          System.getProperty(CipherLibrary.PROPERTY),
          ServiceLoader.load(CipherLibrary.class, CipherLibrary.class.getClassLoader()).iterator());

  /**
   * Chooses among services.
   *
   * @param name of the only library to consider, or null
   */
  static LibraryChoice choose(String name, Iterator<CipherLibrary> services) {
    if (JceLibrary.NAME.equals(name)) {
      return new LibraryChoice(JceLibrary.PREFERRED, "named by " + CipherLibrary.PROPERTY);
    }
    String reason = "no other library found";
    boolean isMore = true;
    for (int i = 0; i < MAX_SERVICES && isMore; i++) {
      try {
        isMore = services.hasNext();
        if (isMore) {
          CipherLibrary library = services.next();
          if (name != null && !library.name().equals(name)) {
            reason = library.name() + " is not " + name;
          } else if (isCorrect(library)) {
            return new LibraryChoice(library, "found, and agrees with the JVM");
          } else {
            reason = library.name() + " gives wrong results";
          }
        }
      } catch (ServiceConfigurationError | LinkageError e) {
        reason = "a library does not load: " + cause(e);
      }
    }
    return new LibraryChoice(JceLibrary.PREFERRED, reason);
  }

  private static Throwable cause(Throwable thrown) {
    Throwable cause = thrown;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  /** Whether a library agrees with the ciphers of the JVM. */
  static boolean isCorrect(CipherLibrary library) {
    try {
      for (CipherAlgorithm algorithm : CipherAlgorithm.values()) {
        byte[] key = pattern(algorithm.keyBytes(), 1);
        boolean isCorrect =
            switch (algorithm) {
              case AES, AES_192, AES_128 -> agree(library.aes(key), JceLibrary.PREFERRED.aes(key));
              case AES_128_GCM, AES_192_GCM, AES_256_GCM, CHACHA20_POLY1305 ->
                  agree(library.aead(algorithm, key), JceLibrary.PREFERRED.aead(algorithm, key));
              default -> true;
            };
        if (!isCorrect) {
          return false;
        }
      }
      return true;
    } catch (RuntimeException | LinkageError e) {
      return false;
    }
  }

  private static boolean agree(BlockCipher cipher, BlockCipher expected) {
    int blockBytes = expected.blockBytes();
    if (cipher.blockBytes() != blockBytes) {
      return false;
    }
    for (int blocks : CHECKED_BLOCKS) {
      byte[] in = pattern(INDEX + blocks * blockBytes + 1, blocks);
      byte[] out = new byte[in.length];
      byte[] expectedOut = new byte[in.length];
      cipher.encryptBlocks(in, INDEX, out, INDEX, blocks);
      expected.encryptBlocks(in, INDEX, expectedOut, INDEX, blocks);
      cipher.encrypt(in, INDEX, in, INDEX);
      if (!Arrays.equals(out, expectedOut)
          || !Arrays.equals(in, INDEX, INDEX + blockBytes, out, INDEX, INDEX + blockBytes)) {
        return false;
      }
    }
    return true;
  }

  private static boolean agree(Aead aead, Aead expected) {
    return agreeOnHeap(aead, expected)
        && (!(aead instanceof DirectAead direct) || agreeOnHeap(new OffHeap(direct), expected));
  }

  private static boolean agreeOnHeap(Aead aead, Aead expected) {
    int tagBytes = expected.tagBytes();
    if (aead.nonceBytes() != expected.nonceBytes() || aead.tagBytes() != tagBytes) {
      return false;
    }
    for (int length : CHECKED_LENGTHS) {
      byte[] nonce = pattern(aead.nonceBytes(), length);
      byte[] in = pattern(INDEX + length, length);
      byte[] out = new byte[INDEX + length + tagBytes + 1];
      byte[] expectedOut = new byte[out.length];
      aead.seal(nonce, in, INDEX, length, out, INDEX);
      expected.seal(nonce, in, INDEX, length, expectedOut, INDEX);
      if (!Arrays.equals(out, expectedOut) || !opens(aead, nonce, out, in, length)) {
        return false;
      }
    }
    return true;
  }

  /** Whether it opens sealed packets, also repeatedly, and nothing else. */
  private static boolean opens(Aead aead, byte[] nonce, byte[] sealed, byte[] in, int length) {
    int bytes = length + aead.tagBytes();
    for (int i = 0; i < 2; i++) {
      byte[] opened = new byte[INDEX + bytes];
      if (!aead.open(nonce, sealed, INDEX, bytes, opened, INDEX)
          || !Arrays.equals(opened, INDEX, INDEX + length, in, INDEX, INDEX + length)) {
        return false;
      }
      byte[] altered = sealed.clone();
      altered[INDEX + i * (bytes - 1)] ^= 1;
      if (aead.open(nonce, altered, INDEX, bytes, opened, INDEX)) {
        return false;
      }
    }
    return true;
  }

  /** Puts its packets in direct buffers, at an odd index. */
  private record OffHeap(DirectAead aead, ByteBuffer packet, ByteBuffer payload) implements Aead {

    OffHeap(DirectAead aead) {
      this(aead, ByteBuffer.allocateDirect(8192), ByteBuffer.allocateDirect(8192));
    }

    @Override
    public int nonceBytes() {
      return aead.nonceBytes();
    }

    @Override
    public int tagBytes() {
      return aead.tagBytes();
    }

    @Override
    public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      put(nonce, in, inIndex, length);
      aead.seal(packet, INDEX, length);
      packet.get(INDEX + nonceBytes(), out, outIndex, length + tagBytes());
    }

    @Override
    public boolean open(
        byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      put(nonce, in, inIndex, length);
      boolean isOpen = aead.open(packet, INDEX, nonceBytes() + length, payload, INDEX);
      payload.get(INDEX, out, outIndex, length - tagBytes());
      return isOpen;
    }

    private void put(byte[] nonce, byte[] in, int inIndex, int length) {
      packet.put(INDEX, nonce, 0, nonceBytes());
      packet.put(INDEX + nonceBytes(), in, inIndex, length);
    }
  }

  /** Bytes without two equal blocks. */
  private static byte[] pattern(int bytes, int seed) {
    byte[] pattern = new byte[bytes];
    int state = seed;
    for (int i = 0; i < bytes; i++) {
      state = 1_664_525 * state + 1_013_904_223; // Numerical Recipes' generator
      pattern[i] = (byte) (state >>> 24);
    }
    return pattern;
  }
}
