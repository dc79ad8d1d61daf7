package io.kcp4j.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.arq.Kcp;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs each benchmark once. Benchmarks check the states that they measure, so a broken one fails
 * here.
 */
class BenchmarksTest {

  @Test
  void everyBenchmarkRuns() throws RunnerException {
    System.setProperty("jmh.ignoreLock", "true"); // No figures are taken here.
    Options once =
        new OptionsBuilder()
            .include("io.kcp4j")
            .mode(Mode.SingleShotTime)
            .forks(0)
            .warmupIterations(0)
            .measurementIterations(1)
            .param("sessions", "1")
            .param("cipher", "aes", "aes-128-gcm", "salsa20")
            .param("streamCipher", "aes", "salsa20")
            .shouldFailOnError(true)
            .verbosity(VerboseMode.SILENT)
            .build();
    assertFalse(new Runner(once).run().isEmpty());
  }

  @Test
  void sessionsReachTheStatesWhoseMemoryIsMeasured() {
    try (KcpStates states = new KcpStates()) {
      assertTrue(states.fresh().isQuiescent());
      assertTrue(states.echoed().isQuiescent());
      Kcp sending = states.sending();
      assertEquals(sending.config().sendWindow(), sending.stats().inFlight());
      assertTrue(states.unread().isReceivable());
    }
  }
}
