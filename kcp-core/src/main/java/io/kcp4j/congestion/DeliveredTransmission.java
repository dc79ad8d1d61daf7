package io.kcp4j.congestion;

/**
 * Which transmission of a segment has arrived. Where no ACK of its own has come, as when {@code
 * una} covers it, the time tells: no round trip is shorter than the shortest.
 */
public enum DeliveredTransmission {
  /** The last one. */
  LAST,

  /** An earlier one: the last retransmission was spurious. */
  EARLIER
}
