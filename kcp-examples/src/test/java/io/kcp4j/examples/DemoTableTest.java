package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.examples.GameRun.Figures;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DemoTableTest {

  @Test
  void rowFitsItsHead() {
    String row = DemoTable.row(GameVariant.LIKE_KCP_GO, figures(123, 4_560_000));
    assertEquals(DemoTable.head().length(), row.length());
    assertTrue(row.matches("settings like kcp-go's( +123\\.0){4} +4\\.56 +7"), row);
  }

  @Test
  void lowerLatencyIsSaidToBeLower() {
    assertComparison("60 % lower", "75 % lower", figures(40, 110), figures(25, 170));
  }

  @Test
  void higherLatencyIsSaidToBeHigher() {
    assertComparison("50 % higher", "6 % higher", figures(150, 110), figures(106, 170));
  }

  @Test
  void smallDifferencesAreNotClaimed() {
    assertComparison("about the same", "about the same", figures(96, 110), figures(104, 170));
  }

  private static void assertComparison(String plain, String fec, Figures ofPlain, Figures ofFec) {
    String sentence =
        DemoTable.comparison(
            Map.of(
                GameVariant.LIKE_TCP, figures(100, 100),
                GameVariant.PLAIN, ofPlain,
                GameVariant.FEC, ofFec));
    List<String> expected =
        List.of(
            "Compared with settings like TCP's, p99 is " + plain + " with kcp4j",
            "and " + fec + " with kcp4j with FEC, at 1.7 times the bytes.");
    assertEquals(expected, sentence.lines().toList());
  }

  private static Figures figures(int rttMs, long bytesUp) {
    LatencySamples rtt = new LatencySamples();
    rtt.add(rttMs * 1_000_000L);
    return new Figures(rtt, 0, bytesUp, 7, 0);
  }
}
