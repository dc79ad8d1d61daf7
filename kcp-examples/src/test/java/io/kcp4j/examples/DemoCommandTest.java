package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.command.Cli;
import io.kcp4j.command.Cli.Outcome;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class DemoCommandTest {

  /** Two players of each variant, six ticks that are not measured and six that are. */
  private static final int MESSAGES = 4 * 2 * (6 + 6) * GameTraffic.ENTITIES;

  private static Outcome outcome;

  @BeforeAll
  static void runOnce() {
    outcome =
        Cli.run(
            KcpCommand.commandLine(),
            "demo --seconds 0.1 --warm-up 0.1 --players 2 --loss 10 --delay 2 --jitter 0.5"
                .split(" "));
    assertEquals(0, outcome.exitCode(), outcome.err());
  }

  @Test
  void tableHasARowForEachVariant() {
    List<String> lines = outcome.out().lines().toList();
    int head = lines.indexOf(DemoTable.head());
    assertTrue(head > 0, outcome.out());
    Iterator<String> rows = lines.listIterator(head + 1);
    String figures = "( +\\d+\\.\\d){4} +\\d+\\.\\d\\d +\\d+";
    for (GameVariant variant : GameVariant.values()) {
      String row = rows.next();
      assertTrue(row.matches(variant.title() + figures), row);
    }
  }

  @Test
  void allMessagesAreEchoed() {
    String line = MESSAGES + " messages echoed, every byte correct.";
    assertTrue(outcome.out().lines().anyMatch(line::equals), outcome.out());
  }

  @Test
  void progressIsShownFromTheStart() {
    assertTrue(outcome.err().startsWith("0 s, warming up"), outcome.err());
  }

  @Test
  void linesFitATerminal() {
    List<String> longer = outcome.out().lines().filter(line -> line.length() > 80).toList();
    assertEquals(List.of(), longer);
  }
}
