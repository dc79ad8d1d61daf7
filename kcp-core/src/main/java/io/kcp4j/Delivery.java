package io.kcp4j;

/** What a session delivers: a stream of bytes, messages, or the messages of many lanes. */
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
  MESSAGE,

  /**
   * Messages of many lanes, of which none waits for another: the package {@code io.kcp4j.lanes}.
   * Only kcp4j peers with its extension have lanes.
   */
  LANES
}
