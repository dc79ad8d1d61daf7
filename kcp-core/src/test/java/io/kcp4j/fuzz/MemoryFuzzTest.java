package io.kcp4j.fuzz;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBufUtil;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs {@link MemoryFuzz} without a fuzzer: what was found by it, and random inputs. */
class MemoryFuzzTest {

  private static final int INPUTS = 40;
  private static final int MAX_INPUT_BYTES = 200;

  @ParameterizedTest
  @CsvSource({
    "a client is refused until it gives up,"
        + " 00d60eeb5c45a3d7eb8275d9c905379bbedaaa6ba992df54524319b2e5b36b99bbc8f77fac1ed2ea0968b170c"
        + "813bd13f0feb4ade8e3dfa5ee99417c3829db55233c77e38fc3fae5c72bf2f7e0ff1ac591c7207d6ebb35902123"
        + "a1686b0a4f1cb554473ef289ec86bf3e652d435b73cff9f11948189cabec443a856ee756e535430baf03f945851"
        + "29cd11884ca128bfa3939bb9c036934bc00398981f9006245fd09bf99ddb780acc3b275e97342eba343ee95e109"
        + "3d0d413fea98",
    "turns end before clients that have backed off send again,"
        + " 00b29bbd171776195b1c2ad9b717353440071c5fcbbb2bb3afe1098ab17ffdfad7e902f23650bab94ec8bb04b"
        + "41f8266dde5463357b516dfbe1fb06b31a6f6789fab574f630b5e778973da070e323f56696cfdc1703694ac1fe1"
        + "10aface3d6674070b67ee87b9c5fe64d0e680897b4393beb692849a91bc05976f120cc66df73ea8e5767671dea9"
        + "060b55db0",
  })
  void knownInput(String what, String hex) {
    int done = MemoryFuzz.run(ByteBufUtil.decodeHexDump(hex));
    assertTrue(done > 10, what + ": " + done);
  }

  /** Any limit, with and without loss and reordering. */
  @ParameterizedTest
  @ValueSource(ints = {0x00, 0x15, 0x3a, 0x3f, 0x41, 0x7e, 0xc5, 0xea})
  void randomInputs(int setup) {
    SplittableRandom random = new SplittableRandom(setup);
    int done = 0;
    for (int i = 0; i < INPUTS; i++) {
      byte[] input = new byte[1 + random.nextInt(MAX_INPUT_BYTES)];
      random.nextBytes(input);
      input[0] = (byte) setup;
      done += MemoryFuzz.run(input);
    }
    assertTrue(done > 4 * INPUTS, "done " + done);
  }

  @Test
  void emptyInputIsOne() {
    assertTrue(MemoryFuzz.run(new byte[0]) == 0);
  }
}
