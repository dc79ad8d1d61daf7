package io.kcp4j.command;

import io.netty.util.ResourceLeakDetector;
import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.ParseResult;

/** Runs a command line as a process. */
public final class Program {

  /** Netty's loggers: the commands report relevant failures themselves, in one line each. */
  private static final Logger NETTY_LOG = Logger.getLogger("io.netty");

  /** The property by which users may switch Netty's leak detection on. */
  private static final String LEAK_DETECTION = "io.netty.leakDetection.level";

  private Program() {}

  /** The whole command line of {@code root}, ready to execute. Failures are one line each. */
  public static CommandLine commandLine(BaseCommand root) {
    return new CommandLine(root)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setExecutionExceptionHandler(
            (failure, command, parsed) -> {
              String name = command.getCommandSpec().qualifiedName();
              command.getErr().println(name + ": " + CommandFailure.describe(failure));
              return CommandLine.ExitCode.SOFTWARE;
            });
  }

  /** Runs a command and ends the JVM with its exit code. */
  public static void run(CommandLine line, String... args) {
    NETTY_LOG.setLevel(Level.SEVERE);
    if (System.getProperty(LEAK_DETECTION) == null) { // It costs a tunnel CPU time.
      ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
    }
    CompletableFuture<Integer> exitCode = new CompletableFuture<>();
    interruptOnShutdown(Thread.currentThread(), line, exitCode);
    exitCode.complete(line.execute(args));
    System.exit(exitCode.join());
  }

  /**
   * Ctrl-C and SIGTERM interrupt the command, which then closes its sessions. Its exit code is that
   * of the process, unless it says no more than that it was interrupted.
   */
  private static void interruptOnShutdown(
      Thread command, CommandLine line, CompletableFuture<Integer> exitCode) {
    Thread hook =
        new Thread(
            () -> {
              if (exitCode.isDone()) {
                return;
              }
              command.interrupt();
              try {
                int code = exitCode.get(shutdownTimeoutS(line), TimeUnit.SECONDS);
                if (code != BaseCommand.INTERRUPTED) {
                  Runtime.getRuntime().halt(code);
                }
              } catch (InterruptedException | ExecutionException | TimeoutException e) {
                // The process ends without waiting any longer.
              }
            },
            "interrupt-on-shutdown");
    Runtime.getRuntime().addShutdownHook(hook);
  }

  private static int shutdownTimeoutS(CommandLine line) {
    ParseResult parsed = line.getParseResult();
    boolean isCommand = parsed != null && parsed.hasSubcommand();
    return isCommand
        ? ((BaseCommand) parsed.subcommand().commandSpec().userObject()).shutdownTimeoutS()
        : 0;
  }

  /** The version that Maven wrote into the jar. */
  public static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() throws IOException {
      Properties properties = new Properties();
      try (InputStream in = Program.class.getResourceAsStream("version.properties")) {
        properties.load(in);
      }
      return new String[] {"kcp4j " + properties.getProperty("version")};
    }
  }
}
