package io.kcp4j.crypto.openssl;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/**
 * An {@code EVP_CIPHER_CTX}: one algorithm, key and direction. Used by one thread. Nobody closes
 * ciphers: it is freed, and the key in it wiped, some time after the last reference to it is gone.
 */
final class CipherContext {

  static final int DECRYPT = 0;
  static final int ENCRYPT = 1;

  private static final int AEAD_GET_TAG = 0x10;
  private static final int AEAD_SET_TAG = 0x11;

  private final MemorySegment context;

  /** Where the library tells how many bytes it wrote. */
  private final MemorySegment written;

  private final Slice in = new Slice();
  private final Slice out = new Slice();
  private final Slice nonce = new Slice();
  private final Slice tag = new Slice();

  CipherContext(String algorithm, byte[] key, int direction) {
    Arena arena = Arena.ofAuto();
    context = LibCrypto.newContext(arena);
    written = arena.allocate(ValueLayout.JAVA_INT);
    LibCrypto.init(context, algorithm, key, direction);
  }

  void withoutPadding() {
    LibCrypto.setPadding(context, 0);
  }

  /** Begins another message under the same key. */
  void restart(byte[] from, int bytes) {
    LibCrypto.restart(context, nonce.of(from, 0, bytes));
  }

  /** As many bytes come out as go in. */
  void update(byte[] from, int fromIndex, int bytes, byte[] to, int toIndex) {
    MemorySegment output = out.of(to, toIndex, bytes);
    LibCrypto.update(context, output, written, in.of(from, fromIndex, bytes), bytes);
  }

  /** Ends a message; nothing more comes out. Whether the tag is right, when decrypting. */
  boolean finish() {
    return LibCrypto.finish(context, written, written);
  }

  void readTag(byte[] to, int index, int bytes) {
    LibCrypto.control(context, AEAD_GET_TAG, bytes, tag.of(to, index, bytes));
  }

  void expectTag(byte[] from, int index, int bytes) {
    LibCrypto.control(context, AEAD_SET_TAG, bytes, tag.of(from, index, bytes));
  }

  /**
   * An array from an index on, as a segment. It is kept: most calls have the scratch of the one
   * before, and the JIT compiler does not get rid of segments that are handed to a function.
   */
  private static final class Slice {

    private byte[] array = new byte[0];
    private int index;
    private MemorySegment segment = MemorySegment.ofArray(array);

    /** Checks the bounds, which the library cannot. */
    MemorySegment of(byte[] bytes, int start, int length) {
      Objects.checkFromIndexSize(start, length, bytes.length);
      if (bytes != array || start != index) {
        array = bytes;
        index = start;
        segment = MemorySegment.ofArray(bytes).asSlice(start);
      }
      return segment;
    }
  }
}
