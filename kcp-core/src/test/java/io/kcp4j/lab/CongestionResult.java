package io.kcp4j.lab;

import java.util.List;

/**
 * What a congestion run has measured.
 *
 * @param fromUs what happened before was not measured, except in series
 * @param waitsUs how long a datagram would have waited, at each step of {@link CongestionRun}
 * @param waits how long datagrams have waited
 * @param offered datagrams that came to the bottleneck
 * @param dropped those for which its queue had no room
 */
record CongestionResult(
    CongestionPath path,
    long fromUs,
    long endUs,
    List<Flow> flows,
    TimeSeries waitsUs,
    Latencies waits,
    long offered,
    long dropped) {

  private static final double US_PER_S = 1e6;

  /**
   * One flow.
   *
   * @param bytes the payload that had been read at each step
   * @param overhead bytes on the link for each byte of payload
   * @param direction what has passed its link, or null for TCP
   */
  record Flow(
      String name,
      TimeSeries bytes,
      double overhead,
      CellResult.Direction direction,
      Latencies latencies) {

    /** The rate at which payload was read, in bits per second. */
    double bitsPerSecond(long fromUs, long toUs) {
      long read = bytes.get(step(toUs)) - bytes.get(step(fromUs));
      return read * Byte.SIZE * US_PER_S / (toUs - fromUs);
    }

    /** Retransmissions as a share of the segments sent. */
    double retransmittedShare() {
      long sent = direction.segments() + direction.retransmitted();
      return (double) direction.retransmitted() / sent;
    }

    /** When so many bytes had been read, in microseconds, or MAX_VALUE. */
    long readAtUs(long atLeast) {
      for (int step = 0; step < bytes.steps(); step++) {
        if (bytes.get(step) >= atLeast) {
          return (long) step * CongestionRun.STEP_US;
        }
      }
      return Long.MAX_VALUE;
    }

    private static int step(long atUs) {
      return (int) (atUs / CongestionRun.STEP_US);
    }
  }

  /** The rate of a flow while it was measured, in bits per second of payload. */
  double bitsPerSecond(int flow) {
    return flows.get(flow).bitsPerSecond(fromUs, endUs);
  }

  /** The latencies of a flow's messages. */
  Latencies latencies(int flow) {
    return flows.get(flow).latencies();
  }

  /** A flow's share of the link, with the headers of its payload. */
  double share(int flow) {
    return bitsPerSecond(flow) * flows.get(flow).overhead() / path.bitsPerSecond();
  }

  /** Goodput as a share of what a flow could have at the loss of the path. */
  double goodputShare(int flow) {
    return share(flow) / (1 - path.loss());
  }

  /** Jain's fairness index of all flows: 1 if they have the same rate, 1/n if one has all. */
  double fairness() {
    double sum = 0;
    double sumOfSquares = 0;
    for (int flow = 0; flow < flows.size(); flow++) {
      double rate = bitsPerSecond(flow);
      sum += rate;
      sumOfSquares += rate * rate;
    }
    return sum * sum / (flows.size() * sumOfSquares);
  }

  /** The share of datagrams that the queue has dropped. */
  double droppedShare() {
    return offered == 0 ? 0 : (double) dropped / offered;
  }

  /**
   * How long after {@code changeUs} the first period of 500 ms has ended in which all flows
   * together have read so many bits per second, in microseconds, or MAX_VALUE.
   */
  long recoveryUs(long changeUs, double bitsPerSecond) {
    long periodUs = 500_000;
    for (long atUs = changeUs + periodUs; atUs <= endUs; atUs += CongestionRun.STEP_US) {
      double rate = 0;
      for (Flow flow : flows) {
        rate += flow.bitsPerSecond(atUs - periodUs, atUs);
      }
      if (rate >= bitsPerSecond) {
        return atUs - changeUs;
      }
    }
    return Long.MAX_VALUE;
  }
}
