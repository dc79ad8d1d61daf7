package io.kcp4j;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * Why an application closes, aborts or refuses a session, for its peer to read. QUIC (RFC 9000
 * §19.19) and WebSocket (RFC 6455 §5.5.1) have the same.
 *
 * @param code any number
 * @param text for people to read, at most {@value #MAX_TEXT_BYTES} bytes in UTF-8; may be empty
 */
public record CloseReason(int code, String text) {

  /** The most bytes of a text in UTF-8. */
  public static final int MAX_TEXT_BYTES = 64;

  /**
   * Makes a reason.
   *
   * @throws IllegalArgumentException if the text is too long
   */
  public CloseReason {
    int bytes = Objects.requireNonNull(text, "text").getBytes(StandardCharsets.UTF_8).length;
    if (bytes > MAX_TEXT_BYTES) {
      throw new IllegalArgumentException(
          "text: " + bytes + " bytes in UTF-8 (expected: <= " + MAX_TEXT_BYTES + ")");
    }
  }

  /** The code, and the text if there is one, on one line. */
  @Override
  public String toString() {
    return text.isEmpty() ? "code " + code : "code " + code + ": " + printable(text);
  }

  /** A peer must not begin a line of a log. */
  private static String printable(String text) {
    return text.replaceAll("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]", "?");
  }
}
