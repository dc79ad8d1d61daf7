package io.kcp4j.internal.send;

import io.kcp4j.internal.buffer.Chunk;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.SegmentSource;

/** Pulls segments from the session's {@link SegmentSource} as far as memory allows. */
public final class SegmentPuller {

  /** More than a chunk of full segments: the kernel copies what was just written more slowly. */
  private static final int PULLED_TOGETHER = 64;

  private final Sender sender;
  private final SegmentSource source;

  /** Segments that have been pulled since the source was told of some that were sent. */
  private int pulled;

  SegmentPuller(Sender sender, SegmentSource source) {
    this.sender = sender;
    this.source = source;
  }

  /** Whether a segment can be pulled: the source has payload, and memory is left for it. */
  public boolean isReady() {
    int segmentBytes = Segment.HEADER_BYTES + sender.size.mssBytes();
    return isSourceReady()
        && sender.isOpen()
        && !sender.queueLimit.isDeferred()
        && sender.buffer.isAffordable(segmentBytes, segmentBytes);
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
  public int readyBytes(int limitBytes) {
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
  public int pull(int most, int enoughBytes) {
    boolean isEachDifferent = enoughBytes < sender.size.mssBytes() || sender.limit != null;
    int before = pulled;
    int end = before + (isEachDifferent ? 1 : Math.min(most, PULLED_TOGETHER));
    while (pulled < end && isReady()) {
      int segments = pullSome(end - pulled, enoughBytes);
      if (segments == 0) {
        break;
      }
      pulled += segments;
    }
    return pulled - before;
  }

  private int pullSome(int most, int enoughBytes) {
    SendBuffer sending = sender.buffer;
    int queued = sending.queued();
    int mssBytes = sender.limit == null ? sender.size.mssBytes() : sender.pulledPayloadBytes();
    int segments = 0;
    try {
      Chunk chunk = sending.reserve(mssBytes, mssBytes);
      segments = most > 1 ? pullFull(chunk, mssBytes, most) : 0;
      if (segments == 0) {
        segments = pullOne(chunk, mssBytes, enoughBytes);
      }
    } catch (OutOfMemoryError e) {
      sender.queueLimit.allocationFailed();
    } finally {
      if (segments == 0) {
        sending.dropQueuedBeyond(queued); // Gives back what has been reserved.
      }
    }
    return segments;
  }

  private int pullFull(Chunk chunk, int mssBytes, int most) {
    SendBuffer sending = sender.buffer;
    int ringRoom = sending.ringCapacity() - sender.inFlight() - sending.queued();
    int room = Math.min(ringRoom, chunk.room() / (Segment.HEADER_BYTES + mssBytes));
    int segments = chunk.pullFull(mssBytes, Math.min(most, room), source);
    for (int i = 0; i < segments; i++) {
      sending.queue(chunk, mssBytes, 0);
    }
    return segments;
  }

  private int pullOne(Chunk chunk, int mssBytes, int enoughBytes) {
    int at = chunk.end() + Segment.HEADER_BYTES;
    int bytes = chunk.pull(at, mssBytes, enoughBytes, source);
    if (bytes == 0) {
      return 0;
    }
    sender.buffer.queue(chunk, bytes, 0);
    return 1;
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
