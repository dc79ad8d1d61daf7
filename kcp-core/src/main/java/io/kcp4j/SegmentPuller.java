package io.kcp4j;

/** Pulls segments from the session's {@link SegmentSource} as far as memory allows. */
final class SegmentPuller {

  /** As few that their headers and payload stay in the processor's first cache. */
  private static final int PULLED_TOGETHER = 16;

  private final Kcp kcp;
  private final SegmentSource source;

  /** Segments that have been pulled since the source was told of some that were sent. */
  private int pulled;

  SegmentPuller(Kcp kcp, SegmentSource source) {
    this.kcp = kcp;
    this.source = source;
  }

  /** Whether a segment can be pulled: the source has payload, and memory is left for it. */
  boolean isReady() {
    return isSourceReady()
        && kcp.isOpen()
        && !kcp.admission.isDeferred()
        && kcp.sending.isAffordable(Segment.HEADER_BYTES + kcp.mssBytes());
  }

  /** Whether the source has payload that may leave. */
  boolean isSourceReady() {
    return source.isReady();
  }

  /** Whether the source has no payload. */
  boolean isSourceEmpty() {
    return source.isEmpty();
  }

  /** See {@link SegmentSource#readyBytes}. */
  int readyBytes(int limitBytes) {
    return source.readyBytes(limitBytes);
  }

  /**
   * Pulls segments into the send buffer, in which nothing is queued, as long as {@link #isReady}
   * holds.
   *
   * @param most how many segments can leave
   * @param enoughBytes how many bytes of payload suffice for each
   * @return how many there were, and memory for them
   */
  int pull(int most, int enoughBytes) {
    boolean isEachDifferent = enoughBytes < kcp.mssBytes() || kcp.sendLimit != null;
    int before = pulled;
    int end = before + (isEachDifferent ? 1 : Math.min(most, PULLED_TOGETHER));
    while (pulled < end && isReady() && pullOne(enoughBytes)) {
      pulled++;
    }
    return pulled - before;
  }

  private boolean pullOne(int enoughBytes) {
    SendBuffer sending = kcp.sending;
    int queued = sending.queued();
    int mssBytes = kcp.sendLimit == null ? kcp.mssBytes() : kcp.sendLimit.nextPayloadBytes();
    int bytes = 0;
    try {
      Chunk chunk = sending.reserve(mssBytes, mssBytes);
      bytes = chunk.pull(chunk.end() + Segment.HEADER_BYTES, mssBytes, enoughBytes, source);
      if (bytes > 0) {
        sending.queue(chunk, bytes, 0);
      }
    } catch (OutOfMemoryError e) {
      kcp.admission.allocationFailed();
    } finally {
      if (bytes == 0) {
        sending.dropQueuedBeyond(queued); // Gives back what has been reserved.
      }
    }
    return bytes > 0;
  }

  /** Tells the source of the segments that the flush has written. */
  void endFlush() {
    int sent = pulled;
    if (sent > 0) {
      pulled = 0;
      source.onSent(sent);
    }
  }
}
