package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class LabOptionsTest {

  @Test
  void everyCombinationIsACell() {
    List<Cell> cells = LabOptions.cells("--loss", "0.5,5", "--rtt", "20,80", "--seeds", "1,2,3");
    assertEquals(12, cells.size());
    assertEquals(12, cells.stream().distinct().count());
    LinkSettings last = LinkSettings.delay(40_000).withJitter(1_000).withLoss(0.05, 0);
    assertEquals(last, cells.get(11).link());
    assertEquals(3, cells.get(11).seed());
  }

  @Test
  void matrixHasNoBurstsWithoutLoss() {
    List<Cell> cells = LabOptions.cells("--matrix");
    assertEquals(2 * 3 * 4 * (1 + 6 * 2) * 3, cells.size());
  }

  @Test
  void optionsAfterAPresetOverrideIt() {
    List<Cell> cells = LabOptions.cells("--matrix", "--seeds", "7", "--seconds", "10");
    assertEquals(2 * 3 * 4 * (1 + 6 * 2), cells.size());
    assertEquals(List.of(10), cells.stream().map(Cell::seconds).distinct().toList());
  }

  @Test
  void stepChangesTheLossAtItsTime() {
    LinkSettings link = LabOptions.cells("--loss", "0.5", "--step", "30:5").get(0).link();
    assertEquals(30_000_000, link.stepAtUs());
    assertEquals(0.05, link.stepLoss());
  }

  static Stream<List<String>> invalidArguments() {
    return Stream.of(
        List.of("--unknown", "1"),
        List.of("--loss"),
        List.of("--variant", "unknown"),
        List.of("--workload", "unknown"),
        List.of("--loss", "much"),
        List.of("--step", "5"),
        List.of("--from", "60"));
  }

  @ParameterizedTest
  @MethodSource("invalidArguments")
  void invalidArgumentsAreRefused(List<String> arguments) {
    assertThrows(
        IllegalArgumentException.class, () -> LabOptions.cells(arguments.toArray(String[]::new)));
  }
}
