package io.kcp4j.session;

import io.kcp4j.KcpCounter;

/** What a validated session that was refused memory waits for, and its turn with the reserve. */
final class MemoryWait {

  /** A session that has the reserve for so long, while others wait, has stalled. */
  private static final long MAX_TURN_US = 15_000_000;

  int refusedBytes;

  /** Whether that was for sending. */
  boolean isSending;

  /** Whether it has been refused memory since it had the reserve last. */
  boolean isActive;

  /** Whether it had the reserve and did not grow. */
  boolean isStalled;

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

  void begin(Session session, long nowUs) {
    grown(session, nowUs);
    begunAtUs = nowUs;
    undeliveredBytes = session.kcp().memory().undeliveredBytes();
    deliveredBytes = delivered(session);
    datagrams = datagrams(session);
    datagramAtUs = nowUs;
  }

  void grown(Session session, long nowUs) {
    grownAtUs = nowUs;
    takenBytes = session.kcp().acceptedBytes();
  }

  /** Small messages on one lane may have hidden that a large one on another does not grow. */
  boolean isTooLong(long nowUs) {
    return nowUs - begunAtUs >= MAX_TURN_US;
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
