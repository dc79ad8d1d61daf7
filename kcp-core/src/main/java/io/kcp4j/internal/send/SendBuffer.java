package io.kcp4j.internal.send;

import io.kcp4j.internal.buffer.Chunk;
import io.kcp4j.internal.buffer.RingPool;
import io.kcp4j.internal.buffer.SendRing;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.recovery.LossDetector;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;

/**
 * The send buffer: segments written and not yet acknowledged. Those from {@code una} to {@code
 * next} are in flight, those from {@code next} to {@code end} are queued. A segment has its
 * sequence number from the moment it is queued, so one ring serves both and sending moves nothing.
 *
 * <p>The fields of segment {@code sn} are at index {@code sn & mask} of parallel arrays, which grow
 * on demand and are given back when the buffer is empty. Payload is copied once, into a chunk of
 * {@link SendChunks}, behind room for its header, so that a segment can leave from there. A chunk
 * is freed with the last segment in it; segments are dropped in order, so chunks need no count.
 */
@SuppressWarnings("ReferenceEquality") // chunks are compared by identity
public final class SendBuffer {

  private final MemoryAccount account;
  private final LossDetector losses;
  private final SendChunks memory;
  private final RingPool<SendRing> rings;

  private int una;
  private int next;
  private int end;
  private int mask = -1;

  private SendRing ring = SendRing.NONE;

  /** How many segments right below {@link #una} belong to a message that continues there. */
  private int unfinishedBelowUna;

  /**
   * @param losses learns of each segment that is sent and acknowledged
   * @param rings the pool of the thread
   */
  public SendBuffer(
      MemoryAccount account, LossDetector losses, RingPool<SendRing> rings, int firstSn) {
    this.account = account;
    this.losses = losses;
    this.rings = rings;
    memory = new SendChunks(account);
    una = firstSn;
    next = firstSn;
    end = firstSn;
  }

  /** The lowest sequence number that the peer may still lack. */
  public int una() {
    return una;
  }

  /** The sequence number of the next segment to be sent for the first time. */
  public int next() {
    return next;
  }

  /** Segments written and never sent. */
  public int queued() {
    return end - next;
  }

  public boolean isEmpty() {
    return una == end;
  }

  /** The bytes of all chunks, and of the ring unless it is of the smallest size. */
  public int heldBytes() {
    return memory.heldBytes() + ring.chargedBytes();
  }

