package io.kcp4j.internal.send;

import io.kcp4j.internal.recovery.RttEstimator;
import io.kcp4j.internal.wire.Time;

/**
 * Round-trip times of thin traffic (protocol.md 4.15). A session that writes less often than twice
 * in a second has few samples, and its timeouts belong to a path of long ago. So while it writes, a
 * challenge (7.3), which every peer answers, gives at least one sample in a second.
 *
 * <p>Probes of an {@link Outage} give samples, too. Made with the first of these, or the first
 * write after a pause.
 */
final class RttProbe {

  /** The shortest time between two exchanges. */
  private static final int PERIOD_US = 1_000_000;

  /** How long a probe waits for acknowledgements, whose datagram it can share. */
  private static final int SHARING_US = 250_000;

  /** How long after its last write a session counts as one that writes. */
  private static final int WRITING_US = 5_000_000;

  private final Sender sender;

  /** When new segments left last. */
  private long writtenAtUs = RttEstimator.NEVER;

  private long probedAtUs = RttEstimator.NEVER;

  /** When the probe before that left, whose answer may take longer than the time between two. */
  private long probedBeforeUs = RttEstimator.NEVER;

  RttProbe(Sender sender) {
    this.sender = sender;
  }

  /** New segments have left. */
  void sentNew(long nowUs) {
    writtenAtUs = nowUs;
  }

  /**
   * When a probe has to leave, or {@link Time#NO_DEADLINE}. Segments in flight give a sample of
   * their own, and what waits for the peer's window is not thin traffic.
   */
  long deadlineUs() {
    boolean isAllSent = sender.losses.unacknowledged() == 0 && !sender.hasNew();
    if (!isAllSent || !sender.isFreshnessExpected()) {
      return Time.NO_DEADLINE;
    }
    long atUs = Math.max(probedAtUs, sender.rtt.sampledAtUs()) + PERIOD_US + SHARING_US;
    return atUs - writtenAtUs < WRITING_US ? atUs : Time.NO_DEADLINE;
  }

  /** A flush begins: requests a probe if one is due, or can share a datagram with ACKs. */
  void beginFlush(boolean hasAcks, long nowUs) {
    int sharingUs = hasAcks ? SHARING_US : 0;
    if (nowUs >= deadlineUs() - sharingUs) {
      send(nowUs);
    }
  }

  /** A flush begins, which sends a challenge. */
  void send(long nowUs) {
    probedBeforeUs = probedAtUs;
    probedAtUs = nowUs;
    sender.probe.requestChallenge();
  }

  /** The peer has answered a challenge, which had the timestamp {@code ts}. */
  void onAnswer(int ts, long nowUs) {
    if (ts == sender.timestamps.at(probedAtUs)) {
      sender.rtt.sampleProbe(nowUs - probedAtUs, nowUs);
    } else if (ts == sender.timestamps.at(probedBeforeUs)) {
      sender.rtt.sampleProbe(nowUs - probedBeforeUs, nowUs);
    }
    sender.losses.roundTripChanged();
  }
}
