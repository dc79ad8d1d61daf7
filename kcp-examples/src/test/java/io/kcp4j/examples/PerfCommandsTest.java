package io.kcp4j.examples;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.command.Cli;
import io.kcp4j.command.Cli.Outcome;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PerfCommandsTest {

  private static final Pattern JSON =
      Pattern.compile(
          "\\{\"mb_s\":(\\d+\\.\\d+),\"bytes\":(\\d+),\"seconds\":(\\d+\\.\\d+),"
              + "\"retransmitted\":(\\d+),\"srtt_ms\":(\\d+\\.\\d+)}");

  @ParameterizedTest
  @CsvSource({
    "--stream, --no-reverse, received",
    "--stream, --reverse, sent",
    "--message, --no-reverse, received",
    "--message, --reverse, sent"
  })
  void lastLineIsJsonOfTheReceiversCounts(String delivery, String reverse, String verb)
      throws Exception {
    try (RunningServer server = new RunningServer("perf-server", delivery)) {
      String line = "perf-client --duration 0.3 --json " + delivery + " " + reverse + " --remote ";
      Outcome outcome = Cli.run(KcpCommand.commandLine(), (line + server.address()).split(" "));
      assertEquals("", outcome.err());
      assertEquals(0, outcome.exitCode());
      Matcher json = JSON.matcher(outcome.lastLine());
      assertTrue(json.matches(), outcome.out());
      double megabytes = Long.parseLong(json.group(2)) / 1e6;
      assertTrue(megabytes > 0, outcome.out());
      double seconds = Double.parseDouble(json.group(3));
      assertEquals(
          megabytes / seconds, Double.parseDouble(json.group(1)), 0.02 * megabytes / seconds);
      String expected = verb + " " + json.group(2) + " bytes";
      await().until(() -> server.out().contains(expected));
    }
  }

  @Test
  void eachSecondAndTheTotalAreLines() throws Exception {
    try (RunningServer server = new RunningServer("perf-server")) {
      // The receiver counts from the first byte, which may arrive late on a slow machine.
      Outcome outcome =
          Cli.run(
              KcpCommand.commandLine(),
              "perf-client",
              "--duration",
              "3",
              "--remote",
              server.address());
      assertEquals(0, outcome.exitCode());
      assertTrue(outcome.out().lines().count() >= 3, outcome.out());
      assertTrue(
          outcome.out().lines().allMatch(line -> line.matches(" *\\d.*MB +\\d+\\.\\d\\d MB/s.*")),
          outcome.out());
      assertTrue(outcome.lastLine().contains("retransmitted"), outcome.out());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"--reverse", "--no-reverse"})
  void serverOfAnotherProtocolFails(String reverse) throws Exception {
    try (RunningServer server = new RunningServer("echo-server")) {
      Outcome outcome =
          Cli.run(KcpCommand.commandLine(), "perf-client", reverse, "--remote", server.address());
      assertEquals(1, outcome.exitCode());
      assertEquals(1, outcome.err().lines().count(), outcome.err());
    }
  }
}
