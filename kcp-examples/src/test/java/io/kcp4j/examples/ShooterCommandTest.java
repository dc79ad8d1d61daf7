package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.command.Cli;
import io.kcp4j.command.Cli.Outcome;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ShooterCommandTest {

  private static Outcome outcome;

  @BeforeAll
  static void runOnce() {
    outcome =
        Cli.run(
            KcpCommand.commandLine(),
            "shooter --seconds 0.5 --level 0.2 --rate 2 --loss 10 --delay 2 --jitter 0.5"
                .split(" "));
    assertEquals(0, outcome.exitCode(), outcome.err());
  }

  @Test
  void tableHasARowForEachLaneAndVariant() {
    List<String> lines = outcome.out().lines().toList();
    int head = lines.indexOf(ShooterTable.head());
    assertTrue(head > 0, outcome.out());
    Iterator<String> rows = lines.listIterator(head + 1);
    for (ShooterLane lane : ShooterLane.values()) {
      for (ShooterVariant variant : ShooterVariant.values()) {
        if (lane != ShooterLane.LEVEL) {
          String row = rows.next();
          String figures = " +\\d+ +\\d+( +\\d+\\.\\d){3} +\\d+\\.\\d %";
          assertTrue(row.matches(lane.title() + " +" + variant.title() + figures), row);
        }
      }
    }
  }

  @Test
  void everyMeasuredReliableMessageArrives() {
    ShooterTraffic traffic = new ShooterTraffic(30, 30, 0, 0);
    for (ShooterLane lane : ShooterLane.values()) {
      for (ShooterVariant variant : ShooterVariant.values()) {
        boolean isReliable = lane.kind().isReliable() || variant == ShooterVariant.ONE_STREAM;
        if (lane != ShooterLane.LEVEL && isReliable) {
          int measured = traffic.messages(lane) - traffic.unmeasured(lane);
          String row = lane.title() + " +" + variant.title() + " +" + measured + " +" + measured;
          assertTrue(
              outcome.out().lines().anyMatch(line -> line.matches(row + " .*")), outcome.out());
        }
      }
    }
  }

  @Test
  void levelArrivesInBothVariants() {
    String times = "\\d+\\.\\d s on lanes, \\d+\\.\\d s in one stream\\.";
    assertTrue(
        outcome.out().lines().anyMatch(line -> line.matches("level download of 0.2 MB: " + times)),
        outcome.out());
    assertEquals(
        "Reliable messages: all have arrived, once, unaltered, in order on ordered lanes.",
        outcome.lastLine());
  }

  @Test
  void linesFitATerminal() {
    List<String> longer = outcome.out().lines().filter(line -> line.length() > 80).toList();
    assertEquals(List.of(), longer);
  }
}
