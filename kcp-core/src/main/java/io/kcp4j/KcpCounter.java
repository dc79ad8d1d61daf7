package io.kcp4j;

/** The counters of a session or an endpoint. A counter never decreases. */
public enum KcpCounter {
  // Those of every session come first: see KcpCounters.

  /** Datagrams received, valid or not. */
  DATAGRAMS_IN("datagrams.in", "datagrams"),
  /** Datagrams sent. */
  DATAGRAMS_OUT("datagrams.out", "datagrams"),
  /** Bytes of the datagrams received. */
  BYTES_IN("bytes.in", "bytes"),
  /** Bytes of the datagrams sent. */
  BYTES_OUT("bytes.out", "bytes"),
  /** Segments of all four commands received. */
  SEGMENTS_IN("segments.in", "segments"),
  /** Segments of all four commands sent, retransmissions included. */
  SEGMENTS_OUT("segments.out", "segments"),
  /** Bytes of payload passed to the reader. */
  PAYLOAD_BYTES_IN("payload.in", "bytes"),
  /** Bytes of payload taken from the writer. */
  PAYLOAD_BYTES_OUT("payload.out", "bytes"),
  /** Unreliable datagrams, and messages of unreliable lanes, sent. */
  UNRELIABLE_OUT("unreliable.out", "datagrams"),
  /** Unreliable datagrams, and messages of unreliable lanes, received. */
  UNRELIABLE_IN("unreliable.in", "datagrams"),
  /** Window probes sent. */
  PROBES_OUT("probes.out", "segments"),
  /** Segments retransmitted, for any reason. */
  RETRANSMITTED("segments.retransmitted", "segments"),
  /** Segments retransmitted after their timeout; kcp-go's "lost". */
  TIMED_OUT("segments.timed.out", "segments"),
  /** Fast retransmits: enough segments sent later had been acknowledged. */
  FAST_RETRANSMITTED("segments.fast.retransmitted", "segments"),
  /** Early retransmits: one segment sent later had been acknowledged, and nothing new was left. */
  EARLY_RETRANSMITTED("segments.early.retransmitted", "segments"),
  /** Segments retransmitted since a later one had arrived and they were overdue. */
  TIME_THRESHOLD_RETRANSMITTED("segments.time.threshold.retransmitted", "segments"),
  /**
   * Retransmissions that were not needed, as acknowledgements of earlier ones have shown. Counted
   * with {@link LossDetection#RACK}.
   */
  SPURIOUSLY_RETRANSMITTED("segments.spuriously.retransmitted", "segments"),
  /** Second copies of retransmitted segments; they count as no retransmissions. */
  COPIES_OUT("segments.copies.out", "segments"),
  /** Segments received before; kcp-go's "repeated". */
  DUPLICATES("segments.duplicates", "segments"),
  /** Segments beyond the receive window: dropped and not acknowledged. */
  OUT_OF_WINDOW("segments.out.of.window", "segments"),
  /** Fragments of messages larger than the limit: dropped and not acknowledged. */
  FRAGMENT_REFUSED("segments.fragment.refused", "segments"),
  /** Fragments of messages received in stream mode: most likely the peer uses message mode. */
  FRAGMENT_IN_STREAM("segments.fragment.in.stream", "segments"),
  /** Segments for which the memory budget had no room: dropped and not acknowledged. */
  OVER_BUDGET("segments.over.budget", "segments"),
  /** Segments beyond what a peer with a path that is not validated may have unread: dropped. */
  OVER_UNREAD_LIMIT("segments.over.unread.limit", "segments"),
  /** Failures of the allocator: segments received were dropped as above, writes are deferred. */
  ALLOCATION_FAILED("allocations.failed", "allocations"),
  /** Acknowledgements with a timestamp that was never sent: they give no round-trip time. */
  INVALID_TIMESTAMP("acks.invalid.timestamp", "segments"),
  /** Datagrams refused: shorter than a header, or a segment's length points beyond the end. */
  MALFORMED("datagrams.malformed", "datagrams"),
  /** Datagrams refused: a segment carries another conversation id. */
  WRONG_CONV("datagrams.wrong.conv", "datagrams"),
  /** Datagrams refused: a segment's command is none of KCP's four. */
  UNKNOWN_COMMAND("datagrams.unknown.command", "datagrams"),
  /** Datagrams refused: they acknowledge a segment that was never sent. */
  ACKNOWLEDGES_UNSENT("datagrams.acknowledges.unsent", "datagrams"),
  /** Datagrams refused: they hold a segment of this side that somebody has sent back. */
  REFLECTED("datagrams.reflected", "datagrams"),
  /** Datagrams refused: a client's peer has proven nothing yet, and they acknowledge something. */
  UNPROVEN("datagrams.unproven", "datagrams"),
  /** PUSHes whose timestamps cannot be of the peer: neither taken nor acknowledged. */
  FOREIGN_TIMESTAMP("segments.foreign.timestamp", "segments"),
  /** Messages of the extension that are malformed, impossible or of another version: ignored. */
  EXTENSION_REFUSED("extension.refused", "messages"),
  /** Stateless resets that answer no outstanding query of the session, or are false: ignored. */
  STATELESS_RESETS_REFUSED("stateless.resets.refused", "datagrams"),
  /** Retries beyond the three that a client takes while it begins a session: ignored. */
  RETRIES_REFUSED("retries.refused", "datagrams"),
  /** Sessions whose peer has another {@link Delivery}, as its parameters say. */
  DELIVERY_MISMATCHED("sessions.delivery.mismatched", "sessions"),
  /** FEC packets with an invalid header, and recovered datagrams that are invalid. */
  FEC_REFUSED("fec.refused", "datagrams"),
  /** FEC packets behind all that are kept that bring nothing new, most likely replays: ignored. */
  FEC_REPLAYED("fec.replayed", "datagrams"),
  /** Parity packets sent. */
  FEC_PARITY_OUT("fec.parity.out", "datagrams"),
  /** Copies of datagrams sent in place of parity, where groups are aligned with flushes. */
  FEC_COPIES_OUT("fec.copies.out", "datagrams"),
  /** Datagrams without payload sent to fill a group. */
  FEC_FILLERS_OUT("fec.fillers.out", "datagrams"),
  /** Parity packets received. */
  FEC_PARITY_IN("fec.parity.in", "datagrams"),
  /** Lost datagrams that were recovered. */
  FEC_RECOVERED("fec.recovered", "datagrams"),
  /** Changes of the detected ratio of data to parity. */
  FEC_RATIO_CHANGES("fec.ratio.changes", "changes"),
  /** Unreliable datagrams of either direction that were dropped for newer ones or not wanted. */
  UNRELIABLE_DROPPED("unreliable.dropped", "datagrams"),
  /** Messages of reliable lanes that have been copied into segments as a whole. */
  LANE_MESSAGES_OUT("lanes.messages.out", "messages"),
  /** Messages of reliable lanes that have arrived as a whole and in the order of their lane. */
  LANE_MESSAGES_IN("lanes.messages.in", "messages"),
  /** Frames of lanes that are malformed, impossible or beyond a limit, and segments of such. */
  LANE_FRAMES_REFUSED("lanes.frames.refused", "frames"),
  /**
   * Segments that were not acknowledged, and unreliable messages that were dropped, since the peer
   * had begun too many lanes within a second. Such segments are over the budget, too.
   */
  LANE_BEGINS_REFUSED("lanes.begins.refused", "segments"),
  /**
   * Segments that did not leave since the sessions of the address, which is not validated, had used
   * up what they may exceed the amplification limit by.
   */
  OVER_ADDRESS_LIMIT("segments.over.address.limit", "segments"),
  /** Sessions that have found that their path drops datagrams above 1,200 bytes. */
  MTU_BLACK_HOLES("mtu.black.holes", "sessions"),

