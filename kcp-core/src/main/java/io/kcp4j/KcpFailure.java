package io.kcp4j;

/** Why a session cannot go on. */
public enum KcpFailure {
  /** One segment was sent 20 times, and first {@link KcpConfig#userTimeoutMs()} ago. */
  DEAD_LINK,
  /** While segments were in flight, none was acknowledged for {@link KcpConfig#userTimeoutMs()}. */
  NO_PROGRESS,
  /**
   * One of these, by a segment whose datagram exceeds 1,200 bytes: the path drops datagrams of that
   * size, and takes smaller ones. {@link Kcp#lossDetail} has the size. The wire has no way to send
   * what is in flight in smaller segments.
   */
  PATH_MTU,
  /** The peer's window was closed for {@link KcpConfig#zeroWindowTimeoutMs()}. */
  WRITE_STALLED,
  /** In message mode: the peer's fragments do not count down to the end of a message. */
  PROTOCOL_VIOLATION
}
