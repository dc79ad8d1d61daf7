package io.kcp4j.examples;

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
abstract class BaseCommand {}
