package io.kcp4j.load;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.channel.epoll.Epoll;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class LoadTest {

  @ParameterizedTest
  @ValueSource(strings = {"kcp", "tcp", "quic"})
  void echoIsCountedByTheClient(String transport) throws IOException {
    String with = "--transport=" + transport;
    try (RunningLoad server = new RunningLoad("--listen=127.0.0.1:0", with);
        RunningLoad client = new RunningLoad(remote(server), "--mode=echo", with)) {
      double echoed = client.awaitPositive("bytes");
      assertTrue(server.awaitPositive("bytes") >= echoed);
    }
  }

  @Test
  void pingsAreEchoedWhileTheServerCounts() throws IOException {
    try (RunningLoad server = new RunningLoad("--listen=127.0.0.1:0");
        RunningLoad client = new RunningLoad(remote(server), "--mode=ping")) {
      server.awaitPositive("bytes");
      assertTrue(client.awaitPositive("p50_us") > 0);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"kcp", "tcp", "quic"})
  void messagesOfAGameAreEchoedInOrder(String transport) throws IOException {
    String with = "--transport=" + transport;
    try (RunningLoad server = new RunningLoad("--listen=127.0.0.1:0", "--mode=game", with);
        RunningLoad client = new RunningLoad(remote(server), "--mode=game", with)) {
      assertTrue(client.awaitPositive("messages") > 0);
      assertTrue(client.awaitPositive("max_us") > 0);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"--messages", "--lane-kind=reliable_ordered"})
  void messagesOfAGameAreEchoedWhateverTheDelivery(String with) throws IOException {
    try (RunningLoad server =
            new RunningLoad("--listen=127.0.0.1:0", "--mode=game", "--memory-limit=1000000", with);
        RunningLoad client = new RunningLoad(remote(server), "--mode=game", with)) {
      assertTrue(client.awaitPositive("messages") > 0);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"--transport=kcp", "--lane-kind=reliable_ordered"})
  @SuppressWarnings("try") // The client only has to run.
  void delaysOfTheMessagesOfEntitiesAreMeasuredByTheServer(String with) throws IOException {
    try (RunningLoad server = new RunningLoad("--listen=127.0.0.1:0", "--mode=lanes", with);
        RunningLoad client = new RunningLoad(remote(server), "--mode=lanes", with)) {
      assertTrue(server.awaitPositive("messages") > 0);
      assertTrue(server.awaitPositive("max_us") > 0);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "requests, --transport=kcp", "requests, --transport=tcp", "requests, --transport=quic",
    "requests, --defaults", "writes, --defaults", "writes, --transport=tcp"
  })
  void numberedMessagesAreEchoedUnchanged(String mode, String with) throws IOException {
    String modeOption = "--mode=" + mode;
    try (RunningLoad server = new RunningLoad("--listen=127.0.0.1:0", modeOption, with);
        RunningLoad client = new RunningLoad(remote(server), modeOption, "--in-flight=3", with)) {
      client.awaitPositive("messages");
      assertHasOnlyNumberedBytes(client.mark());
      assertHasOnlyNumberedBytes(server.mark());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"--transport=kcp", "--transport=tcp", "--transport=quic", "--defaults"})
  void uploadIsAnsweredOnceAllHasArrived(String with) throws IOException {
    String[] upload = {"--mode=upload", "--upload-bytes=1000001", "--warm-up-bytes=70000", with};
    try (RunningLoad server = new RunningLoad(with(upload, "--listen=127.0.0.1:0"));
        RunningLoad client = new RunningLoad(with(upload, remote(server)))) {
      String log = client.mark();
      while (!log.matches(".*\"bytes\":8,.*\"bytes\":8,.*")) {
        log = client.mark();
      }
      assertHasOnlyNumberedBytes(log);
      String received = server.mark();
      assertHasOnlyNumberedBytes(received);
      assertTrue(received.contains("\"bytes\":70000,"), received);
      assertTrue(received.contains("\"bytes\":1000001,"), received);
    }
  }

  private static void assertHasOnlyNumberedBytes(String log) {
    assertTrue(log.contains("\"wrong\":\"\""), log);
    assertFalse(log.contains("\"wrong\":\"byte"), log);
  }

  private static String[] with(String[] both, String role) {
    String[] all = Arrays.copyOf(both, both.length + 1);
    all[both.length] = role;
    return all;
  }

  @Test
  void newSessionsHaveTheirFirstEchoes() throws IOException {
    try (RunningLoad server = new RunningLoad("--listen=127.0.0.1:0", "--mode=game");
        RunningLoad client =
            new RunningLoad(remote(server), "--mode=arrivals", "--arrival-period=1")) {
      assertEquals("started", client.line());
      client.awaitPositive("messages");
      assertTrue(client.awaitPositive("begun") <= 100);
    }
  }

  @Test
  void tcpHasTheCongestionControlThatIsNamed() throws IOException {
    String tcp = "--transport=tcp";
    String reno = "--tcp-congestion-control=reno";
    try (RunningLoad server = new RunningLoad("--listen=127.0.0.1:0", tcp, reno);
        RunningLoad client = new RunningLoad(remote(server), "--mode=echo", tcp, reno)) {
      client.awaitPositive("bytes");
    }
  }

  @Test
  void congestionControlThatTheKernelLacksIsAnError() {
    assumeTrue(Epoll.isAvailable());
    PrintStream out = new PrintStream(OutputStream.nullOutputStream(), true, UTF_8);
    int status =
        Load.run(
            InputStream.nullInputStream(),
            out,
            "--listen=127.0.0.1:0",
            "--transport=tcp",
            "--tcp-congestion-control=unknown");
    assertEquals(1, status);
  }

  private static String remote(RunningLoad server) throws IOException {
    String line = server.line();
    assumeTrue(line.startsWith("listening "), line);
    return line.replace("listening ", "--remote=");
  }
}
