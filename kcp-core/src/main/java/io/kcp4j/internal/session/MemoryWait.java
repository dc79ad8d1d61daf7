package io.kcp4j.internal.session;

import io.kcp4j.KcpCounter;

/** What a validated session that was refused memory waits for, and its turn with the reserve. */
final class MemoryWait {

  /** A session that has the reserve for so long, while others wait, has stalled. */
  private static final long MAX_TURN_US = 15_000_000;

  // A peer from which nothing arrives in its turn is told that it begins so often, and for so long:

  private static final long TOLD_INTERVAL_US = 250_000;
  private static final long TOLD_US = 1_000_000;

  int refusedBytes;

  /** Whether that was for sending. */
  boolean isSending;

  /** The payload that the session had delivered then, in bytes. */
  private long deliveredBeforeBytes;

  /** Whether it has been refused memory since it had the reserve last. */
  boolean isActive;

  /** Whether it had the reserve and did not grow. */
  boolean isStalled;

  /** Whether it has been refused memory to receive, though it had the reserve. */
  boolean isRefused;

  // When it has got the reserve:

  long begunAtUs;
  int undeliveredBytes;
  long deliveredBytes;

  // When it has grown last:

  long grownAtUs;
  private int takenBytes;

  // What its peer has sent:

  long datagrams;
  long datagramAtUs;

  /** When the peer was told last that there is memory for more. */
  long toldAtUs;

  /** The session has been refused memory. */
  void refused(Session session, int bytes, boolean isSending) {
    refusedBytes = bytes;
    this.isSending = isSending;
    isActive = !isSending;
    isRefused |= isActive;
    deliveredBeforeBytes = delivered(session);
  }

  /**
   * Whether the session has delivered something since it was refused memory to receive, and has
   * nothing to complete: it is refused again if it needs more.
   */
  boolean isOver(Session session) {
    return !isSending
        && session.kcp().memory().undeliveredBytes() == 0
        && delivered(session) != deliveredBeforeBytes;
  }

  /** The session gets the reserve. */
  void begin(Session session, long nowUs) {
    isRefused = false;
    grown(session, nowUs);
    begunAtUs = nowUs;
    undeliveredBytes = session.kcp().memory().undeliveredBytes();
    deliveredBytes = delivered(session);
    datagrams = datagrams(session);
    datagramAtUs = nowUs;
    toldAtUs = nowUs;
  }

  void grown(Session session, long nowUs) {
    grownAtUs = nowUs;
    takenBytes = session.kcp().acceptedBytes();
  }

  /** Small messages on one lane may have hidden that a large one on another does not grow. */
  boolean isTooLong(long nowUs) {
    return nowUs - begunAtUs >= MAX_TURN_US;
  }

  /** Whether the peer may not know that it has its turn: what tells it may be lost. */
  boolean isToBeTold(long nowUs) {
    return datagramAtUs == begunAtUs
        && nowUs - toldAtUs >= TOLD_INTERVAL_US
        && nowUs - begunAtUs <= TOLD_US;
  }

  static long delivered(Session session) {
    return session.kcp().counters().get(KcpCounter.PAYLOAD_BYTES_IN);
  }

  /**
   * How much the session has taken in since it has grown last, in bytes. Not what it holds: buffers
   * double, and are filled for a long time if the link is slow.
   */
  int growth(Session session) {
    return session.kcp().acceptedBytes() - takenBytes;
  }

  static long datagrams(Session session) {
    return session.kcp().counters().get(KcpCounter.DATAGRAMS_IN);
  }
}
