package io.kcp4j.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A page of the documents, as far as tests have to understand Markdown. */
final class MarkdownPage {

  /** Tests run in the module's directory. */
  static final Path ROOT = Path.of("..");

  private static final int MAX_LINE_LENGTH = 100;

  private static final Pattern FENCE = Pattern.compile("\\s*```(\\w*)\\s*");
  private static final Pattern HEADING = Pattern.compile("#+ +(.*)");
  private static final Pattern INLINE_CODE = Pattern.compile("`[^`]*`");
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");

  /** A test, as its class and method. */
  private static final Pattern TEST = Pattern.compile("`(\\w+Test)\\.(\\w+)`");

  /** A link with a scheme, such as https, or without a host. */
  private static final Pattern EXTERNAL = Pattern.compile("(?:[a-z]+:|//).*");

  private record CodeBlock(String language, String code) {}

  private final Path file;
  private final List<String> prose = new ArrayList<>();
  private final List<CodeBlock> codeBlocks = new ArrayList<>();

  /** Parses a page; links of {@code lines} are relative to the directory of {@code file}. */
  MarkdownPage(Path file, List<String> lines) {
    this.file = file;
    String language = null;
    StringBuilder code = new StringBuilder();
    for (String line : lines) {
      Matcher fence = FENCE.matcher(line);
      if (!fence.matches()) {
        if (language == null) {
          prose.add(line);
        } else {
          code.append(line).append('\n');
        }
      } else if (language == null) {
        language = fence.group(1);
      } else {
        codeBlocks.add(new CodeBlock(language, code.toString()));
        language = null;
        code.setLength(0);
      }
    }
    if (language != null) {
      throw new IllegalArgumentException(file + ": a code block has no end");
    }
  }

  /** The page at a path below the repository's root. */
  static MarkdownPage of(String path) throws IOException {
    return of(ROOT.resolve(path));
  }

  private static MarkdownPage of(Path file) throws IOException {
    return new MarkdownPage(file, Files.readAllLines(file));
  }

  /** README.md and all pages of src/docs. */
  static List<MarkdownPage> readmeAndDocs() throws IOException {
    List<MarkdownPage> pages = new ArrayList<>();
    pages.add(of("README.md"));
    try (Stream<Path> docs = Files.walk(ROOT.resolve("src/docs"))) {
      for (Path page : docs.filter(file -> file.toString().endsWith(".md")).sorted().toList()) {
        pages.add(of(page));
      }
    }
    return pages;
  }

  /** The code blocks in a language. */
  List<String> codeBlocks(String language) {
    return codeBlocks.stream()
        .filter(block -> block.language.equals(language))
        .map(CodeBlock::code)
        .toList();
  }

  /** The relative links whose file or anchor does not exist. */
  List<String> brokenLinks() throws IOException {
    List<String> broken = new ArrayList<>();
    for (String line : prose) {
      Matcher link = LINK.matcher(INLINE_CODE.matcher(line).replaceAll("`"));
      while (link.find()) {
        String target = link.group(1);
        if (!EXTERNAL.matcher(target).matches() && !resolves(target)) {
          broken.add(this + ": " + target);
        }
      }
    }
    return broken;
  }

  private boolean resolves(String target) throws IOException {
    int hash = target.indexOf('#');
    String path = hash < 0 ? target : target.substring(0, hash);
    Path linked = path.isEmpty() ? file : file.resolveSibling(path);
    if (!path.isEmpty() && !Files.exists(linked)) {
      return false;
    }
    if (hash < 0) {
      return true;
    }
    MarkdownPage page = path.isEmpty() ? this : of(linked);
    return page.anchors().contains(target.substring(hash + 1));
  }

  /** The anchors that GitHub makes of the headings. */
  Set<String> anchors() {
    Set<String> anchors = new HashSet<>();
    for (String line : prose) {
      Matcher heading = HEADING.matcher(line);
      if (heading.matches()) {
        String anchor = anchor(heading.group(1));
        String unique = anchor;
        for (int i = 1; !anchors.add(unique); i++) {
          unique = anchor + "-" + i;
        }
      }
    }
    return anchors;
  }

  private static String anchor(String heading) {
    return heading
        .strip()
        .toLowerCase(Locale.ROOT)
        .replaceAll("[^\\p{L}\\p{N}_ -]", "")
        .replace(' ', '-');
  }

  /** The lines of prose that are too long. Tables, code, and lines with a link may be. */
  List<String> longLines() {
    return prose.stream()
        .filter(line -> line.codePointCount(0, line.length()) > MAX_LINE_LENGTH)
        .filter(line -> !line.startsWith("|") && !LINK.matcher(line).find())
        .map(line -> this + ": " + line)
        .toList();
  }

  /** The tests that the page names and that do not exist. */
  List<String> missingTests() {
    List<MatchResult> tests = prose.stream().flatMap(line -> TEST.matcher(line).results()).toList();
    if (tests.isEmpty()) {
      return List.of();
    }
    List<Path> sources = SourceFiles.find(path -> path.toString().endsWith("Test.java"));
    return tests.stream()
        .filter(test -> !isTest(sources, test.group(1), test.group(2)))
        .map(test -> this + ": " + test.group(1) + "." + test.group(2))
        .toList();
  }

  private static boolean isTest(List<Path> sources, String className, String method) {
    return sources.stream()
        .filter(path -> path.endsWith(className + ".java"))
        .flatMap(path -> SourceFiles.lines(path).stream())
        .anyMatch(line -> line.contains(" void " + method + "("));
  }

  /** What {@code wc -w} counts, tables and code included. */
  static int words(String text) {
    return text.isBlank() ? 0 : text.strip().split("\\s+").length;
  }

  @Override
  public String toString() {
    return ROOT.relativize(file).toString();
  }
}
