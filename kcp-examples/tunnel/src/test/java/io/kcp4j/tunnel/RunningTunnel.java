package io.kcp4j.tunnel;

import static org.awaitility.Awaitility.await;

import io.kcp4j.command.Cli.Background;
import io.kcp4j.command.Cli.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** An end of the tunnel that runs in this JVM. Closing it interrupts it, as SIGTERM does. */
final class RunningTunnel implements AutoCloseable {

  /** Of all ends, unless options name another. */
  static final String KEY = "a key of the tests";

  private static final Pattern LISTENING = Pattern.compile("listening (127\\.0\\.0\\.1:(\\d+))\\R");

  private final Background command;

  private RunningTunnel(String... args) {
    command = new Background(TunnelProgram.commandLine(), args);
    await().until(() -> !command.isRunning() || LISTENING.matcher(command.out()).find());
    if (addresses().isEmpty()) {
      throw new AssertionError("did not listen: " + command.err());
    }
  }

  /** A server in front of a target, with options that are separated by spaces. */
  static RunningTunnel server(String target, String options) {
    return server("127.0.0.1:0", target, options);
  }

  static RunningTunnel server(String listen, String target, String options) {
    return new RunningTunnel(
        arguments("tunnel-server --listen " + listen + " --target " + target + " " + options));
  }

  /** A client of a server, with options that are separated by spaces. */
  static RunningTunnel client(String remote, String options) {
    return new RunningTunnel(
        arguments("tunnel-client --localaddr 127.0.0.1:0 --remoteaddr " + remote + " " + options));
  }

  private static String[] arguments(String line) {
    List<String> arguments = new ArrayList<>(List.of(line.strip().split(" +")));
    if (!line.contains("-key") && !line.contains("-c ")) {
      arguments.add("--key=" + KEY);
    }
    return arguments.toArray(String[]::new);
  }

  /** Where it listens first. */
  String address() {
    return addresses().get(0);
  }

  List<String> addresses() {
    return LISTENING.matcher(command.out()).results().map((MatchResult m) -> m.group(1)).toList();
  }

  int port() {
    return Integer.parseInt(address().substring(address().lastIndexOf(':') + 1));
  }

  /** The log. */
  String log() {
    return command.err();
  }

  /** Waits until the log has lines that match. */
  void awaitLog(String regex, int lines) {
    Pattern pattern = Pattern.compile(regex);
    await().until(() -> pattern.matcher(log()).results().count() >= lines);
  }

  boolean isRunning() {
    return command.isRunning();
  }

  /** Interrupts it and waits for its end. */
  Outcome stop() throws InterruptedException {
    return command.stop();
  }

  @Override
  public void close() {
    command.close();
  }
}
