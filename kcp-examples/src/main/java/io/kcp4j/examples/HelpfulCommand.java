package io.kcp4j.examples;

import picocli.CommandLine.Command;

/** What the help of every command says. */
@Command(
    mixinStandardHelpOptions = true,
    sortOptions = false,
    usageHelpAutoWidth = true,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:success: all that was asked for came true",
      "1:failure: a peer did not answer, a byte was wrong, a port was taken...",
      "2:the command line was not understood",
      "130:ended by Ctrl-C"
    })
abstract class HelpfulCommand {}
