package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.command.Cli;
import io.kcp4j.command.Cli.Outcome;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PingCommandTest {

  @ParameterizedTest
  @ValueSource(ints = {1, 1400, 5000})
  void everyPingIsMeasured(int size) throws Exception {
    try (RunningServer server = new RunningServer("echo-server")) {
      String line = "ping --count 10 --period 5 --size " + size + " --remote " + server.address();
      Outcome outcome = Cli.run(KcpCommand.commandLine(), line.split(" "));
      assertEquals(0, outcome.exitCode(), outcome.err());
      String time = "\\d+\\.\\d\\d";
      String times = String.join("/", time, time, time, time, time);
      assertTrue(
          outcome
              .out()
              .matches("10 of 10 pings answered, rtt min/p50/p90/p99/max " + times + " ms\\R"),
          outcome.out());
    }
  }
}
