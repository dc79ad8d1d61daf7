package io.kcp4j.smux;

/**
 * How much of the peer's receive buffer all streams together may use in version 2. A peer with a
 * full buffer reads no stream any more, so streams that it does not read must not fill it.
 *
 * <p>Exactness is impossible: a peer may have read up to half a window of each stream without
 * reporting it. If all of that counted, idle streams would soon use up the budget for good. So
 * there are two parts. Three quarters of the buffer are shared, and everything outstanding counts
 * against them. The rest is divided among the most streams that there can be: each may always have
 * a small share outstanding beyond what the peer may have read unreported. So a stream that is read
 * can always go on, and streams that are not read never fill the peer's buffer.
 */
final class SendBudget {

  private final int shared;
  private final int share;
  private long outstanding;

  /**
   * Makes a budget.
   *
   * @param bufferBytes the peer's receive buffer
   * @param maxStreams the most streams that send
   */
  SendBudget(int bufferBytes, int maxStreams) {
    share = Math.max(1, bufferBytes / 4 / maxStreams);
    shared = (int) Math.max(0, bufferBytes - 1 - (long) share * maxStreams);
  }

  /** What was sent and not reported as consumed, in bytes. */
  long outstanding() {
    return outstanding;
  }

  /** How much a stream may send now, in bytes. */
  int available(SendWindow stream) {
    long own = (long) stream.unreportable() + share - stream.outstanding();
    return (int) Math.max(0, hasRoom() ? Math.max(own, shared - outstanding) : own);
  }

  /** Whether the shared part has room for a frame that is worth sending. */
  boolean hasRoom() {
    return shared - outstanding >= share;
  }

  void sent(int bytes) {
    outstanding += bytes;
  }

  void released(int bytes) {
    outstanding -= bytes;
  }
}
