package io.kcp4j.examples;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Code, comments and documents use the terms of TCP, QUIC and Netty. Identifiers count word by
 * word: {@code isTurnedAway} contains "turned away".
 */
class VocabularyTest {

  /** Patterns of lower-case words, and what to write instead. */
  private static final Map<String, String> TERMS =
      Map.ofEntries(
          entry("strangers?", "unknown peer, unvalidated peer"),
          entry("touch(ed|es|ing)", "pending flush, schedule a flush"),
          entry("touch (a|the|its|each|every|all|sessions?)", "schedule a flush"),
          entry("overt(ake|akes|aken|aking|ook)", "fast retransmit candidate, skip count"),
          entry("pass(ed|es|ing)? over", "skip; skip count"),
          entry("passe(d|s) on", "forwarded"),
          entry("resen(d|ds|t|ding)", "retransmit"),
          entry("settl(e|es|ed|ing)", "completeAccept"),
          entry("postpon(e|es|ed|ing)", "defer"),
          entry("turn(s|ed|ing)? away", "refuse"),
          entry("announc(e|es|ed|ing|ement)", "offer a child; advertise a window"),
          entry("distant acceptors?", "CrossLoopAcceptor"),
          entry("trains?", "GSO batch, GRO batch, contiguous run"),
          entry("lone", "single"),
          entry("judg(e|es|ed|ing|ement)", "validate, classify"),
          entry("hurr(y|ies|ied|ying)", "reset the backoff"),
          entry("forg(ive|ives|ave|iven|iving)", "exclude stalls of the driver"),
          entry("lateness", "delay, stall of the driver"),
          entry("recut(s|ting)?", "re-segment"),
          entry("(void|int|long|boolean) twice", "a verb, such as grow"),
          entry("vacated", "onLastMemberLeft"),
          entry("silences?", "keep-alive; unresponsive"),
          entry("silent peers?", "unresponsive peer"),
          entry("(by and by|little by little)", "paced; gradually"),
          entry("put(s|ting)? off", "defer"),
          entry("farewells?", "close notification"),
          entry("worn", "past its usage limit"),
          entry("hear(s|d|ing)?", "receive from"),
          entry("lock step", "in parallel"),
          entry("kcp loops?", "EventLoopContext"),
          entry("beside bytes", "nonArqBytes"),
          entry("deadline wheels?", "TimerWheel"),
          entry("strays?", "a group or packet outside the window"),
          entry("(whoever|whomever)", "the peer, the caller"),
          entry("(company|manners?|moods?)", "what happens"),
          entry("(credulous|deaf)", "what it does"),
          entry("(befalls?|hastens?|in vain|as it were)", "plain English"));

  /** The letters with which all that a pattern matches begins, if any. */
  private static final Pattern STEM = Pattern.compile("^[a-z ]+(?!\\?)");

  private static final List<Term> COMPILED =
      TERMS.entrySet().stream().map(term -> Term.of(term.getKey(), term.getValue())).toList();

  /** This test, and the Maven wrapper, which is not ours. */
  private static final Set<String> UNCHECKED_NAMES = Set.of("VocabularyTest.java", "mvnw");

  private static final Pattern CHECKED_NAME =
      Pattern.compile(".*\\.(java|md|go|lua|svg|xml|yml)|[^.]+");

  /** The name in the API of kcp-go, in Go files that call it. */
  private static final Pattern KCP_GO_NAME =
      Pattern.compile("src/(interop|bench)/.*: \"resend\".*");

  /** Options of kcptun. */
  private static final Pattern OPTION = Pattern.compile("--[a-z-]+");

  private static final Pattern CASE_CHANGE =
      Pattern.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])");

  /** What documents quote: names of C KCP and kcp-go, and in the changelog our former names. */
  private static final Pattern QUOTED_CODE = Pattern.compile("`[^`]*`");

  private static final Pattern COMMENT_MARK = Pattern.compile("^\\s*(\\*|//|#|/\\*\\*)\\s*");
  private static final Pattern SEPARATORS = Pattern.compile("[\\s_-]+");

  @Test
  void sourcesAndDocumentsUseStandardTerms() {
    List<Path> files = SourceFiles.find(VocabularyTest::isChecked);
    assertFalse(files.isEmpty());
    List<String> found = new ArrayList<>();
    for (Path file : files) {
      boolean isDocument = file.toString().endsWith(".md");
      find(file.toString().replace('\\', '/'), SourceFiles.lines(file), isDocument, found);
    }
    assertEquals("", String.join("\n", found));
  }

  @Test
  void wordsOfIdentifiersAndPhrasesAcrossLinesAreFound() {
    List<String> found = new ArrayList<>();
    List<String> lines = List.of("  boolean isTurnedAway; // put", "  // off", "TURNED_AWAY");
    find("A.java", lines, false, found);
    assertEquals(
        List.of(
            "A.java:1: \"put off\"; write: defer",
            "A.java:1: \"turned away\"; write: refuse",
            "A.java:3: \"turned away\"; write: refuse"),
        found.stream().sorted().toList());
  }

  @Test
  void partsOfWordsAndCodeQuotedInDocumentsAreNotFound() {
    List<String> found = new ArrayList<>();
    List<String> lines =
        List.of("TrainingData is cloned, untouched: `resend` of C KCP; --resend; put(off)");
    find("a.md", lines, true, found);
    assertEquals(List.of(), found);
  }

  private static boolean isChecked(Path path) {
    String name = path.getFileName().toString();
    return CHECKED_NAME.matcher(name).matches() && !UNCHECKED_NAMES.contains(name);
  }

  private static void find(
      String file, List<String> lines, boolean isDocument, List<String> found) {
    StringBuilder text = new StringBuilder();
    int[] ends = new int[lines.size()];
    for (int i = 0; i < ends.length; i++) {
      text.append(words(lines.get(i), isDocument)).append(' ');
      ends[i] = text.length();
    }
    String all = text.toString();
    for (Term term : COMPILED) {
      if (!all.contains(term.stem())) {
        continue;
      }
      Matcher matcher = term.pattern().matcher(all);
      while (matcher.find()) {
        int line = 1;
        while (ends[line - 1] <= matcher.start()) {
          line++;
        }
        String what =
            "%s:%d: \"%s\"; write: %s".formatted(file, line, matcher.group(), term.instead());
        if (!KCP_GO_NAME.matcher(what).matches()) {
          found.add(what);
        }
      }
    }
  }

  private static String words(String line, boolean isDocument) {
    String text = isDocument ? QUOTED_CODE.matcher(line).replaceAll("`") : line;
    text = COMMENT_MARK.matcher(text).replaceFirst("");
    text = OPTION.matcher(text).replaceAll("");
    text = CASE_CHANGE.matcher(text).replaceAll(" ");
    return SEPARATORS.matcher(text).replaceAll(" ").strip().toLowerCase(Locale.ROOT);
  }

  /** Only a text that contains the stem, which is found much sooner, can match the pattern. */
  private record Term(String stem, Pattern pattern, String instead) {

    static Term of(String words, String instead) {
      Matcher stem = STEM.matcher(words);
      return new Term(
          stem.find() ? stem.group() : "", Pattern.compile("\\b" + words + "\\b"), instead);
    }
  }
}
