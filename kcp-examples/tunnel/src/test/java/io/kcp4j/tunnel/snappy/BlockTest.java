package io.kcp4j.tunnel.snappy;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.handler.codec.CorruptedFrameException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class BlockTest {

  private static final int MAX = BlockCompressor.MAX_BLOCK_BYTES;

  private final BlockCompressor compressor = new BlockCompressor();

  @ParameterizedTest
  @EnumSource
  void everyBlockComesBack(Samples samples) {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 300; i++) {
      int length = i < 70 ? i + 1 : random.nextInt(1, 1 << random.nextInt(7, 17));
      check(samples.bytes(length, random));
    }
    check(samples.bytes(MAX, random));
  }

  private void check(byte[] block) {
    byte[] compressed = compress(block);
    assertTrue(compressed.length <= BlockCompressor.MAX_COMPRESSED_BYTES, block.length + " bytes");
    assertArrayEquals(block, decompress(compressed));
  }

  private byte[] compress(byte[] block) {
    int start = 3; // The block is a part of the array, and so is the output.
    byte[] in = new byte[start + block.length + 5];
    Arrays.fill(in, (byte) 0x55);
    System.arraycopy(block, 0, in, start, block.length);
    byte[] out = new byte[start + BlockCompressor.OUTPUT_BYTES];
    int end = compressor.compress(in, start, block.length, out, start);
    return Arrays.copyOfRange(out, start, end);
  }

  private byte[] decompress(byte[] compressed) {
    byte[] out = new byte[BlockDecompressor.OUTPUT_BYTES];
    int length = BlockDecompressor.decompress(compressed, 0, compressed.length, out);
    return Arrays.copyOf(out, length);
  }

  @Test
  void blocksAreCompressed() {
    SplittableRandom random = new SplittableRandom(2);
    assertTrue(compress(new byte[8192]).length < 500);
    assertTrue(compress(Samples.WORDS.bytes(8192, random)).length < 7500);
  }

  @Test
  void elementsOfEveryKindAreDecompressed() {
    assertEquals("", text("00"));
    assertEquals("ab", text("02 04 6162"));
    assertEquals("abababa", text("07 04 6162 05 02")); // A copy with an offset of 11 bits ...
    assertEquals("abababa", text("07 04 6162 12 0200")); // ... of 16 bits ...
    assertEquals("abababa", text("07 04 6162 13 02000000")); // ... and of 32 bits.
    assertEquals("abc", text("03 f0 02 616263")); // A literal with a length of 8 bits ...
    assertEquals("abc", text("03 f4 0200 616263"));
    assertEquals("abc", text("03 f8 020000 616263"));
    assertEquals("abc", text("03 fc 02000000 616263")); // ... up to 32 bits.
  }

  private String text(String hex) {
    return new String(decompress(bytes(hex)), US_ASCII);
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex.replace(" ", ""));
  }

  @ParameterizedTest
  @CsvSource(
      textBlock =
          """
          a length without an end, ff
          a length of more than 32 bits, ffffffffff01 00
          a block of more than 64 KiB, 818004
          a block that is shorter than its length, 03 04 6162
          a block that is longer than its length, 01 04 6162
          a literal without its bytes, 03 08 6162
          a literal without its length, 03 f4 02
          a literal of 4 GiB, 03 fc ffffffff 616263
          a copy from before the block, 07 04 6162 12 0300
          a copy from offset 0, 07 04 6162 12 0000
          a copy from a negative offset, 07 04 6162 13 feffffff
          a copy beyond the end of the block, 06 04 6162 12 0200
          a copy without its offset, 07 04 6162 12 02
          """)
  void corruptBlocksAreErrors(String what, String hex) {
    assertThrows(CorruptedFrameException.class, () -> decompress(bytes(hex)), what);
  }

  @ParameterizedTest
  @EnumSource
  void alteredBlocksAreErrorsOrBlocks(Samples samples) {
    SplittableRandom random = new SplittableRandom(3);
    int errors = 0;
    for (int i = 0; i < 3000; i++) {
      byte[] compressed = compress(samples.bytes(random.nextInt(1, 500), random));
      for (int k = random.nextInt(1, 4); k > 0; k--) {
        compressed[random.nextInt(compressed.length)] = (byte) random.nextInt();
      }
      errors += isError(compressed) ? 1 : 0;
    }
    assertTrue(errors > 100, errors + " errors");
  }

  @Test
  void randomBytesAreErrorsOrBlocks() {
    SplittableRandom random = new SplittableRandom(4);
    int errors = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = Samples.RANDOM.bytes(random.nextInt(1, 40), random);
      bytes[0] &= 0x7f;
      errors += isError(bytes) ? 1 : 0;
    }
    assertTrue(errors > 10_000, errors + " errors");
  }

  /** Any other exception fails the test. */
  private boolean isError(byte[] compressed) {
    try {
      decompress(compressed);
      return false;
    } catch (CorruptedFrameException e) {
      return true;
    }
  }
}
