package io.kcp4j.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpCounter;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.stream.LongStream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;

/**
 * Compares what many seeds send and count with one digest for each kind of seed. A change of the
 * structure leaves the digests as they are. A change of the behaviour replaces those that it
 * changes in {@code simulation-digests.csv}, and its commit says why.
 */
@Tag("slow")
class SimulationDigestTest {

  @ParameterizedTest
  @CsvFileSource(resources = "/simulation-digests.csv", numLinesToSkip = 1)
  void seedsBehaveAsBefore(String kind, int seeds, String digest) {
    CRC32C all = new CRC32C();
    LongStream.range(0, seeds)
        .parallel()
        .mapToObj(seed -> digest(run(kind, seed)))
        .forEachOrdered(all::update);
    assertEquals(digest, Long.toHexString(all.getValue()));
  }

  private static SimulationReport run(String kind, long seed) {
    return switch (kind) {
      case "pair" -> Simulation.pair(seed, null);
      case "lanes" -> Simulation.lanes(seed, null);
      case "endpoints" -> Simulation.endpoints(seed, null);
      case "lane-endpoints" -> Simulation.laneEndpoints(seed, null);
      case "memory" -> Simulation.memory(seed, null);
      default -> throw new IllegalArgumentException(kind);
    };
  }

  /** Counters that are 0 have no part in it, so that a new one changes nothing. */
  private static byte[] digest(SimulationReport report) {
    ByteBuffer bytes = ByteBuffer.allocate((KcpCounter.values().length + 5) * Long.BYTES);
    bytes.putLong(report.digest());
    bytes.putLong(report.segmentsFromA());
    bytes.putLong(report.segmentsFromB());
    bytes.putLong(report.retransmitted());
    bytes.putLong(report.endedAtUs());
    for (KcpCounter counter : KcpCounter.values()) {
      long value = report.counters().get(counter);
      if (value != 0) {
        bytes.putLong(value);
      }
    }
    return Arrays.copyOf(bytes.array(), bytes.position());
  }
}
