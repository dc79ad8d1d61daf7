package io.kcp4j;

/** What a session hands to its reader: a stream of bytes, or the messages that were sent. */
public enum Delivery {
  /**
   * Bytes in order, without boundaries. Small writes share segments. The only mode that kcp-go's
   * own sessions and kcptun speak.
   */
  STREAM,

  /**
   * Each write arrives as one message, cut into fragments and put together again by KCP itself. For
   * peers that use C KCP, or kcp-go's raw {@code KCP} type.
   */
  MESSAGE
}
