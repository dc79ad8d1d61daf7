package io.kcp4j.command;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** Runs commands in this JVM. */
public final class Cli {

  /** The result of a command. */
  public record Outcome(int exitCode, String out, String err) {

    /** The last line of the standard output. */
    public String lastLine() {
      return out.lines().reduce("", (earlier, later) -> later);
    }
  }

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private final CommandLine command;

  private Cli(CommandLine line) {
    command =
        line.setOut(new PrintWriter(out, true))
            .setErr(new PrintWriter(err, true))
            .setColorScheme(CommandLine.Help.defaultColorScheme(CommandLine.Help.Ansi.OFF));
  }

  /** Runs a command to its end. */
  public static Outcome run(CommandLine line, String... args) {
    return new Cli(line).execute(args);
  }

  private Outcome execute(String... args) {
    return new Outcome(command.execute(args), out.toString(), err.toString());
  }

  /** A command on a thread of its own; closing it interrupts the command, as Ctrl-C does. */
  public static final class Background implements AutoCloseable {

    private final Cli cli;
    private final Thread thread;
    private volatile Outcome outcome;

    /** Starts a command. */
    public Background(CommandLine line, String... args) {
      cli = new Cli(line);
      thread = new Thread(() -> outcome = cli.execute(args), String.join(" ", args));
      thread.start();
    }

    /** What the command has printed. */
    public String out() {
      return cli.out.toString();
    }

    /** What the command has written to the standard error. */
    public String err() {
      return cli.err.toString();
    }

    public boolean isRunning() {
      return thread.isAlive();
    }

    /** Interrupts the command and waits for its end. */
    public Outcome stop() throws InterruptedException {
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
