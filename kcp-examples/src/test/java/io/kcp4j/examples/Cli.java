package io.kcp4j.examples;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** Runs commands in this JVM. */
final class Cli {

  /** The result of a command. */
  record Outcome(int exitCode, String out, String err) {

    String lastLine() {
      return out.lines().reduce("", (earlier, later) -> later);
    }
  }

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private Cli() {}

  static Outcome run(String... args) {
    return new Cli().execute(args);
  }

  private Outcome execute(String... args) {
    CommandLine command =
        KcpCommand.commandLine()
            .setOut(new PrintWriter(out, true))
            .setErr(new PrintWriter(err, true))
            .setColorScheme(CommandLine.Help.defaultColorScheme(CommandLine.Help.Ansi.OFF));
    return new Outcome(command.execute(args), out.toString(), err.toString());
  }

  /** A command on a thread of its own; closing it interrupts the command, as Ctrl-C does. */
  static final class Background implements AutoCloseable {

    private final Cli cli = new Cli();
    private final Thread thread;
    private volatile Outcome outcome;

    Background(String... args) {
      thread = new Thread(() -> outcome = cli.execute(args), String.join(" ", args));
      thread.start();
    }

    String out() {
      return cli.out.toString();
    }

    boolean isRunning() {
      return thread.isAlive();
    }

    /** Interrupts the command and waits for its end. */
    Outcome stop() throws InterruptedException {
      thread.interrupt();
      thread.join();
      return outcome;
    }

    @Override
    public void close() {
      try {
        stop();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