  /** How many segments the ring has room for. */
  public int ringCapacity() {
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
  public void append(ByteBuf data, int bytes, int frg, int expectedBytes) {
    Chunk chunk = reserve(bytes, expectedBytes);
    try {
      chunk.set(chunk.end() + Segment.HEADER_BYTES, data, data.readerIndex(), bytes);
    } catch (RuntimeException | Error e) { // As when it has been released.
      dropUnusedChunk();
      throw e;
    }
    queue(chunk, bytes, frg);
    data.skipBytes(bytes);
  }

  /**
   * Queues the next {@code bytes} of {@code data} as segments of {@code mssBytes}, the last of
   * which may be shorter. Stops where the memory budget has no room, but always queues the first
   * segment of an empty buffer.
   *
   * @throws OutOfMemoryError if there is no memory; the bytes queued before are read from {@code
   *     data}
   */
  public void appendStream(ByteBuf data, int bytes, int mssBytes) {
    int first = data.readerIndex();
    boolean several = bytes > mssBytes && data.nioBufferCount() == 1;
    ByteBuffer from = several ? data.nioBuffer(first, bytes) : null;
    int fromFirst = several ? from.position() : 0; // A read-only view does not begin at 0.
    int at = 0;
    try {
      if (account.hasRoomToSend(bytes)) { // All of it will be queued: grow once.
        ensureRing((bytes + mssBytes - 1) / mssBytes);
      }
      for (int taken; at < bytes; at += taken) {
        taken = Math.min(mssBytes, bytes - at);
        ensureRing(1);
        if (!memory.ensureRoom(taken, bytes - at, isExempt())) {
          break;
        }
        Chunk chunk = memory.current();
        int payload = chunk.end() + Segment.HEADER_BYTES;
        if (several) {
          chunk.set(payload, from, fromFirst + at, taken);
        } else {
          chunk.set(payload, data, first + at, taken);
        }
        queue(chunk, taken, 0);
      }
    } finally {
      dropUnusedChunk();
      giveRingBackIfEmpty();
      data.skipBytes(at); // Throws where reading has.
    }
  }

  /**
   * Whether the memory budget has room for segments of so many bytes in all, headers included. An
   * empty buffer always takes a segment, so that the session makes progress whatever others hold,
   * unless the peer's address may be forged. A message may have to wait for those of others.
   *
   * @param segmentBytes the size of a full segment
   */
  boolean isAffordable(int bytes, int segmentBytes) {
    boolean mayBegin = isExempt() && (bytes <= segmentBytes || account.hasRoomToBegin(bytes));
    return mayBegin || memory.isAffordable(bytes);
  }

  private boolean isExempt() {
    return isEmpty() && !account.isUnvalidated();
  }

  /**
   * Makes room for a segment, whatever the memory budget has left, and returns the chunk behind
   * whose end to write it.
   *
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  Chunk reserve(int bytes, int expectedBytes) {
    ensureRing(1);
    memory.ensureRoom(bytes, expectedBytes, true);
    return memory.current();
  }

  /** Queues the segment that has been written behind the end of {@code chunk}. */
  void queue(Chunk chunk, int bytes, int frg) {
    int i = end & mask;
    ring.chunks[i] = chunk;
    ring.start[i] = chunk.end();
    ring.length[i] = (char) bytes;
    chunk.advance(Segment.HEADER_BYTES + bytes);
    ring.frg[i] = (byte) frg;
    ring.clearFlags(i);
    end++;
  }

  /**
   * Extends the last queued segment, if there is one, up to {@code mssBytes} with the next bytes of
   * {@code data}, as far as its chunk has room behind it.
   */
  void extendLast(ByteBuf data, int mssBytes) {
    if (end == next) {
      return;
    }
    int i = (end - 1) & mask;
    Chunk chunk = ring.chunks[i];
    int bytes = Math.min(mssBytes - ring.length[i], Math.min(chunk.room(), data.readableBytes()));
    if (bytes > 0) {
      chunk.set(chunk.end(), data, data.readerIndex(), bytes);
      chunk.advance(bytes);
      data.skipBytes(bytes);
      ring.length[i] += (char) bytes;
    }
  }

  /**
   * Re-segments the queue: its bytes become segments of at most {@code mssBytes}. For stream mode
   * only.
   *
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  public void resegment(int mssBytes) {
    int queued = queued();
    int oldEnd = end;
    try {
      SendChunks.copyQueue(this, mssBytes);
    } catch (OutOfMemoryError e) {
      dropQueuedBeyond(queued);
      throw e;
    }
    replaceQueued(oldEnd);
  }

  /** Replaces the segments queued before {@code oldEnd} by those behind it. */
  private void replaceQueued(int oldEnd) {
    Chunk inFlight = una == next ? null : ring.chunks[(next - 1) & mask];
    for (int sn = next; sn != oldEnd; sn++) {
      Chunk left = ring.chunks[sn & mask];
      ring.chunks[sn & mask] = null;
      if (left != inFlight && left != ring.chunks[(sn + 1) & mask]) {
        memory.free(left);
      }
    }
    int to = next;
    for (int sn = oldEnd; sn != end; sn++, to++) {
      int i = to & mask;
      ring.chunks[i] = ring.chunks[sn & mask];
      ring.start[i] = ring.start[sn & mask];
      ring.length[i] = ring.length[sn & mask];
      ring.frg[i] = 0;
      ring.clearFlags(i);
    }
    for (int sn = to; sn != end; sn++) {
      ring.chunks[sn & mask] = null;
    }
    end = to;
  }

  /** Drops the newest queued segments until so many are left. */
  public void dropQueuedBeyond(int segments) {
    while (queued() > segments) {
      int i = (end - 1) & mask;
      Chunk dropped = ring.chunks[i];
      ring.chunks[i] = null;
      end--;
      if (una == end || ring.chunks[(end - 1) & mask] != dropped) {
        memory.free(dropped);
      } else {
        dropped.rewind(ring.start[i]);
      }
    }
    dropUnusedChunk();
    giveRingBackIfEmpty();
  }

  /** Makes the chunk of the last segment current again if nothing was copied into a new one. */
  private void dropUnusedChunk() {
    memory.continueWith(una == end ? null : ring.chunks[(end - 1) & mask]);
  }

  /** Whether the buffer is empty and holds chunks that {@link #trim} releases. */
  public boolean isTrimmable() {
    return memory.hasSpares() && isEmpty();
  }

  /** Releases free chunks beyond as much memory as is in use. */
  public void trim() {
    memory.trim();
  }

  /** Makes room in the ring for so many more segments. */
  private void ensureRing(int segments) {
    if (end - una + segments > ring.capacity) {
      grow(end - una + segments);
    }
  }

  private void grow(int segments) {
    SendRing old = ring;
    SendRing larger = old.larger(segments, losses.rate != null, account, rings);
    for (int sn = una; sn != end; sn++) {
      old.copyTo(larger, sn);
    }
    losses.grow(una, mask, larger);
    use(larger);
    old.giveBack(rings);
  }

  private void giveRingBackIfEmpty() {
    if (una == end && ring != SendRing.NONE) {
      giveRingBack();
    }
  }

  private void giveRingBack() {
    SendRing old = ring;
    use(SendRing.NONE);
    losses.releaseRing();
    account.releaseToSend(old.chargedBytes());
    old.giveBack(rings);
  }

  private void use(SendRing ring) {
    this.ring = ring;
    mask = ring.capacity - 1;
  }

  // Sending

  /** The index of the oldest queued segment. */
  public int firstQueued() {
    return next & mask;
  }

  /**
   * How many of the oldest queued segments are of so many bytes each and contiguous in one chunk.
   *
   * @param most how many segments to consider; at least so many are queued
   */
  public int contiguousRun(int bytesEach, int most) {
    int first = firstQueued();
    Chunk chunk = ring.chunks[first];
    int at = ring.start[first];
    int run = 0;
    for (int i = first;
        run < most && bytes(i) == bytesEach && ring.chunks[i] == chunk && ring.start[i] == at;
        i = i + 1 & mask) {
      run++;
      at += bytesEach;
    }
    return run;
  }

  /** So many of the oldest queued segments are sent, with the timestamp {@code ts}. */
  public void sent(int segments, int ts, long nowUs) {
    int first = firstQueued();
    int last = first + segments;
    losses.sent(first, Math.min(last, ring.capacity), ts, nowUs);
    if (last > ring.capacity) {
      losses.sent(0, last - ring.capacity, ts, nowUs);
    }
    next += segments;
  }

  /** The sequence number of the segment at {@code index}. */
  public int sn(int index) {
    return una + (index - una & mask);
  }

  /** How many fragments of a segment's message are still to come. */
  public int frg(int index) {
    return ring.frg[index] & 0xff;
  }

  /** The chunk that holds a segment: room for its header, and its payload. */
  public Chunk chunk(int index) {
    return ring.chunks[index];
  }

  /** The index in its chunk at which a segment begins. */
  public int start(int index) {
    return ring.start[index];
  }

  /** The bytes of a segment, header and payload. */
  public int bytes(int index) {
    return ring.bytes(index);
  }

  // Acknowledgements

  /**
   * How many fragments of an incomplete message a peer holds that has received everything below
   * {@code newUna}: its reader cannot have taken them yet. 0 in stream mode.
   */
  int unfinishedFragments(int newUna) {
    if (newUna - una < 0) {
      return 0;
    }
    int fragments = 0;
    for (int sn = newUna - 1; sn - una >= 0; sn--) {
      if (ring.frg[sn & mask] == 0) {
        return fragments;
      }
      fragments++;
    }
    return fragments + unfinishedBelowUna;
  }

  /** Whether {@code sn} is in flight and the peer has not acknowledged it. */
  public boolean isAwaited(int sn) {
    return sn - una >= 0 && sn - next < 0 && !ring.isAcknowledged(sn & mask);
  }

  /** The index of a segment. */
  public int index(int sn) {
    return sn & mask;
  }

  /**
   * An ACK with the timestamp {@code ts} has come for the segment {@code sn} in flight.
   *
   * @param rttUs its {@link LossDetector#rttUs}
   */
  public void acknowledge(int sn, int ts, int rttUs, long nowUs) {
    int i = sn & mask;
    losses.acknowledged(i, ts, rttUs, nowUs);
    ring.acknowledge(i);
  }

  /**
   * Drops every segment below {@code newUna}, which is at most {@link #next}, and those right after
   * it that ACKs have acknowledged: a {@code una} beyond them may never come, and with nothing in
   * flight there is no timeout that would retransmit them.
   */
  public void acknowledgeBelow(int newUna, long nowUs) {
    if (newUna - una > 0) {
      reportAcknowledged(newUna - una, nowUs);
    }
    while (newUna - una > 0 || (una != next && ring.isAcknowledged(una & mask))) {
      int i = una & mask;
      unfinishedBelowUna = ring.frg[i] == 0 ? 0 : unfinishedBelowUna + 1;
      Chunk left = ring.chunks[i];
      ring.chunks[i] = null;
      una++;
      if (left != null && (una == end || ring.chunks[una & mask] != left)) {
        memory.free(left);
      }
    }
    giveRingBackIfEmpty();
  }

  private void reportAcknowledged(int segments, long nowUs) {
    int first = una & mask;
    int last = first + segments;
    losses.acknowledgedByUna(first, Math.min(last, ring.capacity), nowUs);
    if (last > ring.capacity) {
      losses.acknowledgedByUna(0, last - ring.capacity, nowUs);
    }
  }

  public void close() {
    ring.acknowledgeAll(); // Not reported to the detector.
    next = end;
    acknowledgeBelow(end, 0);
    giveRingBack();
    trim();
  }
}
