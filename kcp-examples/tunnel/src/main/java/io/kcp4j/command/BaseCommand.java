package io.kcp4j.command;

import picocli.CommandLine.Command;

/** The help options and exit codes of every command. */
@Command(
    mixinStandardHelpOptions = true,
    sortOptions = false,
    usageHelpAutoWidth = true,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:success",
      "1:failure: no answer from the peer, corrupted data, a port in use, ...",
      "2:invalid command line",
      "130:interrupted by Ctrl-C"
    })
public abstract class BaseCommand {

  /** The shell's exit code for interruption by Ctrl-C. */
  public static final int INTERRUPTED = 130;

  private static final int SHUTDOWN_TIMEOUT_S = 5;

  /** How long Ctrl-C waits until the command has closed its sessions, in seconds. */
  protected int shutdownTimeoutS() {
    return SHUTDOWN_TIMEOUT_S;
  }
}
