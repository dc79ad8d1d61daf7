package io.kcp4j;

/** Why a session has ended that its user has not closed. */
public enum EndReason {
  /** See {@link KcpFailure#DEAD_LINK}. */
  DEAD_LINK,
  /** See {@link KcpFailure#NO_PROGRESS}. */
  NO_PROGRESS,
  /** See {@link KcpFailure#WRITE_STALLED}. */
  WRITE_STALLED,
  /** See {@link KcpFailure#PROTOCOL_VIOLATION}. */
  PROTOCOL_VIOLATION,
  /** Nothing was received from the peer, and seven keep-alive probes in a row stayed unanswered. */
  KEEP_ALIVE_TIMEOUT,
  /** No payload moved in either direction for the idle timeout. */
  IDLE,
  /** The peer has aborted the session. */
  RESET,
  /** The peer does not know the session any more: most likely it has restarted. */
  SESSION_UNKNOWN;

  /** The reason of a session whose {@link Kcp} has failed. */
  public static EndReason of(KcpFailure failure) {
    return switch (failure) {
      case DEAD_LINK -> DEAD_LINK;
      case NO_PROGRESS -> NO_PROGRESS;
      case WRITE_STALLED -> WRITE_STALLED;
      case PROTOCOL_VIOLATION -> PROTOCOL_VIOLATION;
    };
  }
}
