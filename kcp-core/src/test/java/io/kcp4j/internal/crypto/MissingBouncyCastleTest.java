package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import java.io.File;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Programs without BouncyCastle on their class path. */
class MissingBouncyCastleTest {

  private static final List<CipherAlgorithm> NEED_IT =
      List.of(
          CipherAlgorithm.BLOWFISH,
          CipherAlgorithm.TWOFISH,
          CipherAlgorithm.CAST5,
          CipherAlgorithm.XTEA,
          CipherAlgorithm.SM4);

  /** Makes a cipher of each algorithm, and prints why one cannot be made. */
  static final class Program {

    private Program() {}

    public static void main(String[] args) {
      for (CipherAlgorithm algorithm : CipherAlgorithm.values()) {
        try {
          KeyRing.of(PacketKey.of(algorithm, new byte[algorithm.keyBytes()])).newCipher();
        } catch (IllegalStateException e) {
          System.out.println(e.getMessage());
        }
      }
      System.out.println("done");
    }
  }

  @Test
  void onlyCiphersThatNeedItFailAndSayWhatIsMissing() throws Exception {
    String classPath =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> !entry.contains("bcprov"))
            .collect(Collectors.joining(File.pathSeparator));
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                classPath,
                Program.class.getName())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (InputStream out = process.getInputStream()) {
      List<String> lines = new String(out.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
      String expected =
          ": BouncyCastle is missing (expected: org.bouncycastle:bcprov-jdk18on on the class path)";
      List<String> failures =
          NEED_IT.stream()
              .sorted()
              .map(algorithm -> "cipher " + algorithm.kcptunName() + expected)
              .toList();
      assertEquals(failures, lines.subList(0, lines.size() - 1));
      assertEquals("done", lines.get(lines.size() - 1));
    }
  }
}
