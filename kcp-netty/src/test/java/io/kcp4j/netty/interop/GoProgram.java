package io.kcp4j.netty.interop;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;

/**
 * A Go program with kcp-go, in the directory of {@code src} that has its name. It is built once in
 * each process that runs tests.
 *
 * <p>Where it cannot be built, because Go or the network is missing, the test is skipped, or fails
 * if the system property {@code kcp4j.interop.required} is {@code true}.
 */
public final class GoProgram {

  static final GoProgram INTEROP = new GoProgram("interop");
  static final GoProgram BENCH = new GoProgram("bench");

  private static final int BUILD_TIMEOUT_SECONDS = 300;

  private final Path sources;
  private final Path binary;
  private boolean built;
  private String failure;

  private GoProgram(String name) {
    sources = root().resolve("src").resolve(name);
    // The process id, because another process that runs tests may build its own program.
    binary = Path.of("target", name + "-" + ProcessHandle.current().pid()).toAbsolutePath();
  }

  /** The root of the repository, above a module that may be nested in another. */
  private static Path root() {
    Path root = Path.of("").toAbsolutePath();
    while (!Files.isDirectory(root.resolve("src/interop"))) {
      root = root.getParent();
    }
    return root;
  }

  /** Builds the program when it is first asked for. */
  synchronized Path binary() {
    if (!built) {
      failure = build();
      built = true;
    }
    if (failure != null) {
      if (Boolean.getBoolean("kcp4j.interop.required")) {
        throw new AssertionError(failure);
      }
      Assumptions.abort("Skipped, no kcp-go to talk to: " + failure);
    }
    return binary;
  }

  /** Returns what went wrong, or null. */
  private String build() {
    binary.toFile().deleteOnExit();
    ProcessBuilder builder =
        new ProcessBuilder("go", "build", "-buildvcs=false", "-o", binary.toString(), ".")
            .directory(sources.toFile())
            .redirectErrorStream(true);
    try {
      Process build = builder.start();
      build
          .onExit()
          .orTimeout(BUILD_TIMEOUT_SECONDS, SECONDS)
          .whenComplete((p, e) -> build.destroyForcibly());
      String messages = new String(build.getInputStream().readAllBytes(), UTF_8);
      return build.waitFor() == 0 ? null : "go build: " + messages;
    } catch (IOException e) {
      return "Go is not installed (" + e.getMessage() + ")";
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
