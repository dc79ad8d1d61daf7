package io.kcp4j.tunnel;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import io.kcp4j.command.Cli;
import io.kcp4j.command.Cli.Outcome;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Execution(CONCURRENT)
class TunnelCommandsTest {

  private static final String PLAIN = "--nocomp --crypt null --datashard 0 --parityshard 0";

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        PLAIN + " --mode fast3 --congestion-control bbr",
        PLAIN + " --transport nio --smuxver 1",
        "--crypt aes-128-gcm --mode manual --nodelay 1 --interval 10 --resend 2 --nc 1",
        "-crypt salsa20 -ds 4 -ps 2 -mode fast2 -nocomp=false -acknodelay -dscp 46",
        "--crypt none --framesize 1000 --streambuf 20000 --smuxbuf 100000 --mtu 500",
        "--crypt xor --ratelimit 20000000 --threads 2 --sockbuf 100000"
      })
  void connectionsAreCarried(String options) throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), options);
        RunningTunnel client = RunningTunnel.client(server.address(), options)) {
      TunnelUser.checkEchoes(client.port(), 1, 3_000_000);
      TunnelUser.checkEchoes(client.port(), 20, 100_000);
      assertEquals(0, client.stop().exitCode());
      assertEquals(0, server.stop().exitCode());
    }
  }

  @Test
  void connectionsUseSeveralSessionsInTurn() throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), "");
        RunningTunnel client = RunningTunnel.client(server.address(), "--conn 3 --threads 2")) {
      TunnelUser.checkEchoes(client.port(), 12, 100_000);
      client.awaitLog("session: ", 3);
      server.awaitLog("session: ", 3);
      TunnelUser.checkEchoes(client.port(), 12, 1000);
      client.stop();
      assertTrue(client.log().contains("0 connections of 24, 0 failed; 3 sessions"), client.log());
    }
  }

  @Test
  void expiredSessionsAreReplaced() throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), PLAIN);
        RunningTunnel client = RunningTunnel.client(server.address(), PLAIN + " --autoexpire 1");
        Socket first = TunnelUser.connect(client.port())) {
      checkRoundTrip(first);
      await()
          .until(
              () -> {
                TunnelUser.checkEchoes(client.port(), 1, 1000);
                return client.log().split("session: ", -1).length > 2;
              });
      checkRoundTrip(first); // In its old session.
    }
  }

  @Test
  void expiredSessionsLiveForALimitedTime() throws Exception {
    String limited = PLAIN + " --autoexpire 1 --scavengettl 1";
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), PLAIN);
        RunningTunnel client = RunningTunnel.client(server.address(), limited);
        Socket first = TunnelUser.connect(client.port())) {
      checkRoundTrip(first);
      await()
          .until(
              () -> {
                TunnelUser.checkEchoes(client.port(), 1, 1000);
                return client.log().split("session: ", -1).length > 2;
              });
      assertThrows(SocketException.class, () -> first.getInputStream().read());
    }
  }

  private static void checkRoundTrip(Socket socket) throws IOException {
    socket.getOutputStream().write(42);
    assertEquals(42, socket.getInputStream().read());
  }

  @Test
  void theTargetAnswersAfterTheUserHasEnded() throws Exception {
    try (TcpTarget target =
            new TcpTarget(
                connection -> {
                  byte[] all = connection.getInputStream().readAllBytes();
                  connection.getOutputStream().write(all);
                });
        RunningTunnel server = RunningTunnel.server(target.address(), "");
        RunningTunnel client = RunningTunnel.client(server.address(), "");
        Socket socket = TunnelUser.connect(client.port())) {
      byte[] data = TunnelUser.data(1, 2_000_000);
      socket.getOutputStream().write(data);
      socket.shutdownOutput();
      assertArrayEquals(data, socket.getInputStream().readAllBytes());
    }
  }

  @Test
  void theUserSendsAfterTheTargetHasEnded() throws Exception {
    CompletableFuture<byte[]> received = new CompletableFuture<>();
    try (TcpTarget target =
            new TcpTarget(
                connection -> {
                  connection.shutdownOutput();
                  received.complete(connection.getInputStream().readAllBytes());
                });
        RunningTunnel server = RunningTunnel.server(target.address(), "");
        RunningTunnel client = RunningTunnel.client(server.address(), "");
        Socket socket = TunnelUser.connect(client.port())) {
      assertEquals(-1, socket.getInputStream().read());
      byte[] data = TunnelUser.data(2, 2_000_000);
      socket.getOutputStream().write(data);
      socket.shutdownOutput();
      assertArrayEquals(data, received.get());
      await().until(() -> server.log().contains("closed: "));
    }
  }

  @Test
  void halfAConnectionWithoutDataIsClosed() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    try (TcpTarget target = new TcpTarget(connection -> end.await());
        RunningTunnel server = RunningTunnel.server(target.address(), PLAIN + " --drain 0");
        RunningTunnel client = RunningTunnel.client(server.address(), PLAIN + " --closewait 1");
        Socket socket = TunnelUser.connect(client.port())) {
      socket.shutdownOutput();
      assertEquals(-1, socket.getInputStream().read());
      client.awaitLog("closed: ", 1);
    } finally {
      end.countDown();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {PLAIN, PLAIN + " --transport nio"})
  void connectionsThatAreClosedWithoutDataEndAtTheTarget(String options) throws Exception {
    AtomicInteger ended = new AtomicInteger();
    int connections = 50;
    try (TcpTarget target =
            new TcpTarget(
                connection -> {
                  if (connection.getInputStream().read() < 0) {
                    ended.incrementAndGet();
                  }
                });
        RunningTunnel server = RunningTunnel.server(target.address(), options);
        RunningTunnel client = RunningTunnel.client(server.address(), options)) {
      for (int i = 0; i < connections; i++) {
        TunnelUser.connect(client.port()).close();
      }
      await().until(() -> ended.get() == connections);
      client.awaitLog("closed: ", connections);
      server.awaitLog("closed: ", connections);
    }
  }

  @Test
  void missingTargetIsOneLineInTenSeconds() throws Exception {
    long beganAtNs = System.nanoTime();
    try (Socket closed = new Socket()) { // Bound without listening: nobody else gets the port.
      closed.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      String quiet = PLAIN + " --quiet";
      try (RunningTunnel server =
              RunningTunnel.server("127.0.0.1:" + closed.getLocalPort(), quiet);
          RunningTunnel client = RunningTunnel.client(server.address(), quiet)) {
        for (int i = 0; i < 30; i++) {
          try (Socket socket = TunnelUser.connect(client.port())) {
            assertEquals(-1, socket.getInputStream().read());
          }
        }
        server.awaitLog("no target for ", 1);
        long tensOfSeconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - beganAtNs) / 10;
        long lines = server.log().lines().filter(line -> line.contains("no target for")).count();
        assertTrue(lines <= 1 + tensOfSeconds, server.log());
      }
    }
  }

  @Test
  void connectionsWithoutTargetAreClosed() throws Exception {
    try (Socket closed = new Socket()) { // Bound without listening: nobody else gets the port.
      closed.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      try (RunningTunnel server =
              RunningTunnel.server("127.0.0.1:" + closed.getLocalPort(), PLAIN);
          RunningTunnel client = RunningTunnel.client(server.address(), PLAIN);
          Socket socket = TunnelUser.connect(client.port())) {
        assertEquals(-1, socket.getInputStream().read());
        server.awaitLog("no target for .*refused", 1);
      }
    }
  }

  @Test
  void connectionThatWaitsForTheTargetIsDrained() throws Exception {
    InetAddress loopback = InetAddress.getLoopbackAddress();
    try (ServerSocket target = new ServerSocket(0, 1, loopback); // It accepts nothing,
        Socket queued = new Socket(loopback, target.getLocalPort());
        Socket last = new Socket(loopback, target.getLocalPort()); // and its queue is full.
        RunningTunnel server =
            RunningTunnel.server(
                "127.0.0.1:" + target.getLocalPort(), PLAIN + " --drain 1 --snmpperiod 1");
        RunningTunnel client = RunningTunnel.client(server.address(), PLAIN + " --drain 0");
        Socket user = TunnelUser.connect(client.port())) {
      user.getOutputStream().write(1);
      server.awaitLog(" 1 connections of 1, ", 1);
      assertEquals(3, server.stop().exitCode());
      assertTrue(queued.isConnected() && last.isConnected());
    }
  }

  @Test
  void connectionsAreResetWhenTheirSessionEnds() throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), PLAIN + " --drain 0");
        RunningTunnel client = RunningTunnel.client(server.address(), PLAIN);
        Socket socket = TunnelUser.connect(client.port())) {
      checkRoundTrip(socket);
      assertEquals(3, server.stop().exitCode());
      assertThrows(SocketException.class, () -> socket.getInputStream().read());
    }
  }

  // Ending

  @Test
  @SuppressWarnings("try") // The socket is closed before the tunnel.
  void openConnectionsEndBeforeTheClientDoes() throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), PLAIN);
        RunningTunnel client = RunningTunnel.client(server.address(), PLAIN + " --drain 60");
        Socket socket = TunnelUser.connect(client.port())) {
      checkRoundTrip(socket);
      CompletableFuture<Outcome> stopped = CompletableFuture.supplyAsync(() -> stop(client));
      client.awaitLog("draining: 1 connections", 1);
      assertThrows(IOException.class, () -> TunnelUser.connect(client.port()));
      checkRoundTrip(socket);
      assertFalse(stopped.isDone());
      socket.close();
      assertEquals(0, stopped.get().exitCode());
    }
  }

  @Test
  @SuppressWarnings("try") // The socket is closed before the tunnel.
  void openConnectionsEndBeforeTheServerDoes() throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), PLAIN + " --drain 60");
        RunningTunnel client = RunningTunnel.client(server.address(), PLAIN);
        Socket socket = TunnelUser.connect(client.port())) {
      checkRoundTrip(socket);
      CompletableFuture<Outcome> stopped = CompletableFuture.supplyAsync(() -> stop(server));
      server.awaitLog("draining: 1 connections", 1);
      try (Socket refused = TunnelUser.connect(client.port())) {
        assertEquals(-1, refused.getInputStream().read());
      }
      checkRoundTrip(socket);
      socket.close();
      assertEquals(0, stopped.get().exitCode());
    }
  }

  private static Outcome stop(RunningTunnel tunnel) {
    try {
      return tunnel.stop();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void connectionsThatDoNotEndInTimeAreCut() throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), PLAIN);
        RunningTunnel client = RunningTunnel.client(server.address(), PLAIN + " --drain 1");
        Socket socket = TunnelUser.connect(client.port())) {
      checkRoundTrip(socket);
      assertEquals(3, client.stop().exitCode());
      assertThrows(IOException.class, () -> socket.getInputStream().read());
      await().until(() -> target.open() == 0);
    }
  }

  // Options

  @Test
  void statisticsAreALineOfTheLogUnlessQuiet() throws Exception {
    String period = PLAIN + " --snmpperiod 1";
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), period + " --quiet");
        RunningTunnel client = RunningTunnel.client(server.address(), period)) {
      TunnelUser.checkEchoes(client.port(), 2, 1000);
      client.awaitLog("0 connections of 2, 0 failed; 1 sessions; 2000 bytes from TCP, 2000 to", 2);
      client.awaitLog("opened: ", 2);
      client.awaitLog("closed: ", 2);
      assertFalse(server.log().contains("bytes from TCP"), server.log());
      assertFalse(server.log().contains("opened: "), server.log());
    }
  }

  @Test
  void theLogIsAppendedToAFile(@TempDir Path directory) throws Exception {
    Path log = directory.resolve("log");
    Files.writeString(log, "before\n");
    try (RunningTunnel server =
        RunningTunnel.server("127.0.0.1:1", "--log " + log + " --crypt aes-128")) {
      Outcome outcome = server.stop();
      assertEquals("", outcome.err());
    }
    String lines = Files.readString(log);
    String time = "\\d{4}/\\d\\d/\\d\\d \\d\\d:\\d\\d:\\d\\d ";
    assertTrue(lines.matches("before\\R(" + time + ".+\\R)+"), lines);
    assertTrue(lines.contains("smux 2, frames of 8192 bytes, Snappy"), lines);
    assertTrue(lines.contains("windows 1024 and 1024, MTU 1200, interval 30 ms, FEC 10/3"), lines);
    assertTrue(lines.contains("aes-128"), lines);
  }

  @Test
  void theDefaultKeyIsReported() throws Exception {
    try (RunningTunnel server = RunningTunnel.server("127.0.0.1:1", "--key it's");
        Cli.Background client =
            new Cli.Background(
                TunnelProgram.commandLine(),
                "tunnel-client",
                "-l",
                "127.0.0.1:0",
                "-r",
                server.address())) {
      await().until(() -> client.out().contains("listening"));
      assertTrue(client.err().contains("everybody knows"), client.err());
      assertFalse(server.log().contains("everybody knows"), server.log());
    }
  }

  @Test
  void aServerListensOnARangeOfPorts() throws Exception {
    int port = twoFreePorts();
    String range = "127.0.0.1:" + port + "-" + (port + 1);
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(range, target.address(), PLAIN);
        RunningTunnel client = RunningTunnel.client(range, PLAIN + " --conn 20")) {
      assertEquals(2, server.addresses().size());
      TunnelUser.checkEchoes(client.port(), 20, 1000);
      client.awaitLog("session: .*:" + port + "]", 1);
      client.awaitLog("session: .*:" + (port + 1) + "]", 1);
    }
  }

  private static int twoFreePorts() throws IOException {
    while (true) {
      try (DatagramSocket first = udp(0)) {
        int port = first.getLocalPort();
        if (port < 65535) {
          try (DatagramSocket second = udp(port + 1)) {
            return second.getLocalPort() - 1;
          } catch (SocketException e) {
            // In use.
          }
        }
      }
    }
  }

  private static DatagramSocket udp(int port) throws SocketException {
    return new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
  }

  @Test
  void aConfigurationFileOverridesTheCommandLine(@TempDir Path directory) throws Exception {
    try (TcpTarget target = TcpTarget.echo()) {
      Path file = directory.resolve("server.json");
      Files.writeString(
          file,
          """
          {"listen": "127.0.0.1:0", "TARGET": "%s", "key": "k", "crypt": "salsa20",
           "nocomp": false, "quiet": false, "mtu": 1200, "datashard": 0, "qpp": false,
           "snmplog": "", "smuxver": 1, "log": null}
          """
              .formatted(target.address()));
      String options = "--nocomp --quiet --mtu 1000 --smuxver 2 -c " + file;
      try (RunningTunnel server = RunningTunnel.server("127.0.0.1:1", options);
          RunningTunnel client =
              RunningTunnel.client(server.address(), "--key k --crypt salsa20 --smuxver 1")) {
        TunnelUser.checkEchoes(client.port(), 1, 100_000);
        server.awaitLog("smux 1, frames of 8192 bytes, Snappy, .* MTU 1200, .* no FEC, salsa20", 1);
        server.awaitLog("server.json: snmplog is no option and is ignored", 1);
        server.awaitLog("opened: ", 1);
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          {"mtu": "1350"}         | mtu: 1350 (expected: an integer)
          {"mtu": 1350.5}         | mtu: 1350.5 (expected: an integer)
          {"mtu": 99999999999}    | mtu: 99999999999 (expected: an integer)
          {"mtu": 13}             | --mtu: 13 (expected:
          {"nocomp": 1}           | nocomp: 1 (expected: true or false)
          {"key": true}           | key: true (expected: a string)
          {"qpp": true}           | --QPP: quantum permutation pads are left out
          {"tcp": true}           | --tcp: imitating TCP (tcpraw) is left out
          {"key": "a" "mtu": 1}   | line 1: expected '}'
          {"key"                  | line 1: expected ':'
          """)
  void mistakesInAConfigurationFileAreReported(String json, String message, @TempDir Path directory)
      throws Exception {
    Path file = directory.resolve("config.json");
    Files.writeString(file, json);
    Outcome outcome = Cli.run(TunnelProgram.commandLine(), "tunnel-client", "-c", file.toString());
    assertEquals(2, outcome.exitCode());
    assertTrue(outcome.err().contains(message), outcome.err());
    assertFalse(outcome.err().contains("Exception"), outcome.err());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "tunnel-client --QPP",
        "tunnel-client --tcp",
        "tunnel-client --localaddr 12948",
        "tunnel-client --remoteaddr 127.0.0.1:0",
        "tunnel-client --remoteaddr 127.0.0.1:20-10",
        "tunnel-client --remoteaddr 127.0.0.1:10-",
        "tunnel-client --remoteaddr 127.0.0.1:1-70000",
        "tunnel-client --conn 0",
        "tunnel-client --autoexpire -1",
        "tunnel-client --scavengettl -1",
        "tunnel-server --listen 127.0.0.1:0-3",
        "tunnel-server --target 127.0.0.1:0",
        "tunnel-server --target 127.0.0.1:1-2",
        "tunnel-server --target /run/socket",
        "tunnel-server --crypt rot13",
        "tunnel-server --mode fast9",
        "tunnel-server --mode manual --nodelay 2",
        "tunnel-server --mode manual --nc 2",
        "tunnel-server --congestion-control vegas",
        "tunnel-server --mode manual --interval 0",
        "tunnel-server --mtu 1501",
        "tunnel-server --mtu 50",
        "tunnel-server --sndwnd 0",
        "tunnel-server --rcvwnd 65536",
        "tunnel-server --datashard 250 --parityshard 7",
        "tunnel-server --datashard -1",
        "tunnel-server --dscp 64",
        "tunnel-server --sockbuf 0",
        "tunnel-server --smuxver 3",
        "tunnel-server --framesize 65536",
        "tunnel-server --smuxbuf 1000000 --streambuf 1000001",
        "tunnel-server --keepalive -1",
        "tunnel-server --closewait -1",
        "tunnel-server --ratelimit -1",
        "tunnel-server --drain -1",
        "tunnel-server --threads -1",
        "tunnel-server --snmpperiod -1",
        "tunnel-server -c no-such-file.json",
        "tunnel-server --no-such-option"
      })
  void invalidCommandLineExitsWithTwo(String line) {
    Outcome outcome = Cli.run(TunnelProgram.commandLine(), line.split(" "));
    assertEquals(2, outcome.exitCode());
    assertEquals("", outcome.out());
    assertFalse(outcome.err().isEmpty());
    assertFalse(outcome.err().contains("Exception"), outcome.err());
  }

  @Test
  void portsInUseAreReportedInOneLine() throws Exception {
    try (ServerSocket tcp = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        DatagramSocket udp = udp(0)) {
      String tcpAddress = "127.0.0.1:" + tcp.getLocalPort();
      assertFails(
          "tunnel-client: cannot listen on " + tcpAddress,
          "tunnel-client --quiet --key k --remoteaddr 127.0.0.1:1 --localaddr " + tcpAddress);
      String udpAddress = "127.0.0.1:" + udp.getLocalPort();
      assertFails(
          "tunnel-server: cannot listen on " + udpAddress,
          "tunnel-server --quiet --key k --listen " + udpAddress);
    }
  }

  @Test
  void otherFailuresAreReportedInOneLine() {
    assertFails(
        "tunnel-server: unknown host: ::g",
        "tunnel-server --key k --listen 127.0.0.1:0 --target [::g]:80");
    assertFails(
        "tunnel-server: cannot write the log: ",
        "tunnel-server --key k --log /no/such/directory/log");
  }

  private static void assertFails(String message, String line) {
    Outcome outcome = Cli.run(TunnelProgram.commandLine(), line.split(" "));
    assertEquals(1, outcome.exitCode());
    assertEquals("", outcome.out());
    assertTrue(outcome.err().contains(message), outcome.err());
    assertFalse(outcome.err().contains("Exception"), outcome.err());
  }
}
