package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class GeneratedBytesTest {

  @Test
  void bytesAreReproducibleAndOfTheGivenNumber() throws IOException {
    byte[] bytes = new GeneratedBytes(1001, 7).readAllBytes();
    assertEquals(1001, bytes.length);
    assertArrayEquals(bytes, new GeneratedBytes(1001, 7).readAllBytes());
    assertFalse(Arrays.equals(bytes, new GeneratedBytes(1001, 8).readAllBytes()));
  }

  @Test
  void readAfterTheLastByteReturnsEndOfStream() throws IOException {
    assertEquals(-1, new GeneratedBytes(0, 1).read());
    GeneratedBytes one = new GeneratedBytes(1, 1);
    one.read();
    assertEquals(-1, one.read());
  }
}
