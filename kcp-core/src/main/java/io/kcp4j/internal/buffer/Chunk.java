package io.kcp4j.internal.buffer;

import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.wire.Copying;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.SegmentSource;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.Recycler;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A direct buffer of contiguous segments in wire format, each header followed by its payload. It is
 * written through one view that exists as long as the buffer: the buffer's own methods check its
 * kind, bounds and reference count on each call.
 *
 * <p>An output to which a part has been passed holds a reference to the {@link #memory}.
 */
public final class Chunk {

  private static final Recycler<Chunk> RECYCLER =
      new Recycler<>() {
        @Override
        protected Chunk newObject(Handle<Chunk> handle) {
          return new Chunk(handle);
        }
      };

  private final Recycler.Handle<Chunk> handle;

  private ByteBuf memory;

  /** The buffer's internal view; other users change its position and limit, too. */
  private ByteBuffer view;

  /** Start and end of the memory within the view. */
  private int viewStart;

  private int viewEnd;
  private int end;

  private Chunk(Recycler.Handle<Chunk> handle) {
    this.handle = handle;
  }

  /**
   * An empty chunk of so many bytes.
   *
   * @throws OutOfMemoryError if there is no memory; nothing is held then
   */
  public static Chunk allocate(MemoryAccount.Context context, int bytes) {
    Chunk chunk = RECYCLER.get();
    ByteBuf memory = context.directBuffer(bytes, bytes);
    if (memory.nioBufferCount() != 1) { // As a user's own allocator may return.
      memory.release();
      memory = Unpooled.directBuffer(bytes, bytes);
    }
    chunk.memory = memory;
    chunk.view = memory.internalNioBuffer(0, bytes);
    chunk.viewStart = chunk.view.position();
    chunk.viewEnd = chunk.view.limit();
    chunk.end = 0;
    return chunk;
  }

  /** The buffer; its indices have no meaning. */
  public ByteBuf memory() {
    return memory;
  }

  /** The size of the chunk, in bytes. */
  public int capacity() {
    return viewEnd - viewStart;
  }

  /** The index at which the next segment begins. */
  public int end() {
    return end;
  }

  /** The free bytes behind {@link #end}. */
  public int room() {
    return capacity() - end;
  }

  /** Marks the next {@code bytes} as used. */
  public void advance(int bytes) {
    end += bytes;
  }

  /** Copies bytes of {@code from}, a buffer of any kind, whose indices do not change. */
  public void set(int index, ByteBuf from, int fromIndex, int bytes) {
    int at = viewStart + index;
    Copying.get(from, fromIndex, view.limit(at + bytes).position(at));
  }

  /** Copies bytes of another chunk, or of another part of this one. */
  public void set(int index, Chunk from, int fromIndex, int bytes) {
    set(index, from.view.limit(from.viewEnd), from.viewStart + fromIndex, bytes);
  }

  /** Copies bytes of a buffer, whose position does not change. */
  public void set(int index, ByteBuffer from, int fromIndex, int bytes) {
    view.limit(viewEnd).put(viewStart + index, from, fromIndex, bytes);
  }

  /**
   * Has {@code source} write up to {@code maxBytes} at {@code index}, and returns how many it has
   * written.
   */
  public int pull(int index, int maxBytes, int enoughBytes, SegmentSource source) {
    int start = viewStart + index;
    try {
      source.pull(view.limit(start + maxBytes).position(start), enoughBytes);
      int bytes = view.position() - start;
      if (bytes < 0 || bytes > maxBytes) {
        throw new IllegalStateException(
            "source wrote " + bytes + " bytes (expected: 0 to " + maxBytes + ")");
      }
      return bytes;
    } finally {
      view.order(ByteOrder.BIG_ENDIAN); // setLong relies on it.
    }
  }

  /**
   * Has {@code source} write full payloads behind {@link #end}, each behind room for its header.
   *
   * @param most how many there may be; the chunk has room for them
   * @return how many there are
   */
  public int pullFull(int payloadBytes, int most, SegmentSource source) {
    int start = viewStart + end + Segment.HEADER_BYTES;
    try {
      view.limit(viewEnd).position(start);
      int segments = source.pullFull(view, payloadBytes, Segment.HEADER_BYTES, most);
      if (segments < 0 || segments > most) {
        throw new IllegalStateException(
            "source wrote " + segments + " segments (expected: 0 to " + most + ")");
      }
      return segments;
    } finally {
      view.order(ByteOrder.BIG_ENDIAN); // setLong relies on it.
    }
  }

  /** Writes 8 bytes, little-endian. */
  void setLong(int index, long value) {
    view.limit(viewEnd).putLong(viewStart + index, Long.reverseBytes(value));
  }

  /** Marks the bytes from {@code index} on as unused; no output holds any of them. */
  public void rewind(int index) {
    end = index;
  }

  /** Whether an output still holds a part of the chunk. */
  public boolean isShared() {
    return memory.refCnt() > 1;
  }

  /** Makes the chunk empty. */
  public void clear() {
    end = 0;
  }

  /** Releases the memory. */
  public void release() {
    ByteBuf released = memory;
    memory = null;
    view = null;
    handle.recycle(this);
    released.release();
  }

  /**
   * The contiguous datagrams in a chunk that a flush passes to its output as one run, once the run
   * cannot continue. Part of the {@code SegmentWriter}.
   */
  @SuppressWarnings("ReferenceEquality") // chunks are compared by identity
  public static final class DatagramRun {

    /** The chunk of the run; null if there is none. */
    private Chunk chunk;

    private int index;
    private int bytes;
    private int datagramBytes;

    /**
     * Adds datagrams of {@code bytesEach}, after the run has been sent that they do not continue.
     *
     * @param bytes those of all of them
     */
    public void add(Chunk from, int at, int bytes, int bytesEach, DatagramOutput output) {
      boolean fits =
          bytesEach == datagramBytes || (bytesEach < datagramBytes && bytes == bytesEach);
      boolean continued = chunk == from && index + this.bytes == at && fits;
      if (!continued) {
        send(output);
        chunk = from;
        index = at;
        this.bytes = 0;
        datagramBytes = bytesEach;
      }
      this.bytes += bytes;
      if (bytesEach < datagramBytes) {
        send(output); // Only the last datagram of a run may be shorter.
      }
    }

    /** Passes the run to the output, if there is one. */
    public void send(DatagramOutput output) {
      if (chunk != null) {
        Chunk from = chunk;
        chunk = null;
        output.send(from.memory(), index, bytes, datagramBytes);
      }
    }

    /** The bytes of the run, with what the layers below add to each datagram. */
    public int packetBytes(int overheadBytes) {
      return chunk == null ? 0 : bytes + bytes / datagramBytes * overheadBytes;
    }

    /** Forgets the run. */
    public void discard() {
      chunk = null;
    }
  }

  /** Writes the header of a segment at {@code index}. */
  public void setHeader(
      int index, int conv, int cmd, int frg, int wnd, int ts, int sn, int una, int length) {
    setLong(index, Segment.first(conv, cmd, frg, wnd));
    setLong(index + 8, Segment.pair(ts, sn));
    setLong(index + 16, Segment.pair(una, length));
  }
}
