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
 * @param usedMemoryBytes the capacity of all buffers that the session holds, in bytes
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
    long usedMemoryBytes,
    Congestion congestion,
    KcpCounters counters) {

  /** The value of one counter. */
  public long get(KcpCounter counter) {
    return counters.get(counter);
  }

  /**
   * What the congestion control of a session knows and does at one moment.
   *
   * @param state what it does: for {@link CongestionControl#BBR} the name of a {@link BbrState};
   *     empty for controls without states
   * @param pacingBytesPerSecond the rate at which it lets datagrams leave, or 0 for no limit
   * @param bandwidthBytesPerSecond the bandwidth of the path as it has measured it, in bytes of
   *     segments, or 0
   * @param queueUs how long datagrams wait in the queue of the path, in microseconds, or 0 if it
   *     does not measure that
   * @param isApplicationLimited whether the application has less to send than the path would take;
   *     always false without a congestion control
   */
  public record Congestion(
      String state,
      long pacingBytesPerSecond,
      long bandwidthBytesPerSecond,
      int queueUs,
      boolean isApplicationLimited) {

    /** Those of a session without congestion control. */
    public static final Congestion NONE = new Congestion("", 0, 0, 0, false);

    @Unstable
    public static Congestion of(CongestionControl control, boolean isApplicationLimited) {
      return new Congestion(
          control.state(),
          control.pacingBytesPerSecond(),
          control.bandwidthBytesPerSecond(),
          control.queueUs(),
          isApplicationLimited);
    }
  }
}
