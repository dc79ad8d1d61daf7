package io.kcp4j;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.Recycler;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Memory in which segments of a session stand back to back as they leave, each header followed by
 * its payload. It is written through one view that lives as long: a buffer's own methods look at
 * its kind, its bounds and its references each time.
 *
 * <p>An output that has been given a part of it holds a reference to the {@link #memory}.
 */
final class Chunk {

  private static final Recycler<Chunk> RECYCLER =
      new Recycler<>() {
        @Override
        protected Chunk newObject(Handle<Chunk> handle) {
          return new Chunk(handle);
        }
      };

  private final Recycler.Handle<Chunk> handle;

  private ByteBuf memory;

  /** The buffer's own view of itself; others, too, move its position and its limit. */
  private ByteBuffer view;

  /** Where in the view the memory begins and ends. */
  private int viewStart;

  private int viewEnd;
  private int end;

  private Chunk(Recycler.Handle<Chunk> handle) {
    this.handle = handle;
  }

  /**
   * An empty one of so many bytes.
   *
   * @throws OutOfMemoryError if there is no memory; nothing is held then
   */
  static Chunk allocate(KcpContext context, int bytes) {
    Chunk chunk = RECYCLER.get();
    ByteBuf memory = context.directBuffer(bytes, bytes);
    if (memory.nioBufferCount() != 1) { // A user's own allocator may give it in pieces.
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

  /** What it consists of; the indices of this buffer mean nothing. */
  ByteBuf memory() {
    return memory;
  }

  /** All of it, in bytes. */
  int capacity() {
    return viewEnd - viewStart;
  }

  /** Where the next segment begins. */
  int end() {
    return end;
  }

  /** The bytes that are left behind {@link #end}. */
  int room() {
    return capacity() - end;
  }

  /** Takes the next {@code bytes} as used. */
  void advance(int bytes) {
    end += bytes;
  }

  /** Copies bytes of {@code from}, anyone's buffer, whose indices stay. */
  void set(int index, ByteBuf from, int fromIndex, int bytes) {
    int at = viewStart + index;
    from.getBytes(fromIndex, view.limit(at + bytes).position(at));
  }

  /** Copies bytes of another chunk, or of another part of this one. */
  void set(int index, Chunk from, int fromIndex, int bytes) {
    set(index, from.view.limit(from.viewEnd), from.viewStart + fromIndex, bytes);
  }

  /** Copies bytes of a buffer, whose position stays. */
  void set(int index, ByteBuffer from, int fromIndex, int bytes) {
    view.limit(viewEnd).put(viewStart + index, from, fromIndex, bytes);
  }

  /**
   * Has {@code source} write up to {@code maxBytes} at {@code index}, and returns how many it has
   * written.
   */
  int pull(int index, int maxBytes, SegmentSource source) {
    int start = viewStart + index;
    try {
      source.pull(view.limit(start + maxBytes).position(start));
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

  /** Writes 8 bytes, little-endian. */
  void setLong(int index, long value) {
    view.limit(viewEnd).putLong(viewStart + index, Long.reverseBytes(value));
  }

  /** Takes what stands at {@code index} and after as unused; nothing of it has been given out. */
  void rewind(int index) {
    end = index;
  }

  /** Whether an output still holds a part of it. */
  boolean isShared() {
    return memory.refCnt() > 1;
  }

  /** Makes it empty again. */
  void clear() {
    end = 0;
  }

  /** Gives the memory back. */
  void release() {
    ByteBuf released = memory;
    memory = null;
    view = null;
    handle.recycle(this);
    released.release();
  }
}