  // The rest is counted by the endpoint alone.

  /** Stateless resets sent: a packet has asked for a session that is not known here. */
  STATELESS_RESETS_OUT("stateless.resets.out", "datagrams"),
  /** Answers to peers of sessions that this side has ended. */
  ENDED_OUT("ended.out", "datagrams"),
  /** Answers to clients whose sessions are refused. */
  REFUSALS_OUT("refusals.out", "datagrams"),

  /** Path challenges sent to other addresses from which sessions were named. */
  PATH_CHALLENGES_OUT("path.challenges.out", "datagrams"),
  /** Such addresses that were forgotten for newer ones before they have responded. */
  CANDIDATE_PATHS_EVICTED("candidate.paths.evicted", "paths"),
  /** Sessions ended as {@link EndReason#PEER_MOVED}. */
  PEERS_MOVED("sessions.peer.moved", "sessions"),
  /** Sessions that have moved to such an address, since their own was never validated. */
  SESSIONS_MOVED("sessions.moved", "sessions"),

  /** Retries sent: a client is to show that it receives at its address. */
  RETRIES_OUT("retries.out", "datagrams"),

  /**
   * Challenges sent to clients that begin a session and have no extension: they are to show that
   * they receive at their addresses.
   */
  ADDRESS_CHALLENGES_OUT("address.challenges.out", "datagrams"),

