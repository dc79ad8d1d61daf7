package io.kcp4j;

/** What a session delivers: a stream of bytes, or messages. */
public enum Delivery {
  /**
   * Bytes in order, without boundaries. Small writes share segments. The only mode of kcp-go's
   * sessions and of kcptun.
   */
  STREAM,

  /**
   * Each write arrives as one message, which KCP fragments and reassembles. For peers that use C
   * KCP, or kcp-go's {@code KCP} type directly.
   */
  MESSAGE
}
