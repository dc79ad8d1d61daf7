package io.kcp4j.load;

import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;

/** Counts delivered bytes and round trips. */
final class LoadStats implements LoadReport {

  private final LongAdder bytes = new LongAdder();
  private long[] roundTripsNs = new long[256];
  private int roundTrips;

  /** Counts delivered payload. */
  void addBytes(int delivered) {
    bytes.add(delivered);
  }

  /** Adds the round-trip time of one message. */
  synchronized void addRoundTrip(long ns) {
    if (roundTrips == roundTripsNs.length) {
      roundTripsNs = Arrays.copyOf(roundTripsNs, 2 * roundTrips);
    }
    roundTripsNs[roundTrips++] = ns;
  }

  /** The bytes since the start, and the round trips since the previous request. */
  @Override
  public synchronized String toJson() {
    Arrays.sort(roundTripsNs, 0, roundTrips);
    String line =
        String.format(
            Locale.ROOT,
            "{\"bytes\":%d,\"ns\":%d,\"pings\":%d,\"p50_us\":%.1f,\"p99_us\":%.1f}",
            bytes.sum(),
            System.nanoTime(),
            roundTrips,
            percentileUs(50),
            percentileUs(99));
    roundTrips = 0;
    return line;
  }

  /**
   * The smallest of the sorted times that {@code percent} of all do not exceed; 0 without times.
   */
  private double percentileUs(int percent) {
    int rank = (roundTrips * percent + 99) / 100;
    return rank == 0 ? 0 : roundTripsNs[rank - 1] / 1e3;
  }
}
