package io.kcp4j.congestion;

/** Which transmission of a segment has arrived, as far as its acknowledgement tells. */
public enum DeliveredTransmission {
  /** The last one. */
  LAST,

  /** An earlier one: the last retransmission was spurious. */
  EARLIER,

  /** Any: the segment was sent several times, and no ACK of its own has come. */
  UNKNOWN
}
