package io.kcp4j.examples;

import io.kcp4j.command.BaseCommand;
import io.kcp4j.command.Program;
import io.kcp4j.tunnel.TunnelClientCommand;
import io.kcp4j.tunnel.TunnelServerCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line {@code kcp}, with all commands of kcp4j. */
@Command(
    name = "kcp",
    description = "KCP, reliable UDP with low latency: demonstrate it, test it, measure it.",
    synopsisSubcommandLabel = "COMMAND",
    versionProvider = Program.Version.class,
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

  private KcpCommand() {}

  /** Runs a command and ends the JVM with its exit code. */
  public static void main(String[] args) {
    Program.run(commandLine(), args);
  }

  /** The whole command line, ready to execute. */
  static CommandLine commandLine() {
    return Program.commandLine(new KcpCommand());
  }
}
