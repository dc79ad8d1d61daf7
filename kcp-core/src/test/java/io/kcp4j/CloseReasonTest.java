package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** {@link CloseReason}: its limit, and how it is printed. */
class CloseReasonTest {

  @Test
  void textHasAtMost64BytesInUtf8() {
    assertEquals(32, new CloseReason(1, "é".repeat(32)).text().length());
    assertThrows(IllegalArgumentException.class, () -> new CloseReason(1, "é".repeat(32) + "x"));
  }

  @Test
  void peerBeginsNoLineOfALog() {
    assertEquals("code 7", new CloseReason(7, "").toString());
    assertEquals("code 7: full?ERROR", new CloseReason(7, "full\nERROR").toString());
    assertEquals("code 7: ????", new CloseReason(7, "\u0085\u2028\u009b\u202e").toString());
  }
}
