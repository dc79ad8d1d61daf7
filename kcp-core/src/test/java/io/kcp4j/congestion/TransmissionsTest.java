package io.kcp4j.congestion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class TransmissionsTest {

  private final Transmissions transmissions = new Transmissions();

  private void send(int firstSn, int segments) {
    for (int i = 0; i < segments; i++) {
      send(transmissions, firstSn + i, 1 + i);
    }
  }

  private static void send(Transmissions transmissions, int sn, int bytes) {
    int at = transmissions.claim(sn);
    transmissions.values()[at + Transmissions.BYTES] = bytes;
  }

  private void acknowledge(int firstSn, int segments) {
    for (int i = 0; i < segments; i++) {
      int at = transmissions.find(firstSn + i);
      assertTrue(at >= 0, "no entry");
      assertEquals(1 + i, transmissions.values()[at + Transmissions.BYTES]);
      transmissions.values()[at + Transmissions.BYTES] = 0;
    }
  }

  @Test
  void entriesAreFoundAfterTheMemoryHasGrown() {
    send(Integer.MAX_VALUE - 500, 1_000);
    acknowledge(Integer.MAX_VALUE - 500, 1_000);
  }

  @Test
  void segmentsThatAreFarApartHaveEntriesOfTheirOwn() {
    send(0, 1);
    send(16, 1);
    send(1 << 16, 1);
    acknowledge(0, 1);
    acknowledge(16, 1);
    acknowledge(1 << 16, 1);
  }

  @Test
  void segmentThatIsFreeOrUnknownHasNoEntry() {
    assertEquals(-1, transmissions.find(0));
    send(0, 1);
    assertEquals(-1, transmissions.find(16));
    acknowledge(0, 1);
    assertEquals(-1, transmissions.find(0));
  }

  @Test
  void memoryShrinksAndServesTheNextBurstOfTheThread() {
    send(0, 300);
    int[] large = transmissions.values();
    acknowledge(0, 300);
    transmissions.shrink();
    assertEquals(16 * 8, transmissions.values().length);

    Transmissions other = new Transmissions();
    for (int sn = 0; sn < 300; sn++) {
      send(other, sn, 7);
    }
    assertSame(large, other.values());
    send(0, 300);
    assertNotSame(large, transmissions.values());
    acknowledge(0, 300);
  }

  @Test
  void memoryOfAnotherSessionHasNoEntries() {
    send(0, 300); // Leaves smaller arrays whose entries were in use.
    for (int sn = 0; sn < 1_000; sn++) {
      assertEquals(-1, new Transmissions().find(sn));
    }
    acknowledge(0, 300);
    transmissions.shrink();
    Transmissions other = new Transmissions();
    send(other, 1_000, 7);
    send(other, 1_016, 7);
    for (int sn = 0; sn < 1_000; sn++) {
      assertEquals(-1, other.find(sn));
    }
  }
}
