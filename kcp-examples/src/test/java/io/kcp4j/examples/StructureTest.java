package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Limits on the size of the library, kcp-core and kcp-netty without the artifacts nested in them. A
 * feature that needs more raises a limit here, by an entry that names it.
 */
class StructureTest {

  private static final int MAX_FILES = 240;

  private static final int MAX_CODE_LINES = 31_740;

  private static final int MAX_FILES_OF_A_PACKAGE = 25;

  private static final int MAX_FILES_OF_THE_ROOT_PACKAGE = 15;

  private static final int MAX_PUBLIC_TYPES = 60;

  private static final int MAX_OPTIONS = 26;

  /** Lines that later features add to the limit, by the name of the feature. */
  private static final Map<String, Integer> ADDED_CODE_LINES = Map.of();

  private static final Pattern SOURCE =
      Pattern.compile("(kcp-core|kcp-netty)/src/main/java/(.*)/([^/]+)\\.java");

  private static final Pattern BLOCK_COMMENT = Pattern.compile("(?s)/\\*.*?\\*/");

  private static final Pattern NO_CODE =
      Pattern.compile("\\s*((//|import |package ).*)?", Pattern.DOTALL);

  private static final Pattern PUBLIC_TYPE =
      Pattern.compile("(?m)^public (abstract |final |sealed )*(class|interface|enum|record|@)");

  private static final Pattern OPTION =
      Pattern.compile("(?s)public static final ChannelOption<[^;]*;");

  private static final List<Path> FILES =
      SourceFiles.find(path -> SOURCE.matcher(name(path)).matches()).stream()
          .filter(path -> !path.endsWith("package-info.java"))
          .toList();

  @Test
  void filesAreFew() {
    assertAtMost(MAX_FILES, FILES.size(), "files");
  }

  @Test
  void packagesAreSmall() {
    Map<String, Long> sizes =
        FILES.stream()
            .collect(Collectors.groupingBy(StructureTest::packageOf, Collectors.counting()));
    Map<String, Long> beyond = new TreeMap<>();
    sizes.forEach(
        (name, files) -> {
          int limit =
              name.equals("io.kcp4j") ? MAX_FILES_OF_THE_ROOT_PACKAGE : MAX_FILES_OF_A_PACKAGE;
          if (files > limit) {
            beyond.put(name, files);
          }
        });
    assertEquals(Map.of(), beyond);
  }

  @Test
  void linesOfCodeAreFew() {
    int added = ADDED_CODE_LINES.values().stream().mapToInt(Integer::intValue).sum();
    int lines = FILES.stream().mapToInt(StructureTest::codeLines).sum();
    assertAtMost(MAX_CODE_LINES + added, lines, "lines of code");
  }

  @Test
  void publicTypesAreFew() {
    long types =
        FILES.stream()
            .filter(path -> !packageOf(path).contains(".internal"))
            .filter(path -> PUBLIC_TYPE.matcher(text(path)).find())
            .count();
    assertAtMost(MAX_PUBLIC_TYPES, types, "public types of exported packages");
  }

  @Test
  void channelOptionsAreFew() {
    long options =
        FILES.stream().mapToLong(path -> OPTION.matcher(text(path)).results().count()).sum();
    assertAtMost(MAX_OPTIONS, options, "channel options");
  }

  private static void assertAtMost(long limit, long actual, String of) {
    assertTrue(actual <= limit, () -> actual + " " + of + " (expected: <= " + limit + ")");
  }

  private static String name(Path path) {
    return path.toString().replace('\\', '/');
  }

  private static String packageOf(Path path) {
    return SOURCE.matcher(name(path)).replaceFirst("$2").replace('/', '.');
  }

  private static String text(Path path) {
    return String.join("\n", SourceFiles.lines(path));
  }

  /** Without imports, blank lines and comments. */
  private static int codeLines(Path path) {
    String code = BLOCK_COMMENT.matcher(text(path)).replaceAll("");
    return (int) code.lines().filter(line -> !NO_CODE.matcher(line).matches()).count();
  }
}
