package io.kcp4j;

/** Where a datagram comes from. */
public enum Origin {
  /** It was received. */
  NETWORK,
  /**
   * It was lost and recovered from others. Its delay is no round-trip time, and its window may be
   * outdated: protocol.md 2.6.
   */
  RECOVERED
}
