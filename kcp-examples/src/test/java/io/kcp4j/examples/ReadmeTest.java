package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The README's Java is quoted from files that compile. */
class ReadmeTest {

  private static final Path ROOT = Path.of("..");
  private static final Pattern JAVA_BLOCK = Pattern.compile("(?s)```java\n(.*?)```");

  @Test
  void everyJavaBlockOfTheReadmeStandsInTheSources() throws IOException {
    List<String> blocks =
        JAVA_BLOCK
            .matcher(Files.readString(ROOT.resolve("README.md")))
            .results()
            .map(block -> block.group(1).stripTrailing().lines())
            .map(ReadmeTest::withoutIndentation)
            .toList();
    List<String> sources = sources();
    assertFalse(blocks.isEmpty());
    for (String block : blocks) {
      assertTrue(sources.stream().anyMatch(source -> source.contains(block)), block);
    }
  }

  @Test
  void everyLinkOfTheReadmeLeadsToAFile() throws IOException {
    List<String> links =
        Pattern.compile("\\]\\((?!http)([^)#]+)")
            .matcher(Files.readString(ROOT.resolve("README.md")))
            .results()
            .map(link -> link.group(1))
            .toList();
    assertFalse(links.isEmpty());
    for (String link : links) {
      assertTrue(Files.exists(ROOT.resolve(link)), link);
    }
  }

  private static List<String> sources() throws IOException {
    try (Stream<Path> examples = Files.walk(ROOT.resolve("kcp-examples/src/main"));
        Stream<Path> tests = Files.walk(ROOT.resolve("kcp-netty/src/test"))) {
      return Stream.concat(examples, tests)
          .filter(file -> file.toString().endsWith(".java"))
          .map(ReadmeTest::lines)
          .map(ReadmeTest::withoutIndentation)
          .toList();
    }
  }

  private static Stream<String> lines(Path file) {
    try {
      return Files.readAllLines(file).stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String withoutIndentation(Stream<String> lines) {
    return String.join("\n", lines.map(String::strip).toList());
  }
}
