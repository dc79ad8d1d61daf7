package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.command.Cli;
import io.kcp4j.command.Cli.Outcome;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KcpCommandTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "demo",
        "shooter",
        "echo-server",
        "echo-client",
        "perf-server",
        "perf-client",
        "ping"
      })
  void everyCommandHasHelpWithExitCodes(String command) {
    Outcome help = Cli.run(KcpCommand.commandLine(), command, "--help");
    assertEquals(0, help.exitCode());
    assertTrue(help.out().contains("Usage: kcp " + command), help.out());
    assertTrue(help.out().contains("--sndwnd"), help.out());
    assertTrue(help.out().contains("Exit codes:"), help.out());
    assertTrue(Cli.run(KcpCommand.commandLine(), "--help").out().contains(command));
  }

  @Test
  void versionIsThatOfTheBuild() {
    Outcome version = Cli.run(KcpCommand.commandLine(), "--version");
    assertEquals(0, version.exitCode());
    assertTrue(version.out().matches("kcp4j \\d+\\.\\d+.*\\R"), version.out());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "no-such-command",
        "echo-client",
        "echo-client --remote 127.0.0.1",
        "echo-client --remote 127.0.0.1:65536",
        "echo-client --remote 127.0.0.1:1 --bytes -1",
        "echo-client --remote 127.0.0.1:1 --mode fast9",
        "echo-client --remote 127.0.0.1:1 --nodelay 2",
        "echo-client --remote 127.0.0.1:1 --congestion-control vegas",
        "echo-client --remote 127.0.0.1:1 --congestion-control bbr --nc 1",
        "echo-client --remote 127.0.0.1:1 --mtu 49",
        "echo-client --remote 127.0.0.1:1 --mtu 1501",
        "echo-client --remote 127.0.0.1:1 --sndwnd 0",
        "echo-client --remote 127.0.0.1:1 --rcvwnd 65536",
        "echo-client --remote 127.0.0.1:1 --interval 0",
        "echo-client --remote 127.0.0.1:1 --conv 4294967296",
        "echo-client --remote 127.0.0.1:1 --stream --message",
        "echo-client --remote 127.0.0.1:1 --transport no-such-transport",
        "echo-client --remote 127.0.0.1:1 --crypt aes",
        "echo-client --remote 127.0.0.1:1 --crypt rot13 --key k",
        "echo-client --remote 127.0.0.1:1 --datashard 10",
        "echo-client --remote 127.0.0.1:1 --parityshard 3",
        "echo-client --remote 127.0.0.1:1 --adaptive-fec --datashard 10 --parityshard 3",
        "echo-client --remote 127.0.0.1:1 --datashard 200 --parityshard 57",
        "echo-client --remote 127.0.0.1:1 --key k --datashard 10 --parityshard 3 --mtu 60",
        "ping --remote 127.0.0.1:1 --count 0",
        "perf-client --remote 127.0.0.1:1 --duration 0",
        "demo --loss 91",
        "demo --jitter -1",
        "demo --seconds 0",
        "demo --players 0",
        "demo --datashard 0 --parityshard 0",
        "shooter --seconds 0",
        "shooter --level -1",
        "shooter --rate 0"
      })
  void invalidCommandLineExitsWithTwo(String line) {
    Outcome outcome =
        Cli.run(KcpCommand.commandLine(), line.isEmpty() ? new String[0] : line.split(" "));
    assertEquals(2, outcome.exitCode());
    assertEquals("", outcome.out());
    assertFalse(outcome.err().isEmpty());
    assertFalse(outcome.err().contains("Exception"), outcome.err());
  }

  @Test
  void unknownHostIsReportedInOneLine() {
    Outcome outcome = Cli.run(KcpCommand.commandLine(), "ping", "--remote", "[::g]:4000");
    assertEquals(1, outcome.exitCode());
    assertEquals("kcp ping: unknown host: ::g", outcome.err().strip());
  }

  @Test
  void portInUseIsReportedInOneLine() throws Exception {
    try (DatagramSocket other = loopbackSocket()) {
      String address = "127.0.0.1:" + other.getLocalPort();
      Outcome outcome = Cli.run(KcpCommand.commandLine(), "echo-server", "--listen", address);
      assertEquals(1, outcome.exitCode());
      String expected = "kcp echo-server: cannot listen on " + address + ": ";
      assertTrue(outcome.err().startsWith(expected), outcome.err());
      assertEquals(1, outcome.err().lines().count());
    }
  }

  @Test
  void unresponsivePeerIsReportedInOneLine() throws Exception {
    try (DatagramSocket unresponsive = loopbackSocket()) {
      String address = "127.0.0.1:" + unresponsive.getLocalPort();
      Outcome outcome = Cli.run(KcpCommand.commandLine(), "ping", "--remote", address);
      assertEquals(1, outcome.exitCode());
      assertTrue(outcome.err().startsWith("kcp ping: no answer from " + address), outcome.err());
      assertEquals(1, outcome.err().lines().count());
    }
  }

  private static DatagramSocket loopbackSocket() throws Exception {
    return new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }
}
