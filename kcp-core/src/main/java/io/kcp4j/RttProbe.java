package io.kcp4j;

/**
 * Round-trip times of thin traffic (protocol.md 4.15). A session that writes less often than twice
 * in a second has few samples, and its timeouts belong to a path of long ago. So while it writes, a
 * challenge (7.3), which every peer answers, gives at least one sample in a second.
 *
 * <p>Made with the first write after a pause.
 */
final class RttProbe {

  /** The shortest time between two exchanges. */
  private static final int PERIOD_US = 1_000_000;

  /** How long a probe waits for acknowledgements, whose datagram it can share. */
  private static final int SHARING_US = 250_000;

  /** How long after its last write a session counts as one that writes. */
  private static final int WRITING_US = 5_000_000;

  private final Kcp kcp;

  private long writtenAtUs;
  private long probedAtUs = Long.MIN_VALUE;

  RttProbe(Kcp kcp, long nowUs) {
    this.kcp = kcp;
    writtenAtUs = nowUs;
  }

  /** New segments have left. */
  void sentNew(long nowUs) {
    writtenAtUs = nowUs;
  }

  /**
   * When a probe has to leave, or {@link Kcp#NO_DEADLINE}. Segments in flight give a sample of
   * their own.
   */
  long deadlineUs() {
    if (kcp.losses.unacknowledged() > 0 || !kcp.isFreshnessExpected()) {
      return Kcp.NO_DEADLINE;
    }
    long atUs = Math.max(probedAtUs, kcp.rtt.sampledAtUs()) + PERIOD_US + SHARING_US;
    return atUs - writtenAtUs < WRITING_US ? atUs : Kcp.NO_DEADLINE;
  }

  /** A flush begins: requests a probe if one is due, or can share a datagram. */
  void beginFlush(long nowUs) {
    int sharingUs = kcp.receiving.acks().isPending() ? SHARING_US : 0;
    if (nowUs < deadlineUs() - sharingUs) {
      return;
    }
    probedAtUs = nowUs;
    if (!Transmitter.isNewAllowed(kcp)) {
      kcp.probe.requestChallenge();
    }
  }
}
