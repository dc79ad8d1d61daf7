package io.kcp4j;

/** What a session counts. Every counter only grows. */
public enum KcpCounter {
  /** Datagrams taken in, well formed or not. */
  DATAGRAMS_IN("datagrams.in", "datagrams"),
  /** Datagrams given out. */
  DATAGRAMS_OUT("datagrams.out", "datagrams"),
  /** Bytes of the datagrams taken in. */
  BYTES_IN("bytes.in", "bytes"),
  /** Bytes of the datagrams given out. */
  BYTES_OUT("bytes.out", "bytes"),
  /** Segments of all four commands taken in. */
  SEGMENTS_IN("segments.in", "segments"),
  /** Segments of all four commands given out, repeated ones included. */
  SEGMENTS_OUT("segments.out", "segments"),
  /** Bytes handed to the reader. */
  PAYLOAD_BYTES_IN("payload.in", "bytes"),
  /** Bytes taken from the writer. */
  PAYLOAD_BYTES_OUT("payload.out", "bytes"),
  /** Segments sent again, for whatever reason. */
  RETRANSMITTED("segments.retransmitted", "segments"),
  /** Segments sent again because their timeout had passed; kcp-go's "lost". */
  TIMED_OUT("segments.timed.out", "segments"),
  /** Segments sent again because later ones had been acknowledged often enough. */
  FAST_RETRANSMITTED("segments.fast.resent", "segments"),
  /** Segments sent again after one later acknowledgement, nothing new being there to send. */
  EARLY_RETRANSMITTED("segments.early.resent", "segments"),
  /** Segments that had been received before; kcp-go's "repeated". */
  DUPLICATES("segments.repeated", "segments"),
  /** Segments beyond the receive window: dropped and not acknowledged. */
  OUT_OF_WINDOW("segments.out.of.window", "segments"),
  /** Fragments of messages larger than we take: dropped and not acknowledged. */
  FRAGMENT_REFUSED("segments.fragment.refused", "segments"),
  /** Fragments of messages that came into a stream: the peer's delivery is another, most likely. */
  FRAGMENT_IN_STREAM("segments.fragment.in.stream", "segments"),
  /** Segments that the memory budget had no room for: dropped and not acknowledged. */
  OVER_BUDGET("segments.over.budget", "segments"),
  /** How often the allocator failed: what came in was dropped as above, what goes out waits. */
  ALLOCATION_FAILED("allocations.failed", "allocations"),
  /** Acknowledgements whose timestamp is none that we sent: they give no round-trip time. */
  INVALID_TIMESTAMP("acks.false.timestamp", "segments"),
  /** Window probes given out. */
  PROBES_OUT("probes.out", "segments"),
  /** Datagrams refused as {@link InputResult#MALFORMED}. */
  MALFORMED("datagrams.malformed", "datagrams"),
  /** Datagrams refused as {@link InputResult#WRONG_CONV}. */
  WRONG_CONV("datagrams.wrong.conv", "datagrams"),
  /** Datagrams refused as {@link InputResult#UNKNOWN_COMMAND}. */
  UNKNOWN_COMMAND("datagrams.unknown.command", "datagrams"),
  /** Datagrams refused as {@link InputResult#ACKNOWLEDGES_UNSENT}. */
  ACKNOWLEDGES_UNSENT("datagrams.acknowledges.unsent", "datagrams"),
  /** FEC packets with a header that cannot be right, and recovered ones that cannot be. */
  FEC_REFUSED("fec.refused", "datagrams"),
  /** Parity packets given out. */
  FEC_PARITY_OUT("fec.parity.out", "datagrams"),
  /** Parity packets taken in. */
  FEC_PARITY_IN("fec.parity.in", "datagrams"),
  /** Datagrams that were lost and have been recovered. */
  FEC_RECOVERED("fec.recovered", "datagrams"),
  /** How often another ratio of data to parity was found than the one before. */
  FEC_RATIO_CHANGES("fec.ratio.changes", "changes"),
  /** Unreliable datagrams given out. */
  UNRELIABLE_OUT("unreliable.out", "datagrams"),
  /** Unreliable datagrams taken in. */
  UNRELIABLE_IN("unreliable.in", "datagrams"),
  /** Unreliable datagrams, of either direction, that gave way to newer ones or were unwanted. */
  UNRELIABLE_DROPPED("unreliable.dropped", "datagrams"),
  /** Packets that no key opens; counted by the endpoint, they belong to no session. */
  OPEN_FAILED("datagrams.open.failed", "datagrams"),
  /** Those of them that are KCP in plaintext: of a peer without keys, most likely. */
  UNSEALED("datagrams.unsealed", "datagrams"),
  /** Datagrams larger than we take; counted by the endpoint, they belong to no session. */
  OVERSIZE("datagrams.oversize", "datagrams"),
  /** Datagrams whose source is port 0, where nobody can be answered; counted by the endpoint. */
  INVALID_SOURCE("datagrams.invalid.source", "datagrams"),
  /** GSO batches that the system refused, sent as single datagrams instead; endpoint's count. */
  GSO_REFUSED("gso.refused", "batches"),
  /** Datagrams of no session that do not begin one; counted by the endpoint. */
  UNKNOWN_SESSION("datagrams.unknown.session", "datagrams"),
  /** Those of them that are not KCP: of a peer that has keys where we have none, most likely. */
  NOT_KCP("datagrams.not.kcp", "datagrams"),
  /** Datagrams for a session that has been closed; counted by the endpoint. */
  CLOSED_SESSION("datagrams.closed.session", "datagrams"),
  /** Datagrams passed on from the socket they came in at to their session's; endpoint's count. */
  FORWARDED("datagrams.passed.on", "datagrams"),
  /** First datagrams that were turned away: a limit was reached; counted by the endpoint. */
  ACCEPT_REFUSED("accepts.refused", "datagrams"),
  /** Sessions begun; counted by the endpoint. */
  SESSIONS_OPENED("sessions.opened", "sessions"),
  /** Sessions ended; counted by the endpoint. */
  SESSIONS_CLOSED("sessions.closed", "sessions");

  private final String metricName;
  private final String unit;

  KcpCounter(String metricName, String unit) {
    this.metricName = metricName;
    this.unit = unit;
  }

  /** The name under which monitoring systems know it, lower case with dots. */
  public String metricName() {
    return metricName;
  }

  /** What is counted: bytes, segments, datagrams, batches, sessions or else. */
  public String unit() {
    return unit;
  }
}
