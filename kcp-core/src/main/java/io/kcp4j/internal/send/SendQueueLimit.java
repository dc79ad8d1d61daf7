package io.kcp4j.internal.send;

import io.kcp4j.Delivery;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;

/**
 * Admits what the user sends to the {@link SendBuffer}, cut into segments: as far as the send queue
 * and the memory budget have room, in message mode whole messages only. While the allocator has no
 * memory, nothing is admitted for one interval; while the budget has none, for up to a second.
 */
public final class SendQueueLimit {

  /** Many sessions may wait for memory: the time between two tries doubles until it is a second. */
  private static final int MAX_RETRY_MS = 1_000;

  private static final int MAX_REFUSALS = 10;

  private final Sender sender;

  /** The segments, in bytes, for which the last {@link #send} had no room; 0 if it had. */
  private int refusedBytes;

  /** How many fragments of a message the peer has said that it takes; 0 if it has not. */
  private short peerFragments;

  /** Whether there was no memory, and when to try again. */
  private boolean deferred;

  /** How often that was so since anything was admitted, up to {@link #MAX_REFUSALS}. */
  private byte refusals;

  private long retryAtUs = Time.NO_DEADLINE;

  SendQueueLimit(Sender sender) {
    this.sender = sender;
  }

  /** See {@code Kcp.send}. */
  public boolean send(ByteBuf data) {
    refusedBytes = 0;
    Delivery delivery = sender.config.delivery();
    if (delivery == Delivery.LANES) {
      throw new IllegalStateException("delivery: LANES (expected: STREAM or MESSAGE, to send)");
    }
    boolean stream = delivery == Delivery.STREAM;
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
    int takenBytes = before - data.readableBytes();
    sender.counters.add(KcpCounter.PAYLOAD_BYTES_OUT, takenBytes);
    refusals = takenBytes > 0 ? 0 : refusals;
    return taken;
  }

  private boolean sendBytes(ByteBuf data) {
    if (!data.isReadable()) {
      return true;
    }
    int mssBytes = sender.size.mssBytes();
    if (isOpen()) {
      if (sender.isFirstLimited()) {
        sendFirst(data);
      } else {
        sender.buffer.extendLast(data, mssBytes);
      }
      long room = (long) mssBytes * (queueSegments() - sender.buffer.queued());
      if (sender.limit != null) {
        room = Math.min(room, limitedRoomBytes(data.readableBytes()));
      }
      sender.buffer.appendStream(data, (int) Math.min(data.readableBytes(), room), mssBytes);
    }
    return !data.isReadable() || refuse(segmentBytes());
  }

  /**
   * How much more payload of a stream may be queued while the address is not validated: no more
   * than may leave, since that of many forged addresses would never leave.
   *
   * @param payloadBytes what is to be queued; if not all of it fits, full segments are
   */
  private long limitedRoomBytes(int payloadBytes) {
    SendBuffer buffer = sender.buffer;
    int queuedBytes = 0;
    for (int i = 0; i < buffer.queued(); i++) {
      queuedBytes += buffer.bytes(buffer.index(buffer.next() + i));
    }
    int headerBytes = sender.size.overheadBytes() + Segment.HEADER_BYTES;
    long fittingBytes = Math.max(0, sender.limit.roomBytes() - queuedBytes - headerBytes);
    return payloadBytes <= fittingBytes
        ? fittingBytes
        : fittingBytes - fittingBytes % sender.size.mssBytes();
  }

  /** The largest payload of the first segment while the address is not validated. */
  private int firstPayloadBytes(int payloadBytes) {
    int bytes = sender.limit.firstPayloadBytes(payloadBytes, sender.size.overheadBytes());
    return Math.min(bytes, sender.size.mssBytes());
  }

  /** Queues the first segment, or extends it. */
  private void sendFirst(ByteBuf data) {
    SendBuffer sending = sender.buffer;
    if (sending.queued() == 0) {
      int mostBytes = firstPayloadBytes(data.readableBytes());
      sending.appendStream(data, Math.min(data.readableBytes(), mostBytes), mostBytes);
    } else {
      int queuedBytes = sending.bytes(sending.firstQueued()) - Segment.HEADER_BYTES;
      int mostBytes = firstPayloadBytes(queuedBytes + data.readableBytes());
      sending.extendLast(data, mostBytes);
    }
  }

  private boolean sendMessage(ByteBuf data) {
    int mssBytes = sender.size.mssBytes();
    int firstBytes = firstFragmentBytes(data.readableBytes());
    int others = Math.max(data.readableBytes() - firstBytes, 0);
    int fragments = 1 + (others + mssBytes - 1) / mssBytes;
    int bytes = fragments * Segment.HEADER_BYTES + data.readableBytes();
    if (!isOpen() || !isAffordable(bytes)) {
      return refuse(Math.max(bytes, segmentBytes()));
    }
    int start = data.readerIndex();
    int queued = sender.buffer.queued();
    try {
      int most = firstBytes;
      for (int frg = fragments - 1; frg >= 0; frg--, most = mssBytes) {
        sender.buffer.append(data, Math.min(most, data.readableBytes()), frg, data.readableBytes());
      }
    } catch (RuntimeException | Error e) { // No memory, or part of it cannot be read.
      sender.buffer.dropQueuedBeyond(queued);
      data.readerIndex(start);
      throw e;
    }
    return true;
  }

