package io.kcp4j;

/**
 * What became of a datagram. Anything but {@link #ACCEPTED} means that it was refused as a whole:
 * counted, and without any effect on the session.
 */
public enum InputResult {
  /**
   * Well formed, for this session, and taken. Single segments of it may still have been dropped.
   */
  ACCEPTED,
  /** Shorter than a header, or a segment's length points beyond the end. */
  MALFORMED,
  /** A segment carries another conversation id. */
  WRONG_CONV,
  /** A segment's command is none of KCP's four. */
  UNKNOWN_COMMAND,
  /** Acknowledges what was never sent, by {@code una} or by an ACK. */
  ACKNOWLEDGES_UNSENT,
  /** The session has ended; see {@link Kcp#failure()}. */
  SESSION_ENDED
}
