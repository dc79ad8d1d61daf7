package io.kcp4j;

/**
 * The result of {@link Kcp#input}. Any other result than {@link #ACCEPTED} means that the datagram
 * was refused as a whole: it was counted and had no effect on the session.
 */
public enum InputResult {
  /** The datagram was valid and applied. Single segments of it may have been dropped. */
  ACCEPTED,
  /** Shorter than a header, or a segment's length points beyond the end. */
  MALFORMED,
  /** A segment carries another conversation id. */
  WRONG_CONV,
  /** A segment's command is none of KCP's four. */
  UNKNOWN_COMMAND,
  /** An ACK or a {@code una} acknowledges a segment that was never sent. */
  ACKNOWLEDGES_UNSENT,
  /** A segment of this side that somebody has sent back, as its timestamp shows. */
  REFLECTED,
  /**
   * The session is a client's whose peer has acknowledged nothing exactly yet, and the datagram
   * acknowledges something: most likely what another process with the same address has sent.
   */
  UNPROVEN,
  /** The session has ended; see {@link Kcp#failure()}. */
  SESSION_ENDED
}
