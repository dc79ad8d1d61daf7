package io.kcp4j.tunnel;

import java.util.LinkedHashMap;
import java.util.Map;

/** Parses one JSON object whose values are strings, numbers, booleans or null. */
final class FlatJson {

  private final String text;
  private int at;

  private FlatJson(String text) {
    this.text = text;
  }

  /**
   * The members of an object in their order; the last one of a name counts. Values are {@code
   * String}, {@code Long}, {@code Double}, {@code Boolean} or null.
   *
   * @throws IllegalArgumentException if the text is anything else; the message has the line
   */
  static Map<String, Object> parse(String text) {
    return new FlatJson(text).object();
  }

  private Map<String, Object> object() {
    Map<String, Object> members = new LinkedHashMap<>();
    expect('{');
    if (!skip('}')) {
      do {
        String name = string();
        expect(':');
        members.put(name, value());
      } while (skip(','));
      expect('}');
    }
    skipSpace();
    if (at < text.length()) {
      throw unexpected("the end");
    }
    return members;
  }

  private Object value() {
    skipSpace();
    if (at < text.length() && text.charAt(at) == '"') {
      return string();
    }
    int start = at;
    while (at < text.length() && isPartOfWord(text.charAt(at))) {
      at++;
    }
    String word = text.substring(start, at);
    try {
      return switch (word) {
        case "true" -> true;
        case "false" -> false;
        case "null" -> null;
        default -> number(word);
      };
    } catch (NumberFormatException e) {
      at = start;
      throw unexpected("a string, a number, true, false or null");
    }
  }

  private static boolean isPartOfWord(char c) {
    return Character.isLetterOrDigit(c) || c == '-' || c == '+' || c == '.';
  }

  private static Object number(String word) {
    if (!word.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?")) {
      throw new NumberFormatException(word);
    }
    return word.matches("-?[0-9]+") ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
  }

  private String string() {
    expect('"');
    StringBuilder value = new StringBuilder();
    while (at < text.length() && text.charAt(at) != '"' && text.charAt(at) >= ' ') {
      char c = text.charAt(at++);
      value.append(c == '\\' ? escaped() : c);
    }
    if (at == text.length() || text.charAt(at) != '"') {
      throw unexpected("the end of a string");
    }
    at++;
    return value.toString();
  }

  private char escaped() {
    char c = at < text.length() ? text.charAt(at++) : 0;
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'u' -> {
        String digits = text.substring(at, Math.min(at + 4, text.length()));
        if (!digits.matches("[0-9a-fA-F]{4}")) {
          throw unexpected("four hexadecimal digits");
        }
        at += 4;
        yield (char) Integer.parseInt(digits, 16);
      }
      default -> throw unexpected("an escape sequence");
    };
  }

  private void expect(char c) {
    if (!skip(c)) {
      throw unexpected("'" + c + "'");
    }
  }

  private boolean skip(char c) {
    skipSpace();
    if (at < text.length() && text.charAt(at) == c) {
      at++;
      return true;
    }
    return false;
  }

  private void skipSpace() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private IllegalArgumentException unexpected(String expected) {
    long line =
        1 + text.substring(0, Math.min(at, text.length())).chars().filter(c -> c == '\n').count();
    return new IllegalArgumentException("line " + line + ": expected " + expected);
  }
}
