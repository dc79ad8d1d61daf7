package io.kcp4j.lab;

/** A flow of a congestion run. */
interface CongestionFlow {

  /** Makes a flow, which shares the bottlenecks of the run. */
  @FunctionalInterface
  interface Factory {
    CongestionFlow create(CongestionWorld world);
  }

  /** Begins to send. */
  void start();

  /** The payload that the receiver has read, in bytes. */
  long bytes();

  /** The bytes on the link for each byte of payload, without retransmissions. */
  double overhead();

  /** What has passed its link with the payload, or null for TCP. */
  CellResult.Direction direction();

  /** The latencies of its messages; empty for bulk data. */
  Latencies latencies();

  /** Ends the flow. */
  void close();
}
