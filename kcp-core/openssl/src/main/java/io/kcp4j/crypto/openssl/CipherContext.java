package io.kcp4j.crypto.openssl;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * An {@code EVP_CIPHER_CTX}: one algorithm, key and direction. Used by one thread. Nobody closes
 * ciphers: it is freed, and the key in it wiped, some time after the last reference to it is gone.
 */
final class CipherContext {

  static final int DECRYPT = 0;
  static final int ENCRYPT = 1;

  private final MemorySegment context;

  /** Where the library tells how many bytes it wrote. */
  private final MemorySegment written;

  private final Tag tag;

  CipherContext(String algorithm, byte[] key, int direction) {
    Arena arena = Arena.ofAuto();
    context = LibCrypto.newContext(arena);
    written = arena.allocate(ValueLayout.JAVA_INT);
    tag = new Tag(arena);
    LibCrypto.init(context, algorithm, key, direction);
  }

  void withoutPadding() {
    LibCrypto.setPadding(context, 0);
  }

  /** Begins another message under the same key. */
  void restart(MemorySegment nonce) {
    LibCrypto.restart(context, nonce);
  }

  /** As many bytes come out as go in. */
  void update(MemorySegment in, int bytes, MemorySegment out) {
    LibCrypto.update(context, out, written, in, bytes);
  }

  /** Ends a message; nothing more comes out. Whether the tag is right, when decrypting. */
  boolean finish() {
    return LibCrypto.finish(context, written, written);
  }

  /** The tag of the message that has ended. */
  Tag computedTag() {
    LibCrypto.getParameters(context, tag.parameters());
    return tag;
  }

  /** Where to write the tag of the message that has begun, for {@link #expectTag}. */
  Tag tag() {
    return tag;
  }

  void expectTag() {
    LibCrypto.setParameters(context, tag.parameters());
  }
}
