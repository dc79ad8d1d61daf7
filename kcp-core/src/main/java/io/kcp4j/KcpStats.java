package io.kcp4j;

/**
 * The state of a session at one moment.
 *
 * @param srttUs the smoothed round-trip time in microseconds, 0 before the first sample
 * @param rttVarUs the round-trip time's variation, in microseconds
 * @param rtoUs the retransmission timeout of a segment that is sent now, in microseconds
 * @param congestionWindow the congestion control's window, in segments
 * @param remoteWindow the free receive window that the peer advertised last, in segments
 * @param inFlight segments sent and not yet acknowledged
 * @param queued segments written and not yet sent
 * @param mtuBytes the largest packet that is sent, in bytes, with the headers of all layers: the
 *     MTU, or 1,200 if the path drops larger ones; 0 before the session was made
 * @param heldBytes the capacity of all buffers that the session holds, in bytes
 * @param congestion what the congestion control knows and does
 * @param counters a copy of the counters
 */
public record KcpStats(
    int srttUs,
    int rttVarUs,
    int rtoUs,
    int congestionWindow,
    int remoteWindow,
    int inFlight,
    int queued,
    int mtuBytes,
    long heldBytes,
    CongestionStats congestion,
    KcpCounters counters) {

  /** The value of one counter. */
  public long get(KcpCounter counter) {
    return counters.get(counter);
  }
}
