package io.kcp4j;

/** Why a session cannot go on. */
public enum KcpFailure {
  /**
   * One segment was sent as often as {@link KcpConfig#deadLink()} allows and never acknowledged.
   */
  DEAD_LINK,
  /**
   * Segments are in flight, and none was acknowledged for {@link KcpConfig#progressTimeoutMs()}.
   */
  NO_PROGRESS,
  /** The peer has taken next to nothing for {@link KcpConfig#writeStallTimeoutMs()}. */
  WRITE_STALLED,
  /** In message mode: the peer's fragments do not count down to the end of a message. */
  PROTOCOL_VIOLATION
}
