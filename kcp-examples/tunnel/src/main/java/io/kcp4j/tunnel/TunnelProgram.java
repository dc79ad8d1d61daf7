package io.kcp4j.tunnel;

import io.kcp4j.command.BaseCommand;
import io.kcp4j.command.Program;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of the tunnel alone. */
@Command(
    name = "kcp-tunnel",
    description = "TCP connections through KCP, for those who use kcptun.",
    synopsisSubcommandLabel = "COMMAND",
    versionProvider = Program.Version.class,
    subcommands = {TunnelClientCommand.class, TunnelServerCommand.class})
public final class TunnelProgram extends BaseCommand {

  private TunnelProgram() {}

  /** Runs an end of the tunnel, and ends the JVM with its exit code. */
  public static void main(String[] args) {
    Program.run(commandLine(), args);
  }

  /** The whole command line, ready to execute. */
  static CommandLine commandLine() {
    return Program.commandLine(new TunnelProgram());
  }
}
