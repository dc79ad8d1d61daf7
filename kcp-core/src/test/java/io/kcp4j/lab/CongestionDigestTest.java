package io.kcp4j.lab;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.lab.CongestionCell.Figure;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;

/**
 * The figures of cells of the congestion lab, as one digest for each line of cells. As with {@code
 * SimulationDigestTest}, only a change of the behaviour replaces digests.
 */
@Tag("slow")
class CongestionDigestTest {

  @ParameterizedTest
  @CsvFileSource(resources = "/congestion-digests.csv", delimiter = ';', numLinesToSkip = 1)
  void cellsBehaveAsBefore(String options, String digest) {
    CRC32C all = new CRC32C();
    CongestionLines.cells(CongestionOptions.of(options.split(" ", -1))).stream()
        .parallel()
        .map(cell -> cell.figures().get())
        .forEachOrdered(figures -> figures.forEach(figure -> update(all, figure)));
    assertEquals(digest, Long.toHexString(all.getValue()));
  }

  private static void update(CRC32C digest, Figure figure) {
    digest.update((figure.name() + figure.value()).getBytes(UTF_8));
  }
}
