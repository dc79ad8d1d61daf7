package io.kcp4j.lab;

import io.kcp4j.KcpCounter;

/**
 * What a cell has measured.
 *
 * @param latencies of messages, empty without messages
 * @param bulkMbps the rate at which bulk data was read, without headers, in Mbit/s
 * @param up client to server
 * @param down server to client
 */
record CellResult(Cell cell, Latencies latencies, double bulkMbps, Direction up, Direction down) {

  /**
   * One direction. Segments are those with payload.
   *
   * @param datagrams datagrams sent
   * @param bytes their UDP payload
   * @param lost datagrams lost by the loss model
   * @param dropped datagrams dropped by the queue
   * @param reordered datagrams that arrived before an earlier one
   * @param segments segments sent, each counted once
   * @param retransmitted their retransmissions, without copies
   * @param copies deliberate copies
   * @param parity parity packets sent
   * @param spurious retransmissions of segments of which an earlier transmission arrived
   * @param duplicates segments that the receiver had received before, from FEC too
   * @param recovered datagrams that the receiver recovered by FEC
   */
  record Direction(
      long datagrams,
      long bytes,
      long lost,
      long dropped,
      long reordered,
      long segments,
      long retransmitted,
      long copies,
      long parity,
      long spurious,
      long duplicates,
      long recovered) {

    static Direction of(LabLink link, LabPeer receiver) {
      TransmissionMonitor monitor = link.monitor();
      return new Direction(
          link.datagrams(),
          link.bytes(),
          link.lost(),
          link.dropped(),
          link.reordered(),
          monitor.segments(),
          monitor.retransmissions(),
          monitor.copies(),
          monitor.parity(),
          monitor.spurious(),
          receiver.counters().get(KcpCounter.DUPLICATES),
          receiver.counters().get(KcpCounter.FEC_RECOVERED));
    }

    /** What has been counted since {@code before}. */
    Direction since(Direction before) {
      return new Direction(
          datagrams - before.datagrams,
          bytes - before.bytes,
          lost - before.lost,
          dropped - before.dropped,
          reordered - before.reordered,
          segments - before.segments,
          retransmitted - before.retransmitted,
          copies - before.copies,
          parity - before.parity,
          spurious - before.spurious,
          duplicates - before.duplicates,
          recovered - before.recovered);
    }

    /** Spurious retransmissions as a share of all segments. */
    double spuriousShare() {
      return segments == 0 ? 0 : (double) spurious / segments;
    }
  }

  /** The latency of a given share of messages, in microseconds. */
  long quantileUs(double share) {
    return latencies.quantileUs(share);
  }
}
