package io.kcp4j;

import io.netty.buffer.ByteBuf;

/**
 * Admits what the user sends to the {@link SendBuffer}, cut into segments: as far as the send queue
 * and the memory budget have room, in message mode whole messages only. While the allocator has no
 * memory, nothing is admitted for one interval.
 */
final class SendAdmission {

  private final SendBuffer sending;
  private final RemoteWindow remote;
  private final Liveness liveness;
  private final KcpCounters counters;

  private KcpConfig config;
  private int mssBytes;

  /** The segments, in bytes, for which the last {@link #send} had no room; 0 if it had. */
  private int refusedBytes;

  /** Whether the allocator has failed, and when to try again. */
  private boolean deferred;

  private long retryAtUs = Kcp.NO_DEADLINE;

  SendAdmission(SendBuffer sending, RemoteWindow remote, Liveness liveness, KcpCounters counters) {
    this.sending = sending;
    this.remote = remote;
    this.liveness = liveness;
    this.counters = counters;
  }

  void configure(KcpConfig config, int mssBytes) {
    this.config = config;
    this.mssBytes = mssBytes;
  }

  /** See {@link Kcp#send}. */
  boolean send(ByteBuf data) {
    refusedBytes = 0;
    boolean stream = config.delivery() == Delivery.STREAM;
    if (!stream && data.readableBytes() > maxMessageBytes()) {
      throw new IllegalArgumentException(
          "message: " + data.readableBytes() + " bytes (expected: <= " + maxMessageBytes() + ")");
    }
    int before = data.readableBytes();
    boolean taken;
    try {
      taken = stream ? sendBytes(data) : sendMessage(data);
    } catch (OutOfMemoryError e) { // What was queued before stays queued.
      allocationFailed();
      taken = false;
    }
    counters.add(KcpCounter.PAYLOAD_BYTES_OUT, before - data.readableBytes());
    return taken;
  }

  private boolean sendBytes(ByteBuf data) {
    if (!data.isReadable()) {
      return true;
    }
    if (isOpen()) {
      sending.extendLast(data, mssBytes);
      long room = (long) mssBytes * (config.sendQueue() - sending.queued());
      sending.appendStream(data, (int) Math.min(data.readableBytes(), room), mssBytes);
    }
    return !data.isReadable() || refuse(segmentBytes());
  }

  private boolean sendMessage(ByteBuf data) {
    int fragments = Math.max(1, (data.readableBytes() + mssBytes - 1) / mssBytes);
    int bytes = fragments * Segment.HEADER_BYTES + data.readableBytes();
    if (!isOpen() || !sending.isAffordable(bytes)) {
      return refuse(Math.max(bytes, segmentBytes()));
    }
    int start = data.readerIndex();
    int queued = sending.queued();
    try {
      for (int frg = fragments - 1; frg >= 0; frg--) {
        sending.append(data, Math.min(mssBytes, data.readableBytes()), frg, data.readableBytes());
      }
    } catch (RuntimeException | Error e) { // No memory, or part of it cannot be read.
      sending.dropQueuedBeyond(queued);
      data.readerIndex(start);
      throw e;
    }
    return true;
  }

  /** Notes what was not admitted, and returns false. */
  private boolean refuse(int bytes) {
    refusedBytes = bytes;
    return false;
  }

  private int segmentBytes() {
    return Segment.HEADER_BYTES + mssBytes;
  }

  /** See {@link Kcp#maxMessageBytes}. */
  int maxMessageBytes() {
    return mssBytes * Math.min(config.maxFragments(), remote.messageFragments());
  }

  /** Whether a segment would be admitted. */
  boolean isOpen() {
    return hasQueueRoom() && sending.isAffordable(segmentBytes());
  }

  private boolean hasQueueRoom() {
    return liveness.isOpen() && !deferred && sending.queued() < config.sendQueue();
  }

  /** Whether the memory budget had no room for all of the last {@link #send}, and has none yet. */
  boolean isShortOfMemory() {
    return refusedBytes > 0 && hasQueueRoom() && !sending.isAffordable(refusedBytes);
  }

  /**
   * Whether the queue is empty and there is memory for what the last {@link #send} did not take.
   * True once for each such send.
   */
  boolean takeRetry() {
    boolean retry =
        refusedBytes > 0
            && sending.queued() == 0
            && hasQueueRoom()
            && sending.isAffordable(refusedBytes);
    if (retry) {
      refusedBytes = 0;
    }
    return retry;
  }

  // Failures of the allocator

  /** Admits nothing until one interval after the batch. */
  void allocationFailed() {
    counters.add(KcpCounter.ALLOCATION_FAILED, 1);
    deferred = true;
  }

  /** Whether nothing is admitted since the allocator has failed. */
  boolean isDeferred() {
    return deferred;
  }

  /** A batch has ended: the interval until the next try begins. */
  void scheduleRetry(long nowUs) {
    if (deferred && retryAtUs == Kcp.NO_DEADLINE) {
      retryAtUs = nowUs + (long) config.intervalMs() * Kcp.US_PER_MS;
    }
  }

  /** Admits again if the interval is over. */
  void endDeferral(long nowUs) {
    if (nowUs >= retryAtUs) {
      deferred = false;
      retryAtUs = Kcp.NO_DEADLINE;
    }
  }

  /** When the next try is due, or {@link Kcp#NO_DEADLINE}. */
  long retryAtUs() {
    return retryAtUs;
  }
}
