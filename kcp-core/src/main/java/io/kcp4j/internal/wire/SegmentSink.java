package io.kcp4j.internal.wire;

import io.netty.buffer.ByteBuf;

/**
 * Takes the payload of segments as soon as they arrive, in any order, in place of the queue from
 * which a stream or messages are received. {@code Kcp.sink} sets it.
 *
 * <p>All calls come from the thread of the session, within a call of the session. A sink must not
 * call the session from them, but for {@code Kcp.sourceBecameReady}.
 */
public interface SegmentSink {

  /**
   * Takes the payload of a segment, each once.
   *
   * @param datagram its bytes from {@code index} to {@code index + bytes} are the payload; belongs
   *     to the caller
   * @param isInOrder whether all segments before it have been taken
   * @return false if there is no memory for it, or it has to come later: the segment is dropped,
   *     not acknowledged, and passed again when the peer has retransmitted it; nothing has changed
   *     then
   * @throws OutOfMemoryError as if it had returned false
   */
  boolean take(ByteBuf datagram, int index, int bytes, boolean isInOrder);

  /** Whether something that was taken waits to be read. */
  boolean hasUnread();

  /** The memory that the sink holds and has reserved from the budget, in bytes. */
  int heldBytes();
}
