package io.kcp4j.fuzz;

import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Fuzzes smux, and servers with sessions of every kind that are short of memory. */
@Tag("slow")
class SmuxFuzzTest {

  @ParameterizedTest
  @CsvSource({"SmuxFuzz, 20000, 600", "MemoryFuzz, 2000, 1500"})
  void nothingIsFound(String target, long runs, int covered)
      throws IOException, InterruptedException {
    Fuzzer.fuzz(target, runs, covered);
  }
}
