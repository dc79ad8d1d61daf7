package io.kcp4j;

/**
 * Writes the segments with which each flush begins: acknowledgements, a window probe and a window
 * update, as far as they are pending.
 */
final class ControlSegments {

  private ControlSegments() {}

  /**
   * Whether a flush that sends no payload may write any. Those of a session that has something to
   * send depend on the peer's window, too.
   */
  static boolean areDue(Kcp kcp) {
    return kcp.receiving.acks().isPending()
        || kcp.probe.isRequested()
        || kcp.advertised.isUpdatePending()
        || kcp.advertised.isWithheld();
  }

  /**
   * The sequence number of a PUSH that the peer drops as a duplicate, and acknowledges. It is not
   * 0, with which a session would begin at a peer that has restarted.
   */
  private static int challengeSn(Kcp kcp) {
    int sn = kcp.sending.una() - 1;
    return sn == 0 ? -1 : sn;
  }

  /** Writes segments with the timestamp {@code ts}. */
  static void write(Kcp kcp, int ts, long nowUs) {
    kcp.receiving.flushAcks(nowUs, kcp.writer);
    kcp.writer.endAcks();
    kcp.probe.update(Transmitter.isRemoteWindowClosed(kcp), nowUs);
    boolean isProbing = kcp.probe.take(nowUs) && kcp.writer.control(Segment.WASK, ts, 0);
    if (kcp.advertised.takeUpdate()) {
      kcp.writer.control(Segment.WINS, ts, 0);
    }
    if (kcp.probe.takeChallenge(ts)) {
      isProbing |= kcp.writer.control(Segment.PUSH, ts, challengeSn(kcp));
    }
    if (isProbing) {
      kcp.counters.add(KcpCounter.PROBES_OUT, 1);
    }
  }
}
