package io.kcp4j.internal.wire;

import java.nio.ByteBuffer;

/**
 * Supplies the payload of segments at the time they can leave, in place of a queue that is filled
 * ahead: what a segment carries is decided as late as possible. {@code Kcp.source} sets it.
 *
 * <p>The session pulls a segment only while its window and its pacer let the segment leave, nothing
 * that was passed to {@code Kcp.send} is queued, and memory is left for it. A segment that has been
 * pulled is retransmitted by the session like any other. In message mode each segment is a message.
 *
 * <p>All calls come from the thread of the session, within a call of the session. A source must not
 * call the session from {@link #isReady}, {@link #pull} or {@link #pullFull}.
 */
public interface SegmentSource {

  /**
   * Whether there is payload. The session asks often, so the answer must be cheap. When it turns to
   * true outside of a flush, the driver calls {@code Kcp.afterSend}.
   */
  boolean isReady();

  /**
   * Whether there is no payload at all, not even some that may not leave yet. A session whose
   * source is not empty is not drained.
   */
  default boolean isEmpty() {
    return !isReady();
  }

  /**
   * About how many bytes {@link #pull} would write until {@link #isReady} no longer holds, so that
   * the session can split a small flush into datagrams of equal size.
   *
   * @param limitBytes if there are more, the source may return any larger number
   * @return so many bytes; by default {@link Integer#MAX_VALUE}, which is too many
   */
  default int readyBytes(int limitBytes) {
    return Integer.MAX_VALUE;
  }

  /**
   * Writes the payload of the next segment. Called only when {@link #isReady} holds.
   *
   * @param payload where to write, from its position to its limit at most; its position tells
   *     afterwards how much was written. If that is nothing, no segment leaves, and no more are
   *     pulled in this flush. The buffer belongs to the session and is valid during the call only.
   *     Its mark is not to be used; its byte order is big-endian
   * @param enoughBytes nothing should be added once so many bytes have been written
   */
  void pull(ByteBuffer payload, int enoughBytes);

  /**
   * Writes the payload of several of the next segments at once, as long as each is of the largest
   * size: this takes less time than as many calls of {@link #pull}. Called only when {@link
   * #isReady} holds.
   *
   * @param payloads where to write: the first payload begins at the position, each of the others
   *     {@code gapBytes} behind the one before. Nothing is to be written beyond the limit, which is
   *     behind all of them; its position afterwards does not matter. Otherwise as in {@link #pull}
   * @param payloadBytes the size of each payload
   * @param most how many segments can leave, at least 1
   * @return how many were written; by default 0, upon which {@link #pull} is called
   */
  default int pullFull(ByteBuffer payloads, int payloadBytes, int gapBytes, int most) {
    return 0;
  }

  /**
   * So many segments, in the order in which they were pulled, have been written to the output.
   * Called at the end of the flush, when the source may call the session.
   */
  void onSent(int segments);
}
