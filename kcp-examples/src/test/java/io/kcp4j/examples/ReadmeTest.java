package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The Java in README.md and src/docs is quoted from files that compile. */
class ReadmeTest {

  @Test
  void everyJavaBlockIsInTheSources() throws IOException {
    List<String> sources = sources();
    int blocks = 0;
    for (MarkdownPage page : MarkdownPage.readmeAndDocs()) {
      for (String block : page.codeBlocks("java")) {
        blocks++;
        String code = withoutIndentation(block.lines());
        assertTrue(sources.stream().anyMatch(source -> source.contains(code)), page + "\n" + block);
      }
    }
    assertTrue(blocks > 2, "blocks: " + blocks);
  }

  private static List<String> sources() throws IOException {
    try (Stream<Path> examples = Files.walk(MarkdownPage.ROOT.resolve("kcp-examples/src/main"));
        Stream<Path> tests = Files.walk(MarkdownPage.ROOT.resolve("kcp-netty/src/test"))) {
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
