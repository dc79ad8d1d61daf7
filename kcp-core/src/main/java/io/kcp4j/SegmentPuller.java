package io.kcp4j;

/**
 * Pulls segments from the session's {@link SegmentSource}, if it has one, as far as memory allows.
 */
final class SegmentPuller {

  private final SendBuffer sending;
  private final SendAdmission admission;
  private final Liveness liveness;

  private SegmentSource source;
  private int mssBytes;

  /** Segments that have been pulled since the source was told of some that were sent. */
  private int pulled;

  SegmentPuller(SendBuffer sending, SendAdmission admission, Liveness liveness) {
    this.sending = sending;
    this.admission = admission;
    this.liveness = liveness;
  }

  void configure(int mssBytes) {
    this.mssBytes = mssBytes;
  }

  /** Sets the source, or null for none. */
  void source(SegmentSource source) {
    this.source = source;
    pulled = 0;
  }

  /** Whether there is anything new to send: segments that are queued, or that can be pulled. */
  boolean hasNew() {
    return sending.queued() > 0 || isReady();
  }

  /** Whether a segment can be pulled: the source has payload, and memory is left for it. */
  boolean isReady() {
    return isSourceReady()
        && liveness.isOpen()
        && !admission.isDeferred()
        && sending.isAffordable(Segment.HEADER_BYTES + mssBytes);
  }

  /** Whether there is a source that has payload. */
  boolean isSourceReady() {
    return source != null && source.isReady();
  }

  /**
   * Pulls one segment into the send buffer, in which nothing is queued. {@link #isReady} holds, so
   * the memory budget has room.
   *
   * @return whether there was one, and memory for it
   */
  boolean pull() {
    int bytes = 0;
    try {
      Chunk chunk = sending.reserve(mssBytes, mssBytes);
      bytes = chunk.pull(chunk.end() + Segment.HEADER_BYTES, mssBytes, source);
      if (bytes > 0) {
        sending.queue(chunk, bytes, 0);
        pulled++;
      }
    } catch (OutOfMemoryError e) {
      admission.allocationFailed();
    } finally {
      if (bytes == 0) {
        sending.dropQueuedBeyond(0); // Gives back what has been reserved.
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
