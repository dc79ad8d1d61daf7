package io.kcp4j.internal.send;

import io.kcp4j.internal.buffer.Chunk;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.wire.Segment;
import java.util.Arrays;

/**
 * The memory of a {@link SendBuffer}: the chunk into which the next segment is copied, and up to
 * {@value #MAX_SPARE_CHUNKS} free chunks of the largest size for what is written next. Chunks
 * double in size up to 64 KiB. All of them, free ones included, count against the memory budget.
 */
@SuppressWarnings("ReferenceEquality") // chunks are compared by identity
final class SendChunks {

  private static final int MIN_SPARES = 4;
  private static final int MIN_CHUNK_BYTES = 256;

  /** The largest GSO batch. */
  private static final int MAX_CHUNK_BYTES = 64 * 1024;

  /** More than a window of 1024 segments takes. */
  private static final int MAX_SPARE_CHUNKS = 32;

  private static final Chunk[] NO_CHUNKS = {};

  private final MemoryAccount account;

  private Chunk current;
  private Chunk[] spare = NO_CHUNKS;
  private int spares;
  private int heldBytes;

  SendChunks(MemoryAccount account) {
    this.account = account;
  }

  /** The chunk into which the next segment is copied, or null. */
  Chunk current() {
    return current;
  }

  /** The bytes of all chunks. */
  int heldBytes() {
    return heldBytes;
  }

  /**
   * Makes room for a segment in the current chunk, or makes another chunk the current one.
   *
   * @param payloadBytes the payload of the segment
   * @param expectedBytes how much is about to be queued in all, which sets the size of a new chunk
   * @param always whether to allocate a chunk even if the memory budget has no room
   * @return whether there is room now
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  boolean ensureRoom(int payloadBytes, int expectedBytes, boolean always) {
    return (current != null && current.room() >= Segment.HEADER_BYTES + payloadBytes)
        || next(payloadBytes, Math.max(payloadBytes, expectedBytes), always);
  }

  private boolean next(int payloadBytes, int expectedBytes, boolean always) {
    if (spares > 0) {
      current = spare[--spares];
      spare[spares] = null;
      return true;
    }
    int size = sizeOfNext(payloadBytes, Math.min(expectedBytes, MAX_CHUNK_BYTES));
    if (!always && !account.hasRoomToSend(size)) {
      return false;
    }
    account.chargeToSend(size);
    try {
      current = Chunk.allocate(account.context(), size);
    } catch (OutOfMemoryError e) {
      account.releaseToSend(size);
      throw e;
    }
    heldBytes += size;
    return true;
  }

  private int sizeOfNext(int payloadBytes, int expectedBytes) {
    int segments = (expectedBytes - 1) / Math.max(1, payloadBytes) + 1;
    int bytes = expectedBytes + segments * Segment.HEADER_BYTES;
    int atLeast = current == null ? 0 : 2 * current.capacity();
    int size = Math.min(Math.max(atLeast, chunkBytes(bytes)), MAX_CHUNK_BYTES);
    int least = chunkBytes(Segment.HEADER_BYTES + payloadBytes);
    while (!account.hasRoomToSend(size) && size > least) {
      size /= 2;
    }
    return size;
  }

  private static int chunkBytes(int bytes) {
    return Math.max(MIN_CHUNK_BYTES, powerOfTwo(bytes));
  }

  private static int powerOfTwo(int bytes) {
    return bytes >= MAX_CHUNK_BYTES ? MAX_CHUNK_BYTES : Integer.highestOneBit(2 * bytes - 1 | 1);
  }

  /** Whether there is room, or would be, for segments of so many bytes, headers included. */
  boolean isAffordable(int bytes) {
    return account.hasRoomToSend(bytes > MAX_CHUNK_BYTES ? bytes : chunkBytes(bytes))
        || (current != null && current.room() >= bytes)
        || (spares > 0 && bytes <= MAX_CHUNK_BYTES);
  }

  /**
   * Queues the bytes of all segments that are queued in {@code buffer} once more, behind them, as
   * segments of {@code mssBytes}, the last of which may be shorter.
   *
   * @throws OutOfMemoryError if there is no memory; some segments have been queued then
   */
  static void copyQueue(SendBuffer buffer, int mssBytes) {
    int left = 0;
    for (int sn = buffer.next(), end = sn + buffer.queued(); sn != end; sn++) {
      left += payloadBytes(buffer, sn);
    }
    int from = buffer.next();
    int taken = 0;
    for (int bytes; left > 0; left -= bytes) {
      bytes = Math.min(mssBytes, left);
      Chunk chunk = buffer.reserve(bytes, left);
      int payload = chunk.end() + Segment.HEADER_BYTES;
      for (int at = 0, part; at < bytes; at += part) {
        int available = payloadBytes(buffer, from) - taken;
        part = Math.min(bytes - at, available);
        int i = buffer.index(from);
        int source = buffer.start(i) + Segment.HEADER_BYTES + taken;
        chunk.set(payload + at, buffer.chunk(i), source, part);
        taken += part;
        if (part == available) {
          from++;
          taken = 0;
        }
      }
      buffer.queue(chunk, bytes, 0);
    }
  }

  private static int payloadBytes(SendBuffer buffer, int sn) {
    return buffer.bytes(buffer.index(sn)) - Segment.HEADER_BYTES;
  }

  /**
   * Makes {@code last}, that of the last segment or null, the current chunk again. Frees the
   * current one if no segment is in it.
   */
  void continueWith(Chunk last) {
    if (current != last) {
      if (current != null) {
        free(current);
      }
      current = last;
    }
  }

  /** Takes back a chunk in which no segment is left. Keeps it if it is of the largest size. */
  void free(Chunk freed) {
    if (freed == current) {
      current = null;
    }
    if (freed.capacity() == MAX_CHUNK_BYTES && hasRoomForSpare() && !freed.isShared()) {
      freed.clear();
      spare[spares++] = freed;
    } else {
      release(freed);
    }
  }

  private boolean hasRoomForSpare() {
    if (spares == spare.length && spares < MAX_SPARE_CHUNKS) {
      try {
        spare = Arrays.copyOf(spare, Math.max(MIN_SPARES, 2 * spares));
      } catch (OutOfMemoryError e) {
        return false; // All the more reason to release the chunk.
      }
    }
    return spares < spare.length;
  }

  private void release(Chunk released) {
    heldBytes -= released.capacity();
    account.releaseToSend(released.capacity());
    released.release();
  }

  /** Whether there are free chunks. */
  boolean hasSpares() {
    return spares > 0;
  }

  /** Releases free chunks beyond as much as is in use. */
  void trim() {
    int inUse = heldBytes - spares * MAX_CHUNK_BYTES;
    while (spares * MAX_CHUNK_BYTES > inUse) {
      release(spare[--spares]);
      spare[spares] = null;
    }
    if (spares == 0) {
      spare = NO_CHUNKS;
    }
  }
}
