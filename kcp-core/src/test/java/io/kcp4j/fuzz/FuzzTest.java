package io.kcp4j.fuzz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Fuzzes each target by Jazzer, guided by coverage, in a process of its own: from an empty corpus
 * and a fixed seed, as many executions as fit into some seconds. {@code -Dkcp4j.fuzz.runs=10000000}
 * makes it more, and keeps the corpus, see CONTRIBUTING.md. What is found stands in {@code
 * target/fuzz}.
 */
class FuzzTest {

  private static final String JAZZER = "com.code_intelligence.jazzer.Jazzer";
  private static final Pattern DONE = Pattern.compile("Done (\\d+) runs in \\d+ second");
  private static final Pattern COVERED = Pattern.compile("DONE +cov: (\\d+)");
  private static final long MORE_RUNS = Long.getLong("kcp4j.fuzz.runs", 0);

  @ParameterizedTest
  @CsvSource({
    "PacketOpenFuzz, 20000, 200",
    "FecDecodeFuzz, 20000, 200",
    "KcpInputFuzz, 20000, 600",
    "SessionTableFuzz, 10000, 1200"
  })
  void nothingIsFound(String target, long runs, int covered)
      throws IOException, InterruptedException {
    String output = fuzz(target, MORE_RUNS > 0 ? MORE_RUNS : runs);
    assertTrue(number(DONE, output) >= runs, output);
    assertTrue(number(COVERED, output) >= covered, () -> "covers too little:\n" + output);
  }

  private static String fuzz(String target, long runs) throws IOException, InterruptedException {
    Path directory = Files.createDirectories(Path.of("target", "fuzz", target));
    Path log = directory.resolve("log.txt");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx512m", "-XX:+EnableDynamicAgentLoading", "-ea:io.kcp4j..."));
    if (MORE_RUNS == 0) {
      // Half of some seconds is start-up; C2 pays for itself only in longer runs.
      command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    }
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), JAZZER));
    command.add("--target_class=io.kcp4j.fuzz." + target);
    command.add("--instrumentation_includes=io.kcp4j.**");
    command.add("--instrumentation_excludes=io.kcp4j.fuzz.**");
    // Hooks look for vulnerabilities of another kind, and make everything slow.
    command.add("--custom_hook_excludes=**");
    command.add("--reproducer_path=" + directory);
    command.add("-artifact_prefix=" + directory + File.separator);
    command.addAll(List.of("-seed=1", "-max_len=200", "-runs=" + runs));
    if (MORE_RUNS > 0) {
      command.add(Files.createDirectories(directory.resolve("corpus")).toString());
    }
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    int exitCode = process.waitFor();
    String output = Files.readString(log);
    assertEquals(0, exitCode, output);
    return output;
  }

  private static long number(Pattern pattern, String output) {
    Matcher matcher = pattern.matcher(output);
    assertTrue(matcher.find(), output);
    return Long.parseLong(matcher.group(1));
  }
}
