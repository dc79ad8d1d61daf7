package io.kcp4j.load;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NumberedBytesTest {

  @Test
  void wordsCountFromZeroWhereverAWriteBegins() {
    String words = "0000000000000000" + "0000000000000001" + "0000000000000002";
    for (int from = 0; from <= 24; from++) {
      for (int end = from; end <= 24; end++) {
        ByteBuf bytes = bytes(from, end - from);
        assertEquals(words.substring(2 * from, 2 * end), ByteBufUtil.hexDump(bytes));
        assertEquals("", NumberedBytes.firstWrong(bytes, from));
        bytes.release();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {-1176, -8, 8, 1176, 1 << 20})
  void missingAndRepeatedBytesShow(long shift) {
    ByteBuf bytes = bytes(4096, 16);
    assertEquals(0, NumberedBytes.firstWrong(bytes, 4096).length());
    String wrong = NumberedBytes.firstWrong(bytes, 4096 + shift);
    assertEquals("byte ", wrong.substring(0, 5));
    bytes.release();
  }

  private static ByteBuf bytes(long position, int count) {
    return NumberedBytes.from(position, count, UnpooledByteBufAllocator.DEFAULT);
  }
}
