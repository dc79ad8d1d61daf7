package io.kcp4j.crypto.openssl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A cipher with its key, for one direction. Used by one thread. Ciphers are not closed: the garbage
 * collector frees the native context, and OpenSSL wipes its key, after it became unreachable.
 */
final class CipherContext {

  /** {@code OSSL_PARAM_OCTET_STRING}. */
  private static final int OCTET_STRING = 5;

  /** An {@code OSSL_PARAM}: name, type, data, size of the data, and number of bytes written. */
  private static final int PARAMETER_BYTES = 40;

  private static final int DATA_OFFSET = 16;

  private final CipherFunctions functions;
  private final boolean isEncrypting;
  private final MemorySegment context;

  /** The place where the provider returns the number of bytes written. */
  private final MemorySegment written;

  /** One parameter, the tag, and a terminator of zeros. */
  private final MemorySegment parameters;

  /**
   * Makes a context.
   *
   * @param tagBytes 0 for a cipher without a tag
   */
  CipherContext(String cipher, byte[] key, boolean isEncrypting, int tagBytes) {
    this.isEncrypting = isEncrypting;
    functions = new CipherFunctions(cipher);
    Arena arena = Arena.ofAuto();
    context = functions.newContext().reinterpret(arena, functions::freeContext);
    written = arena.allocate(JAVA_LONG);
    parameters = arena.allocate(2 * PARAMETER_BYTES, Long.BYTES);
    parameters.set(ADDRESS, 0, arena.allocateFrom("tag"));
    parameters.set(JAVA_INT, ADDRESS.byteSize(), OCTET_STRING);
    parameters.set(JAVA_LONG, DATA_OFFSET + Long.BYTES, tagBytes);
    try (Arena forKey = Arena.ofConfined()) {
      MemorySegment bytes = forKey.allocateFrom(ValueLayout.JAVA_BYTE, key);
      try {
        functions.init(
            isEncrypting, context, bytes.address(), key.length, 0, 0, MemorySegment.NULL);
      } finally {
        bytes.fill((byte) 0);
      }
    }
  }

  /**
   * Encrypts a message, and writes its tag. The addresses are of memory that the caller keeps
   * reachable.
   */
  void seal(long nonce, long nonceBytes, long message, long bytes, long tag) {
    functions.init(isEncrypting, context, 0, 0, nonce, nonceBytes, MemorySegment.NULL);
    functions.update(context, message, bytes, message, written);
    functions.finish(context, written);
    parameters.set(JAVA_LONG, DATA_OFFSET, tag);
    functions.getParameters(context, parameters);
  }

  /** Decrypts a message, and returns whether the tag is valid. */
  boolean open(long nonce, long nonceBytes, long in, long bytes, long tag, long out) {
    parameters.set(JAVA_LONG, DATA_OFFSET, tag);
    functions.init(isEncrypting, context, 0, 0, nonce, nonceBytes, parameters);
    functions.update(context, in, bytes, out, written);
    return functions.finish(context, written);
  }

  /** Encrypts whole blocks in ECB mode. They may be on the heap. */
  void encryptBlocks(MemorySegment in, long bytes, MemorySegment out) {
    functions.cipher(context, in, bytes, out, written);
  }
}
