package io.kcp4j;

/** Why a session cannot go on. */
public enum KcpFailure {
  /** One segment was sent {@link KcpConfig#deadLink()} times and not acknowledged. */
  DEAD_LINK,
  /**
   * While segments were in flight, none was acknowledged for {@link KcpConfig#progressTimeoutMs()}.
   */
  NO_PROGRESS,
  /** The peer's window was closed for {@link KcpConfig#writeStallTimeoutMs()}. */
  WRITE_STALLED,
  /** In message mode: the peer's fragments do not count down to the end of a message. */
  PROTOCOL_VIOLATION
}
