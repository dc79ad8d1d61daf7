package io.kcp4j.internal.session;

import java.util.Arrays;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * How sessions end, in virtual time: each {@link Ending}, with each {@link Carrier}, on each {@link
 * Link}. The other side learns of it in time, reads all that it could have read, and nothing is
 * left of the session.
 */
class EndingTest {

  /** A cell of the table. */
  record Cell(Ending ending, Ending.Side side, Carrier carrier, Link link, long seed) {}

  static Stream<Cell> cells() {
    return Arrays.stream(Ending.values()).flatMap(EndingTest::cells);
  }

  private static Stream<Cell> cells(Ending ending) {
    return ending.side.each().stream()
        .flatMap(
            side ->
                ending.carriers.stream()
                    .flatMap(
                        carrier ->
                            ending.links.stream()
                                .flatMap(link -> cells(ending, side, carrier, link))));
  }

  private static Stream<Cell> cells(Ending ending, Ending.Side side, Carrier carrier, Link link) {
    return LongStream.rangeClosed(1, link.seeds)
        .mapToObj(seed -> new Cell(ending, side, carrier, link, seed));
  }

  @ParameterizedTest
  @MethodSource("cells")
  void sessionEndsAsItsRowSays(Cell cell) {
    try {
      new EndingRun(cell).run();
    } catch (AssertionError | RuntimeException e) {
      throw new AssertionError(cell + ": " + e.getMessage(), e);
    }
  }
}
