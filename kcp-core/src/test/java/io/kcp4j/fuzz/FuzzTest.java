package io.kcp4j.fuzz;

import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Fuzzes each target of the core, see {@link Fuzzer}. */
@Tag("slow")
class FuzzTest {

  @ParameterizedTest
  @CsvSource({
    "PacketOpenFuzz, 20000, 200",
    "FecDecodeFuzz, 20000, 400",
    "KcpInputFuzz, 20000, 600",
    "SessionTableFuzz, 10000, 1000",
    "ExtensionFuzz, 20000, 600",
    "AdmissionFuzz, 10000, 600",
    "LaneFuzz, 10000, 900",
    "FrameFuzz, 20000, 1000"
  })
  void nothingIsFound(String target, long runs, int covered)
      throws IOException, InterruptedException {
    Fuzzer.fuzz(target, runs, covered);
  }
}
