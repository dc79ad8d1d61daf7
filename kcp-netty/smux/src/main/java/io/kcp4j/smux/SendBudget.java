package io.kcp4j.smux;

/**
 * How much of the peer's receive buffer all streams together may use in version 2. A peer with a
 * full buffer reads no stream any more, so streams that it does not read must not fill it.
 *
 * <p>There are two parts. Three quarters of the buffer are shared, and everything outstanding
 * counts against them. The rest is divided among the most streams that there can be: each may
 * always have a small share outstanding. So a stream that is read can always go on.
 *
 * <p>A peer whose reports are early ({@link ConsumptionReports}) tells soon what it has read. Of
 * the shared part, each stream may then have twice as much outstanding as is left (the dynamic
 * thresholds of Choudhury and Hahne, 1998). One stream alone gets two thirds of it; many that are
 * not read, or slowly, get equal parts and leave one for others.
 *
 * <p>Any other peer, such as Go, may have read up to half a window of each stream without reporting
 * it. If all of that counted, idle streams would soon use up the budget for good. So a stream may
 * have that outstanding beyond its share, and streams that such a peer reads slowly can fill its
 * buffer.
 */
final class SendBudget {

  private static final int THRESHOLD_FACTOR = 2;

  private final int shared;
  private final int share;
  private long outstanding;
  private boolean isPeerEarly;

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

  /** Whether streams get parts of what is left. */
  boolean isPeerEarly() {
    return isPeerEarly;
  }

  /**
   * The peer has sent an early report. Half a window may be unreported, and as much unread, before
   * it reports each read: a budget of less than a window could be used up by that.
   *
   * @return whether streams get parts from now on
   */
  boolean reportedEarly(int window) {
    isPeerEarly = shared >= window;
    return isPeerEarly;
  }

  /** How much a stream may send now, in bytes. */
  int available(SendWindow stream) {
    long own = (long) share - stream.outstanding();
    long room = shared - outstanding;
    if (isPeerEarly) {
      long part = (THRESHOLD_FACTOR * room - stream.outstanding()) / (1 + THRESHOLD_FACTOR);
      return (int) Math.max(0, part >= share ? Math.max(own, part) : own);
    }
    own += stream.unreportable();
    return (int) Math.max(0, room >= share ? Math.max(own, room) : own);
  }

  void sent(int bytes) {
    outstanding += bytes;
  }

  void released(int bytes) {
    outstanding -= bytes;
  }
}
