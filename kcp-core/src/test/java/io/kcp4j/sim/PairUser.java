package io.kcp4j.sim;

/** Writes to and reads from one side of a {@link SimulatedPair}, and checks what is received. */
interface PairUser {

  void connect(PairUser peer);

  /** The bytes that the session has taken to send. */
  long bytesWritten();

  /** The bytes that were read. */
  long bytesRead();

  /** Whether the peer has read all that was written. */
  boolean isReadByPeer();

  /** The time of its next write or read, or {@link Long#MAX_VALUE}. */
  long nextTurnAtUs();

  /** Reads nothing until then. */
  void stopReading(long untilUs);

  /** Reads if it is time to; returns whether anything was taken. */
  boolean read();

  /** Whether it has written all that it will. */
  boolean isWritten();

  /** Writes what it has to while there is room; returns whether anything was taken. */
  boolean write();

  /** Until when it may delay the end of the run. */
  default long quietAtUs() {
    return 0;
  }
}
