package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class CongestionOptionsTest {

  private static List<CongestionCell> cells(String... arguments) {
    return CongestionLines.cells(CongestionOptions.of(arguments));
  }

  @Test
  void everyCombinationIsACell() {
    assertEquals(2 * 2 * 5 * 3, cells("--lines", "1").size());
    assertEquals(
        2 * 3, cells("--lines", "1", "--rate", "20", "--loss", "0,1", "--buffer", "1").size());
    assertEquals(5 * 3 * 3, cells("--lines", "3", "--rate", "20").size());
    assertEquals(2 * 4, cells("--lines", "4", "--rate", "20", "--seeds", "7").size());
  }

  @Test
  void changesHaveRatesOfTheirOwn() {
    assertEquals(1 + 2 * 3, cells("--lines", "6", "--seeds", "1", "--rate", "20,100").size());
  }

  @Test
  void kcpGoHasMoreRoom() {
    assertEquals(0, CongestionOptions.of("--receiver", "kcp4j-40").queueRoomMs());
    assertEquals(10, CongestionOptions.of("--receiver", "kcp-go-40").queueRoomMs());
    assertEquals(5, CongestionOptions.of("--receiver", "kcp-go-10").goodputRoomPercent());
  }

  static Stream<List<String>> invalidArguments() {
    return Stream.of(
        List.of("--unknown", "1"),
        List.of("--loss"),
        List.of("--lines", "0"),
        List.of("--rate", "much"),
        List.of("--control", "unknown"),
        List.of("--receiver", "unknown"));
  }

  @ParameterizedTest
  @MethodSource("invalidArguments")
  void invalidArgumentsAreRefused(List<String> arguments) {
    assertThrows(IllegalArgumentException.class, () -> cells(arguments.toArray(String[]::new)));
  }
}
