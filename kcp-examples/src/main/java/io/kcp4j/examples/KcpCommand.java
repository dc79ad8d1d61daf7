package io.kcp4j.examples;

import io.kcp4j.examples.tunnel.TunnelClientCommand;
import io.kcp4j.examples.tunnel.TunnelServerCommand;
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
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.ParseResult;

/** The command line {@code kcp}; its subcommands are other classes of this package. */
@Command(
    name = "kcp",
    description = "KCP, reliable UDP with low latency: demonstrate it, test it, measure it.",
    synopsisSubcommandLabel = "COMMAND",
    versionProvider = KcpCommand.Version.class,
    subcommands = {
      DemoCommand.class,
      ShooterCommand.class,
      EchoServerCommand.class,
      EchoClientCommand.class,
      PerfServerCommand.class,
      PerfClientCommand.class,
      PingCommand.class,
      TunnelClientCommand.class,
      TunnelServerCommand.class
    })
public final class KcpCommand extends BaseCommand {

  /** Netty's loggers: the commands report relevant failures themselves, in one line each. */
  private static final Logger NETTY_LOG = Logger.getLogger("io.netty");

  /** The property by which users may switch Netty's leak detection on. */
  private static final String LEAK_DETECTION = "io.netty.leakDetection.level";

  private KcpCommand() {}

  /** Runs a command and ends the JVM with its exit code. */
  public static void main(String[] args) {
    NETTY_LOG.setLevel(Level.SEVERE);
    if (System.getProperty(LEAK_DETECTION) == null) { // It costs a tunnel CPU time.
      ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
    }
    CommandLine line = commandLine();
    CompletableFuture<Integer> exitCode = new CompletableFuture<>();
    interruptOnShutdown(Thread.currentThread(), line, exitCode);
    exitCode.complete(line.execute(args));
    System.exit(exitCode.join());
  }

  /** The whole command line, ready to execute. */
  static CommandLine commandLine() {
    return new CommandLine(new KcpCommand())
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setExecutionExceptionHandler(
            (failure, command, parsed) -> {
              String name = command.getCommandSpec().qualifiedName();
              command.getErr().println(name + ": " + CommandFailure.describe(failure));
              return CommandLine.ExitCode.SOFTWARE;
            });
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
                if (code != SessionCommand.INTERRUPTED) {
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
  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() throws IOException {
      Properties properties = new Properties();
      try (InputStream in = KcpCommand.class.getResourceAsStream("version.properties")) {
        properties.load(in);
      }
      return new String[] {"kcp4j " + properties.getProperty("version")};
    }
  }
}
