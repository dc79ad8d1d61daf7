package io.kcp4j.crypto;

import io.kcp4j.Unstable;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Packets of one buffer, direct or heap, that are sealed or opened together. It is made once and
 * used again: {@link #reset}, {@link #add} each packet, hand it to a {@link PacketCipher}, look at
 * each packet. It borrows the buffer and neither retains nor releases it; the buffer's reader and
 * writer index mean nothing to it. Used by one thread.
 */
@Unstable
public final class PacketBatch {

  private static final int INITIAL_CAPACITY = 16;

  private ByteBuf buffer;
  private int[] starts = new int[INITIAL_CAPACITY];
  private int[] ends = new int[INITIAL_CAPACITY];
  private boolean[] refused = new boolean[INITIAL_CAPACITY];
  private int size;
  private byte[] array;
  private ByteBuffer view;
  private int offset;

  /** Makes an empty batch. */
  public PacketBatch() {}

  /**
   * Forgets all packets; those that follow stand in {@code buffer}.
   *
   * @return this
   */
  public PacketBatch reset(ByteBuf buffer) {
    this.buffer = buffer;
    size = 0;
    return this;
  }

  /**
   * Adds the packet at [{@code start}, {@code end}), which must not overlap another.
   *
   * @throws IllegalArgumentException if that is not within the buffer's capacity
   */
  public void add(int start, int end) {
    if (start < 0 || end < start || end > buffer.capacity()) {
      throw new IllegalArgumentException(
          "packet: [" + start + ", " + end + ") (expected: within " + buffer.capacity() + ")");
    }
    if (size == starts.length) {
      starts = Arrays.copyOf(starts, 2 * size);
      ends = Arrays.copyOf(ends, 2 * size);
      refused = Arrays.copyOf(refused, 2 * size);
    }
    starts[size] = start;
    ends[size] = end;
    refused[size++] = false;
  }

  /** The buffer that the packets stand in; {@code null} before the first {@link #reset}. */
  public ByteBuf buffer() {
    return buffer;
  }

  /** How many packets there are. */
  public int size() {
    return size;
  }

  /** Index of the first byte of packet {@code i}, which counts from 0. */
  public int start(int i) {
    return starts[i];
  }

  /** Index behind the last byte of packet {@code i}. */
  public int end(int i) {
    return ends[i];
  }

  /** Takes {@code head} bytes off the front of packet {@code i}, and {@code tail} off its end. */
  public void narrow(int i, int head, int tail) {
    starts[i] += head;
    ends[i] -= tail;
    assert starts[i] <= ends[i] : starts[i] + " > " + ends[i];
  }

  /** Marks packet {@code i} as one that is not to be looked at; start and end stay. */
  public void refuse(int i) {
    refused[i] = true;
  }

  /** Whether packet {@code i} has been refused. */
  public boolean isRefused(int i) {
    return refused[i];
  }

  /**
   * Makes ready for {@link #read} and {@link #write}, until the buffer is used otherwise. A direct
   * buffer is used through its NIO view: with that copies make no garbage, whatever access to
   * memory Netty has.
   */
  void map() {
    array = null;
    view = null;
    if (buffer.hasArray()) {
      array = buffer.array();
      offset = buffer.arrayOffset();
    } else if (buffer.nioBufferCount() == 1) {
      view = buffer.internalNioBuffer(0, buffer.capacity());
      offset = view.position();
    }
  }

  /** Forgets what {@link #map} found. */
  void unmap() {
    array = null;
    view = null;
  }

  /** The buffer's view if it is direct memory, or null; see {@link #directIndex}. */
  ByteBuffer direct() {
    return view != null && view.isDirect() && !view.isReadOnly() ? view : null;
  }

  /** Where in {@link #direct} the buffer's {@code index} is. */
  int directIndex(int index) {
    return offset + index;
  }

  /** Copies bytes out of the buffer. */
  void read(int index, byte[] to, int toIndex, int bytes) {
    if (array != null) {
      System.arraycopy(array, offset + index, to, toIndex, bytes);
    } else if (view != null) {
      view.get(offset + index, to, toIndex, bytes);
    } else {
      buffer.getBytes(index, to, toIndex, bytes);
    }
  }

  /** Copies bytes into the buffer. */
  void write(int index, byte[] from, int fromIndex, int bytes) {
    if (array != null) {
      System.arraycopy(from, fromIndex, array, offset + index, bytes);
    } else if (view != null) {
      view.put(offset + index, from, fromIndex, bytes);
    } else {
      buffer.setBytes(index, from, fromIndex, bytes);
    }
  }
}
