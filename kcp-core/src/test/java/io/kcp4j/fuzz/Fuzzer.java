package io.kcp4j.fuzz;

import static com.code_intelligence.jazzer.sanitizers.Constants.SANITIZER_HOOK_NAMES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Fuzzes a target by Jazzer, guided by coverage, in a process of its own: from an empty corpus and
 * a fixed seed, as many executions as fit into some seconds. {@code -Dkcp4j.fuzz.runs=10000000}
 * sets more, and keeps the corpus, see CONTRIBUTING.md. Findings are written to {@code
 * target/fuzz}.
 */
final class Fuzzer {

  private static final String JAZZER = "com.code_intelligence.jazzer.Jazzer";
  private static final Pattern DONE = Pattern.compile("Done (\\d+) runs in \\d+ second");
  private static final Pattern COVERED = Pattern.compile("DONE +cov: (\\d+)");
  private static final long MORE_RUNS = Long.getLong("kcp4j.fuzz.runs", 0);

  /**
   * Classes without coverage: the targets and what they check with, and loops over shards and
   * candidates that take the same few branches for any input, and most of the time when each is
   * counted.
   */
  private static final List<String> NOT_INSTRUMENTED =
      List.of(
          "io.kcp4j.fuzz.**",
          "io.kcp4j.internal.fec.BitPlane*",
          "io.kcp4j.internal.fec.PeerRatio$RatioSearch",
          "io.kcp4j.internal.fec.ReedSolomon*",
          "io.kcp4j.internal.lanes.FrameInspector",
          "io.kcp4j.internal.lanes.LaneInspector");

  private static final Duration START_LIMIT = Duration.ofMinutes(2);
  private static final Duration RUN_LIMIT = Duration.ofMillis(2);

  private Fuzzer() {}

  /**
   * Fuzzes a target of this package.
   *
   * @param runs how many executions, unless the property sets more
   * @param covered how much they cover at the least, as Jazzer counts
   */
  static void fuzz(String target, long runs, int covered) throws IOException, InterruptedException {
    String output = run(target, MORE_RUNS > 0 ? MORE_RUNS : runs);
    assertTrue(number(DONE, output) >= runs, output);
    assertTrue(number(COVERED, output) >= covered, () -> "covers too little:\n" + output);
  }

  private static String run(String target, long runs) throws IOException, InterruptedException {
    Path directory = Files.createDirectories(Path.of("target", "fuzz", target));
    Path log = directory.resolve("log.txt");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx512m", "-XX:+UseSerialGC", "-XX:+EnableDynamicAgentLoading"));
    command.add("-ea:io.kcp4j...");
    if (MORE_RUNS == 0) {
      // Half of some seconds is start-up; C2 pays for itself only in longer runs.
      command.add("-XX:TieredStopAtLevel=1");
    }
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), JAZZER));
    command.add("--target_class=io.kcp4j.fuzz." + target);
    command.add("--instrumentation_includes=io.kcp4j.**");
    command.add("--instrumentation_excludes=" + String.join(File.pathSeparator, NOT_INSTRUMENTED));
    // Hooks look for vulnerabilities of another kind, and make start and run slow.
    command.add("--custom_hook_excludes=**");
    command.add("--disabled_hooks=" + String.join(File.pathSeparator, SANITIZER_HOOK_NAMES));
    command.add("--reproducer_path=" + directory);
    command.add("-artifact_prefix=" + directory + File.separator);
    command.addAll(List.of("-seed=1", "-max_len=200", "-runs=" + runs));
    if (MORE_RUNS > 0) {
      command.add("-entropic=0"); // It would take three quarters of the time.
      command.add(Files.createDirectories(directory.resolve("corpus")).toString());
    }
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    Duration limit = START_LIMIT.plus(RUN_LIMIT.multipliedBy(runs));
    boolean isDone;
    try {
      isDone = process.waitFor(limit.toSeconds(), TimeUnit.SECONDS);
    } finally {
      process.destroyForcibly();
    }
    String output = Files.readString(log);
    assertTrue(isDone, () -> "not done within " + limit + ":\n" + output);
    assertEquals(0, process.exitValue(), output);
    return output;
  }

  private static long number(Pattern pattern, String output) {
    Matcher matcher = pattern.matcher(output);
    assertTrue(matcher.find(), output);
    return Long.parseLong(matcher.group(1));
  }
}
