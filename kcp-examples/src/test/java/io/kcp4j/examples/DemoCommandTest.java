package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.examples.Cli.Outcome;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DemoCommandTest {

  @Test
  void tableHasAColumnForEachRun() {
    Outcome outcome =
        Cli.run("demo --bytes 60000 --delay 2 --jitter 1 --loss 10 --pings 5".split(" "));
    assertEquals("", outcome.err());
    assertEquals(0, outcome.exitCode());
    List<String> rows = outcome.out().lines().skip(2).toList();
    assertTrue(rows.get(0).matches(" +kcp4j +like TCP"), outcome.out());
    assertTrue(rows.get(1).matches("bytes echoed +60000 +60000"), outcome.out());
    assertTrue(rows.get(2).matches("datagrams lost +\\d+\\.\\d % +\\d+\\.\\d %"), outcome.out());
    assertTrue(rows.get(3).matches("recovered by FEC +[1-9]\\d* +0"), outcome.out());
    assertTrue(rows.get(4).matches("retransmitted +[1-9]\\d* +[1-9]\\d*"), outcome.out());
    assertTrue(rows.get(6).matches("goodput +\\S+ MB/s +\\S+ MB/s"), outcome.out());
    assertTrue(rows.get(9).matches("ping p99 +\\S+ ms +\\S+ ms"), outcome.out());
  }

  @Test
  void fileIsEchoed(@TempDir Path dir) throws Exception {
    Path file = Files.write(dir.resolve("data"), new byte[54321]);
    Outcome outcome = Cli.run("demo", "--file", file.toString(), "--loss", "0", "--pings", "5");
    assertEquals(0, outcome.exitCode(), outcome.err());
    assertTrue(outcome.out().contains("54321"), outcome.out());
  }

  @Test
  void missingFileIsReportedInOneLine(@TempDir Path dir) {
    Path missing = dir.resolve("missing");
    Outcome outcome = Cli.run("demo", "--file", missing.toString());
    assertEquals(1, outcome.exitCode());
    assertEquals("kcp demo: no such file: " + missing, outcome.err().strip());
  }
}
