package io.kcp4j.crypto.openssl;

import io.kcp4j.crypto.BlockCipher;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** AES in ECB mode; OpenSSL pipelines the blocks of a call. */
final class OpenSslBlockCipher implements BlockCipher {

  private static final int BLOCK_BYTES = 16;

  private final CipherContext encrypting;
  private final HeapSlice inSlice = new HeapSlice();
  private final HeapSlice outSlice = new HeapSlice();

  OpenSslBlockCipher(String algorithm, byte[] key) {
    encrypting = new CipherContext(algorithm, key, true, 0);
  }

  @Override
  public int blockBytes() {
    return BLOCK_BYTES;
  }

  @Override
  public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
    encryptBlocks(in, inIndex, out, outIndex, 1);
  }

  @Override
  public void encryptBlocks(byte[] in, int inIndex, byte[] out, int outIndex, int blocks) {
    int bytes = blocks * BLOCK_BYTES;
    encrypting.encryptBlocks(
        inSlice.of(in, inIndex, bytes), bytes, outSlice.of(out, outIndex, bytes));
  }

  /**
   * The bytes of an array from an index on, as a segment to pass to the library. It checks bounds,
   * which the library cannot. It caches the last segment: most calls use the same scratch array,
   * and the JIT compiler does not eliminate the allocation of segments passed to a function.
   */
  private static final class HeapSlice {

    private byte[] array;
    private int index;
    private MemorySegment segment;

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
