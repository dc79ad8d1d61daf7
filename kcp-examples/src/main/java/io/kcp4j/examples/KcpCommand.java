package io.kcp4j.examples;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;

/** The command line {@code kcp}; its subcommands are other classes of this package. */
@Command(
    name = "kcp",
    description = "KCP, reliable UDP with low latency: demonstrate it, test it, measure it.",
    synopsisSubcommandLabel = "COMMAND",
    versionProvider = KcpCommand.Version.class,
    subcommands = {
      DemoCommand.class,
      EchoServerCommand.class,
      EchoClientCommand.class,
      PerfServerCommand.class,
      PerfClientCommand.class,
      PingCommand.class
    })
public final class KcpCommand extends BaseCommand {

  /** How long Ctrl-C waits until a command has closed its sessions, in seconds. */
  private static final int SHUTDOWN_TIMEOUT_S = 5;

  /** Netty's loggers: the commands report relevant failures themselves, in one line each. */
  private static final Logger NETTY_LOG = Logger.getLogger("io.netty");

  private KcpCommand() {}

  /** Runs a command and ends the JVM with its exit code. */
  public static void main(String[] args) {
    NETTY_LOG.setLevel(Level.SEVERE);
    CountDownLatch ended = new CountDownLatch(1);
    interruptOnShutdown(Thread.currentThread(), ended);
    int exitCode = commandLine().execute(args);
    ended.countDown();
    System.exit(exitCode);
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

  /** Ctrl-C interrupts the command, which then closes its sessions. */
  private static void interruptOnShutdown(Thread command, CountDownLatch ended) {
    Thread hook =
        new Thread(
            () -> {
              if (ended.getCount() == 0) {
                return;
              }
              command.interrupt();
              try {
                ended.await(SHUTDOWN_TIMEOUT_S, TimeUnit.SECONDS);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            },
            "interrupt-on-shutdown");
    Runtime.getRuntime().addShutdownHook(hook);
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
