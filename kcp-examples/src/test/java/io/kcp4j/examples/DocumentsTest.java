package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Links between the documents resolve, and pages have the form that they should. */
class DocumentsTest {

  private static final int MAX_README_WORDS = 900;

  @Test
  void everyRelativeLinkAndAnchorResolves() throws IOException {
    List<MarkdownPage> pages = new ArrayList<>(MarkdownPage.readmeAndDocs());
    pages.add(MarkdownPage.of("CONTRIBUTING.md"));
    pages.add(MarkdownPage.of("CHANGELOG.md"));
    List<String> broken = new ArrayList<>();
    for (MarkdownPage page : pages) {
      broken.addAll(page.brokenLinks());
    }
    assertEquals(List.of(), broken);
  }

  @Test
  void theReadmeIsShort() throws IOException {
    int words = MarkdownPage.words(Files.readString(MarkdownPage.ROOT.resolve("README.md")));
    assertTrue(words <= MAX_README_WORDS, "words: " + words);
  }

  @Test
  void linesOfProseAreShort() throws IOException {
    List<String> tooLong = new ArrayList<>();
    for (MarkdownPage page : MarkdownPage.readmeAndDocs()) {
      tooLong.addAll(page.longLines());
    }
    assertEquals(List.of(), tooLong);
  }

  @Test
  void testsThatDocumentsNameExist() throws IOException {
    List<String> missing = new ArrayList<>();
    for (MarkdownPage page : MarkdownPage.readmeAndDocs()) {
      missing.addAll(page.missingTests());
    }
    assertEquals(List.of(), missing);
    assertEquals(List.of(), page("`DocumentsTest.testsThatDocumentsNameExist`").missingTests());
    assertEquals(
        List.of("README.md: DocumentsTest.no", "README.md: NoTest.no"),
        page("`DocumentsTest.no`, `NoTest.no`").missingTests());
  }

  // What the checks above find.

  @Test
  void aLinkToAMissingFileIsBroken() throws IOException {
    assertEquals(List.of(), page("[a](CHANGELOG.md)").brokenLinks());
    assertEquals(List.of("README.md: missing.md"), page("[a](missing.md)").brokenLinks());
  }

  @Test
  void aLinkToAMissingAnchorIsBroken() throws IOException {
    assertEquals(List.of(), page("# One, two", "[a](#one-two)").brokenLinks());
    assertEquals(List.of("README.md: #one"), page("# One, two", "[a](#one)").brokenLinks());
    assertEquals(List.of(), page("[a](CHANGELOG.md#changelog)").brokenLinks());
    assertEquals(List.of("README.md: CHANGELOG.md#no"), page("[a](CHANGELOG.md#no)").brokenLinks());
  }

  @Test
  void externalLinksAndCodeAreNotChecked() throws IOException {
    MarkdownPage page = page("[a](https://example.org/#b)", "`[a](b.md)`", "```", "[a](b)", "```");
    assertEquals(List.of(), page.brokenLinks());
  }

  @Test
  void anchorsAreThoseOfGitHub() {
    assertEquals(
        Set.of("aes--fec-103", "nettys-own-options", "a_b", "twice", "twice-1"),
        page("# aes + FEC 10/3", "## Netty's own options", "# `a_b`", "# Twice", "# Twice")
            .anchors());
  }

  @Test
  void onlyProseWithoutLinksMayBeTooLong() {
    String fits = "x".repeat(100);
    String tooLong = "x".repeat(101);
    MarkdownPage page = page(fits, tooLong, "| " + fits, "[a](b) " + fits, "```", tooLong, "```");
    assertEquals(List.of("README.md: " + tooLong), page.longLines());
  }

  @Test
  void codeThatDoesNotEndIsFound() {
    assertThrows(IllegalArgumentException.class, () -> page("```java", "int i;"));
  }

  @Test
  void wordsAreThoseOfWc() {
    assertEquals(0, MarkdownPage.words(" \n"));
    assertEquals(4, MarkdownPage.words("| a | b\n"));
  }

  private static MarkdownPage page(String... lines) {
    return new MarkdownPage(MarkdownPage.ROOT.resolve("README.md"), List.of(lines));
  }
}