  /** The most payload of the first fragment of a message: less if that is a small segment. */
  private int firstFragmentBytes(int messageBytes) {
    int mssBytes = sender.size.mssBytes();
    if (!sender.isFirstLimited() || sender.buffer.queued() > 0) {
      return mssBytes;
    }
    int firstBytes = firstPayloadBytes(messageBytes);
    boolean fits = messageBytes - firstBytes <= maxMessageBytes() - mssBytes;
    return fits ? firstBytes : mssBytes;
  }

  private boolean isAffordable(int bytes) {
    return sender.buffer.isAffordable(bytes, segmentBytes());
  }

  /** Notes what was not admitted, and returns false. */
  private boolean refuse(int bytes) {
    refusedBytes = bytes;
    if (!isAffordable(bytes)) {
      sender.memory.noteShortageToSend(bytes);
      if (!deferred && sender.buffer.isEmpty() && !sender.memory.isUnvalidated()) {
        deferred = true; // No ACK will come.
        refusals = (byte) Math.min(refusals + 1, MAX_REFUSALS);
      }
    }
    return false;
  }

  private int segmentBytes() {
    return Segment.HEADER_BYTES + sender.size.mssBytes();
  }

  /** See {@code Kcp.maxMessageBytes}. */
  public int maxMessageBytes() {
    return sender.size.mssBytes() * Math.min(sender.config.maxFragments(), peerFragments());
  }

  /**
   * The most fragments of a message that the peer takes: protocol.md 5.2. Its window is only a sign
   * of that, which is small while the peer is short of memory.
   */
  public int peerFragments() {
    return peerFragments > 0 ? peerFragments : sender.remote.messageFragments();
  }

  /** The peer has said how many fragments of a message it takes, 1 to 255. */
  public void peerFragments(int fragments) {
    peerFragments = (short) fragments;
  }

  /** Whether the last {@link #send} was not admitted as a whole. */
  public boolean isHeldBack() {
    return refusedBytes > 0;
  }

  /** Whether a segment would be admitted. */
  public boolean isOpen() {
    return hasQueueRoom() && isAffordable(segmentBytes());
  }

  private boolean hasQueueRoom() {
    return sender.isOpen() && !deferred && sender.buffer.queued() < queueSegments();
  }

  /** How many segments may be queued: protocol.md 4.1. */
  private int queueSegments() {
    int least = sender.config.leastSendQueue();
    int most = sender.config.sendQueue();
    return least == most ? most : Math.max(least, Math.min(sender.window(), most));
  }

  /** Whether the memory budget had no room for all of the last {@link #send}, and has none yet. */
  public boolean isShortOfMemory() {
    return refusedBytes > 0 && hasQueueRoom() && !isAffordable(refusedBytes);
  }

  /**
   * Whether the queue is empty and there is memory for what the last {@link #send} did not take.
   * True once for each such send.
   */
  public boolean takeRetry() {
    boolean retry =
        refusedBytes > 0
            && sender.buffer.queued() == 0
            && hasQueueRoom()
            && isAffordable(refusedBytes)
            && (sender.limit == null || limitedRoomBytes(Integer.MAX_VALUE) > 0);
    if (retry) {
      refusedBytes = 0;
    }
    return retry;
  }

  // Failures of the allocator

  /** Admits nothing until one interval after the batch. */
  public void allocationFailed() {
    sender.counters.add(KcpCounter.ALLOCATION_FAILED, 1);
    deferred = true;
  }

  /** Whether nothing is admitted since the allocator has failed. */
  public boolean isDeferred() {
    return deferred;
  }

  /** There is memory again: what had none is tried with the next flush. */
  public void memoryBecameFree() {
    if (deferred) {
      retryAtUs = Long.MIN_VALUE;
    }
  }

  /** A batch has ended: the interval until the next try begins. */
  public void scheduleRetry(long nowUs) {
    if (deferred && retryAtUs == Time.NO_DEADLINE) {
      int intervalMs = sender.config.intervalMs();
      int delayMs = Math.min(intervalMs << Math.max(0, refusals - 1), MAX_RETRY_MS);
      retryAtUs = nowUs + (long) Math.max(intervalMs, delayMs) * Time.US_PER_MS;
    }
  }

  /** Admits again if the interval is over. */
  public void endDeferral(long nowUs) {
    if (nowUs >= retryAtUs) {
      deferred = false;
      retryAtUs = Time.NO_DEADLINE;
    }
  }

  /** When the next try is due, or {@link Time#NO_DEADLINE}. */
  public long retryAtUs() {
    return retryAtUs;
  }
}
