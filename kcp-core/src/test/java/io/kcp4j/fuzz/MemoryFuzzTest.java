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
    "a client whose rate timeouts have halved misses its turns,"
        + " 08933f481cc99a5268a694618462c7a460a3b2d54e1cf3094cee675eda392c30bf2f5159ba82a5b3e7597aa6"
        + "88aba030ca9c53ef0d9109c4ee58244e193ecfea7101a6bd25000d8f6ffb85931628d6d009116da9f43121c8"
        + "6fa6c95083a99aa360e67d006dc2b888058af7e8172deba416da2f2f5ee3be7cd427094ededd26f4fdce6d5d"
        + "f8c8fce300eb48d70bad56f3b0f0b6f01776417a509b46c435bea6faae0cc6e5c90c0197941df4bfbb419181"
        + "c1afbeb0ed414136e6676b779c6b2abd9df752bb5ef438540a9c81bf40498b79f2deebabebc843d0355e1d26"
        + "e2a40a43b9aef6c0",
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
