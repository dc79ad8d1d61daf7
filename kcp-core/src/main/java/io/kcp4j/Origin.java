package io.kcp4j;

/** How a datagram has come to be here. */
public enum Origin {
  /** It came over the network as it is. */
  NETWORK,
  /**
   * It was lost, and has been made again from others. How long it took says nothing about the path,
   * and its window may be an old one: protocol.md 2.6.
   */
  RECOVERED
}
