package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * A class has one mechanism, and one mechanism rarely needs more lines than this, without imports.
 */
class ClassLengthTest {

  private static final int MAX_LINES = 450;

  /** Longer classes, and why they are not split. */
  private static final Map<String, String> LONGER =
      Map.of(
          "Kcp", "The public methods of the ARQ, which delegate to its parts.",
          "KcpConfig", "An accessor and a setter with Javadoc for each option.",
          "Session", "The methods of a session with Javadoc, which delegate to its parts.",
          "SessionTable", "The methods and callbacks of the driver, which delegate to its parts.",
          "KcpChannel", "The methods of Netty's DuplexChannel, which delegate to its parts.",
          "KcpEndpoint", "The callbacks of table, socket and channels, which delegate.");

  @Test
  void onlyNamedClassesAreLongerThan450Lines() {
    List<String> found = new ArrayList<>();
    for (Path file : mainSources()) {
      long lines =
          SourceFiles.lines(file).stream().filter(line -> !line.startsWith("import ")).count();
      boolean isLonger = lines > MAX_LINES;
      if (isLonger != LONGER.containsKey(className(file))) {
        found.add(file + ": " + lines + " lines");
      }
    }
    assertEquals("", String.join("\n", found));
  }

  @Test
  void namedClassesExist() {
    List<String> names = mainSources().stream().map(ClassLengthTest::className).toList();
    assertTrue(names.containsAll(LONGER.keySet()), LONGER.toString());
  }

  private static List<Path> mainSources() {
    return SourceFiles.find(
        path -> path.toString().replace('\\', '/').matches(".*/src/main/java/.*\\.java"));
  }

  private static String className(Path file) {
    String name = file.getFileName().toString();
    return name.substring(0, name.length() - ".java".length());
  }
}
