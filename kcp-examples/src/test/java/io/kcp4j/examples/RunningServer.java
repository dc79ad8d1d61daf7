package io.kcp4j.examples;

import static org.awaitility.Awaitility.await;

import io.kcp4j.command.Cli.Background;
import io.kcp4j.command.Cli.Outcome;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A server command on a free port of loopback. */
final class RunningServer implements AutoCloseable {

  private static final Pattern LISTENING = Pattern.compile("listening (127\\.0\\.0\\.1:\\d+)\\R");

  private final Background command;
  private final String address;

  RunningServer(String name, String... options) {
    String[] args = {name, "--listen", "127.0.0.1:0"};
    command =
        new Background(
            KcpCommand.commandLine(),
            Stream.of(args, options).flatMap(Stream::of).toArray(String[]::new));
    await().until(() -> !command.isRunning() || LISTENING.matcher(out()).lookingAt());
    Matcher listening = LISTENING.matcher(out());
    if (!listening.lookingAt()) {
      throw new AssertionError("did not listen: " + out());
    }
    address = listening.group(1);
  }

  /** The address for {@code --remote} of clients. */
  String address() {
    return address;
  }

  String out() {
    return command.out();
  }

  Outcome stop() throws InterruptedException {
    return command.stop();
  }

  @Override
  public void close() {
    command.close();
  }
}
