package io.kcp4j.fuzz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBufUtil;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Runs {@link FrameFuzz} without a fuzzer: inputs that reach a certain state, what a fuzzer has
 * found, and random ones.
 */
class FrameFuzzTest {

  private static final int INPUTS = 1_000;
  private static final int MAX_INPUT_BYTES = 200;

  private static int run(String hex) {
    return FrameFuzz.run(ByteBufUtil.decodeHexDump(hex.replace(" ", "")));
  }

  @ParameterizedTest
  @CsvSource({
    "a message that other lanes have sent, 01 00 0005 00000000 0a, 1",
    "a STOP is due when the end arrives, 01 00 0005 00000000 0a 07 0f00 0e00 0a 0900, 0",
    "two segments in reverse, 01 01 0040 0040 00000000 9a01 0a 06, 2",
  })
  void knownInput(String what, String hex, int received) {
    assertEquals(received, run(hex), what);
  }

  /** All that waits has to leave in the end. */
  @Test
  void manyMessages() {
    byte[] input = new byte[MAX_INPUT_BYTES];
    Arrays.fill(input, (byte) 0xff);
    input[0] = 0x3b;
    int received = FrameFuzz.run(input);
    assertTrue(received > 80, "received " + received);
  }

  /** Any bit of the setup: forged or not, much memory or little, open or not. */
  @ParameterizedTest
  @ValueSource(ints = {0x00, 0x01, 0x04, 0x05, 0x06, 0x07, 0x38, 0x39, 0xc0, 0xc6, 0xff})
  void randomInputs(int setup) {
    SplittableRandom random = new SplittableRandom(setup);
    int received = 0;
    for (int i = 0; i < INPUTS; i++) {
      byte[] input = new byte[1 + random.nextInt(MAX_INPUT_BYTES)];
      random.nextBytes(input);
      input[0] = (byte) setup;
      received += FrameFuzz.run(input);
    }
    assertTrue(received > INPUTS / 10, "received " + received);
  }

  @Test
  void emptyInputIsOne() {
    assertEquals(0, FrameFuzz.run(new byte[0]));
  }
}
