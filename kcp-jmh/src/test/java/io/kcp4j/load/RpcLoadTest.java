package io.kcp4j.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class RpcLoadTest {

  private final BlockingQueue<Throwable> failures = new LinkedBlockingQueue<>();

  private int run(InputStream in, PrintStream out, String... args) {
    return RpcLoad.run(in, out, failures::add, args);
  }

  private static String remote(RunningLoad server) throws IOException {
    String line = server.line();
    assumeTrue(line.startsWith("listening "), line);
    return line.replace("listening ", "--remote=");
  }

  @ParameterizedTest
  @CsvSource({"kcp, unary", "kcp, bidi", "tcp, unary", "tcp, bidi"})
  void roundTripsOfCallsAreMeasured(String transport, String mode) throws Exception {
    String[] both = {"--transport=" + transport, "--mode=" + mode, "--message-bytes=1000"};
    try (RunningLoad server = new RunningLoad(this::run, with(both, "--listen=127.0.0.1:0"));
        RunningLoad client = new RunningLoad(this::run, with(both, remote(server)))) {
      assertTrue(client.awaitPositive("messages") > 0);
      assertTrue(client.awaitPositive("max_us") > 0);
      assertEquals(List.of(), List.copyOf(failures));
    }
    assertEquals(List.of(), List.copyOf(failures));
  }

  @ParameterizedTest
  @ValueSource(strings = {"--transport=kcp", "--transport=tcp", "--defaults"})
  void firstSecondOfAStreamIsMeasuredApart(String with) throws Exception {
    String[] both = {with, "--mode=bidi_first_second", "--warm-up=1"};
    try (RunningLoad server = new RunningLoad(this::run, with(both, "--listen=127.0.0.1:0"));
        RunningLoad client = new RunningLoad(this::run, with(both, remote(server)))) {
      client.awaitPositive("messages");
      client.awaitPositive("later_ns");
    }
    assertEquals(List.of(), List.copyOf(failures));
  }

  @Test
  void largeCallsAreTimedInAFreshSessionAndAfterSmallCalls() throws Exception {
    String[] both = {"--mode=large", "--small-calls=10", "--large-bytes=5000000"};
    try (RunningLoad server = new RunningLoad(this::run, with(both, "--listen=127.0.0.1:0"));
        RunningLoad client = new RunningLoad(this::run, with(both, remote(server)))) {
      String times = client.mark();
      while (!times.contains("used_ms") && failures.isEmpty()) {
        times = client.mark();
      }
      assertTrue(times.matches("\\{\"fresh_ms\":\\[.*],\"used_ms\":\\[.*]}"), times);
    }
    assertEquals(List.of(), List.copyOf(failures));
  }

  @Test
  void callThatFailsIsReported() throws Exception {
    try (Socket closed = new Socket()) { // Bound without listening: nobody else gets the port.
      closed.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      String remote = "--remote=127.0.0.1:" + closed.getLocalPort();
      try (RunningLoad client = new RunningLoad(this::run, remote, "--transport=tcp")) {
        assertNotNull(failures.poll(20, TimeUnit.SECONDS));
        assertNotNull(client);
      }
    }
  }

  private static String[] with(String[] both, String role) {
    return new String[] {both[0], both[1], both[2], role};
  }
}
