package io.kcp4j.netty.interop;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/**
 * A process of a {@link GoProgram}: a client, or a server. Closing this ends the process. Where the
 * program cannot be built, the test is skipped, or fails.
 */
public final class GoPeer implements AutoCloseable {

  private static final int START_TIMEOUT_SECONDS = 20;
  private static final int GRACE_SECONDS = 10;
  private static final String LISTENING = "listening ";

  private final Process process;
  private final int timeoutSeconds;
  private final Thread reader;
  private final CompletableFuture<InetSocketAddress> address = new CompletableFuture<>();
  private final Map<String, CompletableFuture<Void>> awaited = new ConcurrentHashMap<>();
  private final List<String> output = new ArrayList<>();

  private GoPeer(Process process, int timeoutSeconds) {
    this.process = process;
    this.timeoutSeconds = timeoutSeconds;
    this.reader = new Thread(this::readOutput, "go-peer-output");
    this.reader.setDaemon(true);
    this.reader.start();
  }

  /** Starts a server on a port that the system chooses. It ends with this process at the latest. */
  public static GoPeer server(String command, List<String> flags) {
    List<String> arguments = new ArrayList<>(List.of(command, "--exit-on-eof"));
    arguments.addAll(flags);
    return start(GoProgram.INTEROP, arguments, 0);
  }

  /** Starts a client, which ends when it is done or when {@code timeoutSeconds} have passed. */
  static GoPeer client(
      String command, InetSocketAddress remote, int timeoutSeconds, List<String> flags) {
    return client(GoProgram.INTEROP, command, remote, timeoutSeconds, flags);
  }

  static GoPeer client(
      GoProgram program,
      String command,
      InetSocketAddress remote,
      int timeoutSeconds,
      List<String> flags) {
    String host = remote.getAddress().getHostAddress();
    List<String> arguments = new ArrayList<>();
    arguments.add(command);
    arguments.add("--remote=" + host + ":" + remote.getPort());
    arguments.add("--timeout=" + timeoutSeconds + "s");
    arguments.addAll(flags);
    return start(program, arguments, timeoutSeconds);
  }

  private static GoPeer start(GoProgram program, List<String> arguments, int timeoutSeconds) {
    List<String> commandLine = new ArrayList<>(arguments);
    commandLine.add(0, program.binary().toString());
    try {
      return new GoPeer(
          new ProcessBuilder(commandLine).redirectErrorStream(true).start(), timeoutSeconds);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Where a server listens. */
  public InetSocketAddress address() throws Exception {
    try {
      return address.get(START_TIMEOUT_SECONDS, SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new AssertionError("not listening: " + output(), e);
    }
  }

  /** Waits for the end of a client and asserts that it found everything right. */
  void assertSucceeds() throws Exception {
    boolean ended = process.waitFor(timeoutSeconds + GRACE_SECONDS, SECONDS);
    assertTrue(ended, () -> "still running: " + output());
    reader.join();
    assertEquals(0, process.exitValue(), this::output);
  }

  /** Tells a server to end, and waits until it has. */
  public void finish() throws Exception {
    process.getOutputStream().close();
    boolean ended = process.waitFor(GRACE_SECONDS, SECONDS);
    assertTrue(ended, () -> "still running: " + output());
    reader.join();
  }

  /** What kcp-go has counted; a process says it when it ends. */
  public long count(String counter) {
    try (Scanner scanner = new Scanner(output())) {
      String entry = scanner.findWithinHorizon("\"" + counter + "\":(\\d+)", 0);
      assertNotNull(entry, () -> "no " + counter + ": " + output());
      return Long.parseLong(scanner.match().group(1));
    }
  }

  /** Waits until a client has printed {@code line}. */
  void awaitLine(String line) throws Exception {
    awaited(line).get(timeoutSeconds, SECONDS);
  }

  private CompletableFuture<Void> awaited(String line) {
    return awaited.computeIfAbsent(line, key -> new CompletableFuture<>());
  }

  /** Ends the process and waits for its end. */
  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }

  private String output() {
    synchronized (output) {
      return String.join("\n", output);
    }
  }

  private void readOutput() {
    try (BufferedReader lines = process.inputReader(UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        synchronized (output) {
          output.add(line);
        }
        if (line.startsWith(LISTENING)) {
          address.complete(parseAddress(line.substring(LISTENING.length())));
        }
        awaited(line).complete(null);
      }
      fail(new IOException("the process has ended"));
    } catch (IOException e) {
      fail(e);
    }
  }

  private void fail(IOException e) {
    address.completeExceptionally(e);
    awaited.values().forEach(line -> line.completeExceptionally(e));
  }

  private static InetSocketAddress parseAddress(String hostAndPort) {
    int colon = hostAndPort.lastIndexOf(':');
    return new InetSocketAddress(
        hostAndPort.substring(0, colon), Integer.parseInt(hostAndPort.substring(colon + 1)));
  }
}
