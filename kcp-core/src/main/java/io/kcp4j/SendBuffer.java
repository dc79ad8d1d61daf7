package io.kcp4j;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * What has been written and not yet acknowledged, cut into segments: those in flight, {@code una}
 * to {@code next}, and those queued, {@code next} to {@code end}. A segment has its sequence number
 * from the moment it is queued, so one ring serves both, and sending moves nothing.
 *
 * <p>The fields of segment {@code sn} stand at index {@code sn & mask} of parallel arrays, which
 * grow on demand and are given back when nothing is left. Payload is copied in once, into chunks
 * that double in size up to 64 KiB, and there stands behind room for its header: a segment can
 * leave as it is. A chunk is free when the last segment in it is acknowledged and everything before
 * it is too; it needs no count, since segments leave in the order in which they came. Of the
 * largest some are kept for what is written next; {@link #trim} gives back more than a stream
 * needs.
 */
@SuppressWarnings("ReferenceEquality") // chunks are told apart by identity
final class SendBuffer {

  private static final int MIN_SPARES = 4;
  private static final int MIN_CHUNK_BYTES = 256;

  /** As much as leaves as one train of datagrams. */
  private static final int MAX_CHUNK_BYTES = 64 * 1024;

  /** The most chunks that are kept free: more than a window of 1024 segments takes. */
  private static final int MAX_SPARE_CHUNKS = 32;

  private static final Chunk[] NO_CHUNKS = {};

  private final KcpContext context;
  private final LossDetector losses;

  private int una;
  private int next;
  private int end;
  private int mask = -1;

  private SendRing ring = SendRing.NONE;

  // The arrays of the ring.

  private Chunk[] chunks;
  private int[] start;
  private char[] length;
  private byte[] frg;
  private boolean[] acknowledged;

  /** How many segments right below {@link #una} are of the message that goes on there. */
  private int unfinishedBelowUna;

  private Chunk chunk;
  private Chunk[] spare = NO_CHUNKS;
  private int spares;
  private int heldBytes;

  /**
   * Makes a buffer.
   *
   * @param losses learns of each segment that is sent and acknowledged
   */
  SendBuffer(KcpContext context, LossDetector losses, int firstSn) {
    this.context = context;
    this.losses = losses;
    una = firstSn;
    next = firstSn;
    end = firstSn;
    use(SendRing.NONE);
    losses.reset(SendRing.NONE);
  }

  /** The lowest sequence number that the peer may still lack. */
  int una() {
    return una;
  }

  /** The sequence number of the next segment to be sent for the first time. */
  int next() {
    return next;
  }

  /** Segments written and never sent. */
  int queued() {
    return end - next;
  }

  boolean isEmpty() {
    return una == end;
  }

  /** The bytes of all chunks, and of a ring that is larger than it always may be. */
  int heldBytes() {
    return heldBytes + ringBytes(ring);
  }

  private static int ringBytes(SendRing ring) {
    return RingPool.chargedBytes(ring.capacity, SendRing.ENTRY_BYTES);
  }

  /** How many segments there is room for. */
  int ringCapacity() {
    return ring.capacity;
  }

  // Queueing

  /**
   * Queues the next {@code bytes} of {@code data} as one segment.
   *
   * @param expectedBytes how much is about to be queued in all, to choose the size of a new chunk
   * @throws OutOfMemoryError if there is no memory; nothing has changed then, nor if {@code data}
   *     cannot be read
   */
  void append(ByteBuf data, int bytes, int frg, int expectedBytes) {
    ensureRing(1);
    ensureChunk(bytes, expectedBytes, true);
    try {
      chunk.set(nextPayload(), data, data.readerIndex(), bytes);
    } catch (RuntimeException | Error e) { // It has been released, for example.
      dropUnusedChunk();
      throw e;
    }
    queue(bytes, frg);
    data.skipBytes(bytes);
  }

  /**
   * Queues the next {@code bytes} of {@code data} as segments of {@code mssBytes}, the last of
   * which may be shorter. Stops where the memory budget has no room, but not before the first if
   * nothing else is held.
   *
   * @throws OutOfMemoryError if there is no memory; {@code data} has lost what was queued before
   */
  void appendStream(ByteBuf data, int bytes, int mssBytes) {
    int first = data.readerIndex();
    boolean several = bytes > mssBytes && data.nioBufferCount() == 1;
    ByteBuffer from = several ? data.nioBuffer(first, bytes) : null;
    int fromFirst = several ? from.position() : 0; // Netty's read-only view does not begin at 0.
    int at = 0;
    try {
      if (context.budget().hasRoomToSend(bytes)) { // All of it will be taken: one growth suffices.
        ensureRing((bytes + mssBytes - 1) / mssBytes);
      }
      for (int taken; at < bytes; at += taken) {
        taken = Math.min(mssBytes, bytes - at);
        ensureRing(1);
        if (!ensureChunk(taken, bytes - at, isEmpty())) {
          break;
        }
        if (several) {
          chunk.set(nextPayload(), from, fromFirst + at, taken);
        } else {
          chunk.set(nextPayload(), data, first + at, taken);
        }
        queue(taken, 0);
      }
    } finally {
      dropUnusedChunk();
      giveRingBackIfEmpty();
      data.skipBytes(at); // Throws where reading has.
    }
  }

  /**
   * Makes room for a segment.
   *
   * @param always whether it is made even if the memory budget has none
   * @return whether there is room now
   */
  private boolean ensureChunk(int bytes, int expectedBytes, boolean always) {
    return (chunk != null && chunk.room() >= Segment.HEADER_BYTES + bytes)
        || newChunk(bytes, Math.max(bytes, Math.min(expectedBytes, MAX_CHUNK_BYTES)), always);
  }

  /**
   * Whether the memory budget allows to append segments of so many bytes in all, headers included.
   * Always if nothing is held: a session may go on slowly when others hold all there is.
   */
  boolean isAffordable(int bytes) {
    return isEmpty()
        || context.budget().hasRoomToSend(bytes > MAX_CHUNK_BYTES ? bytes : chunkBytes(bytes))
        || (chunk != null && chunk.room() >= bytes)
        || (spares > 0 && bytes <= MAX_CHUNK_BYTES);
  }

  private static int chunkBytes(int bytes) {
    return Math.max(MIN_CHUNK_BYTES, powerOfTwo(bytes));
  }

  private int nextPayload() {
    return chunk.end() + Segment.HEADER_BYTES;
  }

  /** Queues what has been put into the chunk; there is room for it in the ring. */
  private void queue(int bytes, int frg) {
    int i = end & mask;
    chunks[i] = chunk;
    start[i] = chunk.end();
    length[i] = (char) bytes;
    chunk.advance(Segment.HEADER_BYTES + bytes);
    this.frg[i] = (byte) frg;
    acknowledged[i] = false;
    end++;
  }

  /**
   * Lets the last queued segment grow up to {@code mssBytes} with the next bytes of {@code data},
   * if there is one and its chunk has room behind it.
   */
  void extendLast(ByteBuf data, int mssBytes) {
    if (end == next) {
      return;
    }
    int i = (end - 1) & mask;
    int bytes = Math.min(mssBytes - length[i], Math.min(chunk.room(), data.readableBytes()));
    if (bytes > 0) {
      chunk.set(chunk.end(), data, data.readerIndex(), bytes);
      chunk.advance(bytes);
      data.skipBytes(bytes);
      length[i] += (char) bytes;
    }
  }

  /**
   * Cuts what is queued anew, into segments of at most {@code mssBytes}. For stream mode only.
   *
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  void resegment(int mssBytes) {
    int queued = queued();
    int oldEnd = end;
    try {
      copyQueued(oldEnd, mssBytes);
    } catch (OutOfMemoryError e) {
      dropQueuedBeyond(queued);
      throw e;
    }
    replaceQueued(oldEnd);
  }

  /** Copies all that is queued before {@code oldEnd} into segments behind that. */
  private void copyQueued(int oldEnd, int mssBytes) {
    int left = 0;
    for (int sn = next; sn != oldEnd; sn++) {
      left += length[sn & mask];
    }
    int from = next;
    int taken = 0;
    for (int bytes; left > 0; left -= bytes) {
      bytes = Math.min(mssBytes, left);
      ensureRing(1);
      ensureChunk(bytes, left, true);
      for (int at = 0, part; at < bytes; at += part) {
        int i = from & mask;
        part = Math.min(bytes - at, length[i] - taken);
        chunk.set(nextPayload() + at, chunks[i], start[i] + Segment.HEADER_BYTES + taken, part);
        taken += part;
        if (taken == length[i]) {
          from++;
          taken = 0;
        }
      }
      queue(bytes, 0);
    }
  }

  /** Drops what is queued before {@code oldEnd}; what stands behind that takes its place. */
  private void replaceQueued(int oldEnd) {
    Chunk inFlight = una == next ? null : chunks[(next - 1) & mask];
    for (int sn = next; sn != oldEnd; sn++) {
      Chunk left = chunks[sn & mask];
      chunks[sn & mask] = null;
      if (left != inFlight && left != chunks[(sn + 1) & mask]) {
        free(left);
      }
    }
    int to = next;
    for (int sn = oldEnd; sn != end; sn++, to++) {
      int i = to & mask;
      chunks[i] = chunks[sn & mask];
      start[i] = start[sn & mask];
      length[i] = length[sn & mask];
      frg[i] = 0;
      acknowledged[i] = false;
    }
    for (int sn = to; sn != end; sn++) {
      chunks[sn & mask] = null;
    }
    end = to;
  }

  /** Drops what was queued last until so many segments are queued. */
  void dropQueuedBeyond(int segments) {
    while (queued() > segments) {
      int i = (end - 1) & mask;
      Chunk dropped = chunks[i];
      chunks[i] = null;
      end--;
      if (una == end || chunks[(end - 1) & mask] != dropped) {
        free(dropped);
      } else {
        dropped.rewind(start[i]);
      }
    }
    dropUnusedChunk();
    giveRingBackIfEmpty();
  }

  /** Has the chunk be that of the last segment again, if nothing has come into a new one. */
  private void dropUnusedChunk() {
    Chunk last = una == end ? null : chunks[(end - 1) & mask];
    if (chunk != last) {
      if (chunk != null) {
        free(chunk);
      }
      chunk = last;
    }
  }

  private boolean newChunk(int segmentBytes, int expectedBytes, boolean always) {
    if (spares > 0) {
      chunk = spare[--spares];
      spare[spares] = null;
      return true;
    }
    int segments = (expectedBytes - 1) / Math.max(1, segmentBytes) + 1;
    int bytes = expectedBytes + segments * Segment.HEADER_BYTES;
    int atLeast = chunk == null ? 0 : 2 * chunk.capacity();
    int size = Math.min(Math.max(atLeast, chunkBytes(bytes)), MAX_CHUNK_BYTES);
    MemoryBudget budget = context.budget();
    int least = chunkBytes(Segment.HEADER_BYTES + segmentBytes);
    while (!budget.hasRoomToSend(size) && size > least) {
      size /= 2;
    }
    if (!always && !budget.hasRoomToSend(size)) {
      return false;
    }
    chunk = Chunk.allocate(context, size);
    heldBytes += size;
    budget.chargeToSend(size);
    return true;
  }

  private static int powerOfTwo(int bytes) {
    return bytes >= MAX_CHUNK_BYTES ? MAX_CHUNK_BYTES : Integer.highestOneBit(2 * bytes - 1 | 1);
  }

  private void free(Chunk freed) {
    if (freed == chunk) {
      chunk = null;
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
        return false; // All the better to give it back.
      }
    }
    return spares < spare.length;
  }

  private void release(Chunk released) {
    heldBytes -= released.capacity();
    context.budget().releaseToSend(released.capacity());
    released.release();
  }

  /** Whether nothing is held but what {@link #trim} gives back. */
  boolean isTrimmable() {
    return spares > 0 && isEmpty();
  }

  /** Gives back what is kept free beyond as much as is in use. */
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

  /** Makes room in the ring for so many segments more. */
  private void ensureRing(int segments) {
    if (end - una + segments > ring.capacity) {
      grow(end - una + segments);
    }
  }

  private void grow(int segments) {
    SendRing old = ring;
    SendRing larger = SendRing.take(segments);
    for (int sn = una; sn != end; sn++) {
      old.copyTo(larger, sn);
    }
    losses.grow(una, mask, larger);
    use(larger);
    context.budget().chargeToSend(ringBytes(larger) - ringBytes(old));
    old.giveBack();
  }

  /** A small one may stay: most sessions send a segment now and a segment then. */
  private void giveRingBackIfEmpty() {
    if (una == end && ring.capacity > RingPool.MIN_CAPACITY) {
      giveRingBack();
    }
  }

  /** Gives back the ring, in which nothing is left. */
  private void giveRingBack() {
    SendRing old = ring;
    use(SendRing.NONE);
    losses.reset(SendRing.NONE);
    context.budget().releaseToSend(ringBytes(old));
    old.giveBack();
  }

  private void use(SendRing ring) {
    this.ring = ring;
    mask = ring.capacity - 1;
    chunks = ring.chunks;
    start = ring.start;
    length = ring.length;
    frg = ring.frg;
    acknowledged = ring.acknowledged;
  }

  // Sending

  /** The index of the segment that is queued first. */
  int firstQueued() {
    return next & mask;
  }

  /**
   * How many of the segments that are queued first are of so many bytes each and stand back to back
   * in one chunk.
   *
   * @param most how many to look at; that many are queued
   */
  int contiguousRun(int bytesEach, int most) {
    int first = firstQueued();
    Chunk chunk = chunks[first];
    int at = start[first];
    int train = 0;
    for (int i = first;
        train < most && bytes(i) == bytesEach && chunks[i] == chunk && start[i] == at;
        i = i + 1 & mask) {
      train++;
      at += bytesEach;
    }
    return train;
  }

  /** The segment that is queued first leaves now, with the timestamp {@code ts}. */
  void sent(int ts, long nowMs) {
    losses.sent(next & mask, ts, nowMs);
    next++;
  }

  /** The sequence number of the segment at {@code index}. */
  int sn(int index) {
    return una + (index - una & mask);
  }

  /** How many fragments of a segment's message are still to come. */
  int frg(int index) {
    return frg[index] & 0xff;
  }

  /** What a segment stands in: room for its header, and its payload. */
  Chunk chunk(int index) {
    return chunks[index];
  }

  /** Where in its chunk a segment begins. */
  int start(int index) {
    return start[index];
  }

  /** The bytes of a segment, header and payload. */
  int bytes(int index) {
    return Segment.HEADER_BYTES + length[index];
  }

  // Acknowledgements

  /**
   * How many fragments of an unfinished message a peer holds that has received everything below
   * {@code newUna}: its reader cannot have taken them. 0 in stream mode.
   */
  int unfinishedFragments(int newUna) {
    if (newUna - una < 0) {
      return 0;
    }
    int fragments = 0;
    for (int sn = newUna - 1; sn - una >= 0; sn--) {
      if (frg[sn & mask] == 0) {
        return fragments;
      }
      fragments++;
    }
    return fragments + unfinishedBelowUna;
  }

  /** Whether {@code sn} is in flight and the peer has not acknowledged it. */
  boolean isAwaited(int sn) {
    return sn - una >= 0 && sn - next < 0 && !acknowledged[sn & mask];
  }

  /** The index of a segment. */
  int index(int sn) {
    return sn & mask;
  }

  /** An ACK with the timestamp {@code ts} has come for the segment {@code sn} in flight. */
  void acknowledge(int sn, int ts, long nowMs) {
    int i = sn & mask;
    losses.acknowledged(i, ts, nowMs);
    acknowledged[i] = true;
  }

  /**
   * Drops every segment below {@code newUna}, which is at most {@link #next}, and those after it
   * that have been acknowledged one by one: nobody may have told the {@code una} beyond them, and
   * with nothing in flight there is no timeout either that would find it out.
   */
  void acknowledgeBelow(int newUna, long nowMs) {
    while (newUna - una > 0 || (una != next && acknowledged[una & mask])) {
      int i = una & mask;
      if (!acknowledged[i]) {
        losses.acknowledgedByUna(i, nowMs);
      }
      unfinishedBelowUna = frg[i] == 0 ? 0 : unfinishedBelowUna + 1;
      Chunk left = chunks[i];
      chunks[i] = null;
      una++;
      if (left != null && (una == end || chunks[una & mask] != left)) {
        free(left);
      }
    }
    giveRingBackIfEmpty();
  }

  void close() {
    Arrays.fill(acknowledged, true); // The detector is told of none of them.
    next = end;
    acknowledgeBelow(end, 0);
    giveRingBack();
    trim();
  }
}