  /** Packets that no key decrypts; counted by the endpoint, since they belong to no session. */
  DECRYPT_FAILED("datagrams.decrypt.failed", "datagrams"),
  /**
   * Packets that nobody tried to decrypt since too many others had failed; counted by the endpoint.
   */
  DECRYPT_SKIPPED("datagrams.decrypt.skipped", "datagrams"),
  /**
   * Packets that no key decrypts and that are KCP in plaintext, most likely of a peer without keys.
   */
  PLAINTEXT_RECEIVED("datagrams.plaintext", "datagrams"),
  /** Datagrams above the size limit; counted by the endpoint, since they belong to no session. */
  OVERSIZE("datagrams.oversize", "datagrams"),
  /** Datagrams from port 0, which cannot be answered; counted by the endpoint. */
  INVALID_SOURCE("datagrams.invalid.source", "datagrams"),
  /** GSO batches that the system refused, sent as single datagrams; counted by the endpoint. */
  GSO_REFUSED("gso.refused", "batches"),
  /** Datagrams that the system refuses to send as EPERM: a firewall; counted by the endpoint. */
  SEND_REFUSED_EPERM("datagrams.refused.eperm", "datagrams"),
  /** The same as ENETUNREACH: no route to the network. */
  SEND_REFUSED_ENETUNREACH("datagrams.refused.enetunreach", "datagrams"),
  /** The same as EHOSTUNREACH: no route to the host. */
  SEND_REFUSED_EHOSTUNREACH("datagrams.refused.ehostunreach", "datagrams"),
  /** The same as EADDRNOTAVAIL: the host has the local address no more. */
  SEND_REFUSED_EADDRNOTAVAIL("datagrams.refused.eaddrnotavail", "datagrams"),
  /** The same with another error, which the log names. */
  SEND_REFUSED_OTHER("datagrams.refused.other", "datagrams"),
  /** Datagrams that belong to no session and do not begin one; counted by the endpoint. */
  UNKNOWN_SESSION("datagrams.unknown.session", "datagrams"),
  /** Those of them that are not KCP, most likely of a peer with keys; this side has none. */
  NOT_KCP("datagrams.not.kcp", "datagrams"),
  /** Datagrams of a session that has been closed; counted by the endpoint. */
  CLOSED_SESSION("datagrams.closed.session", "datagrams"),
  /** Datagrams forwarded to the socket of their session from another; counted by the endpoint. */
  FORWARDED("datagrams.forwarded", "datagrams"),
  /** First datagrams that were refused since a limit was reached; counted by the endpoint. */
  ACCEPT_REFUSED("accepts.refused", "datagrams"),
  /**
   * First datagrams that were dropped, so that the client repeats them, since many sessions were
   * not validated; counted by the endpoint.
   */
  ACCEPT_DEFERRED("accepts.deferred", "datagrams"),
  /**
   * First datagrams that may be replays, under an AEAD: their conversation id is one of the last
   * two minutes. They begin no session; the sender has to show that it receives at its address.
   * Counted by the endpoint.
   */
  REPLAYED("datagrams.replayed", "datagrams"),
  /** Sessions that have ended to make room, not validated; counted by the endpoint. */
  SESSIONS_EVICTED("sessions.evicted", "sessions"),
  /**
   * Sessions that have ended because others waited for memory: as {@link
   * EndReason#MEMORY_SHORTAGE}, or as {@link EndReason#CLOSE_TIMEOUT} while they were closing.
   * Counted by the endpoint.
   */
  SESSIONS_SHORT_OF_MEMORY("sessions.short.of.memory", "sessions"),
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

  /** The unit: bytes, segments, datagrams, batches, sessions, and so on. */
  public String unit() {
    return unit;
  }
}
