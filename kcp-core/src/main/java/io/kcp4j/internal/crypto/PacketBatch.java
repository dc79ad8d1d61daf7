package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.PacketKey;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Packets of one buffer, direct or heap, that are sealed or opened together. A batch is reused:
 * {@link #reset}, {@link #add} each packet, pass it to a {@link PacketCipher}, examine each packet.
 * It borrows the buffer, which it neither retains nor releases, and ignores its reader and writer
 * index. Used by one thread.
 */
public final class PacketBatch {

  private static final int INITIAL_CAPACITY = 16;

  private ByteBuf buffer;
  private int[] starts = new int[INITIAL_CAPACITY];
  private int[] ends = new int[INITIAL_CAPACITY];
  private boolean[] refused = new boolean[INITIAL_CAPACITY];
  private int[] nonceBytes = new int[INITIAL_CAPACITY];
  private PacketKey[] keys = new PacketKey[INITIAL_CAPACITY];
  private int size;
  private byte[] array;
  private ByteBuffer view;
  private int offset;

  /** Makes an empty batch. */
  public PacketBatch() {}

  /**
   * Removes all packets; those added next are in {@code buffer}.
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
   * @throws IllegalArgumentException if it is not within the capacity of the buffer
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
      nonceBytes = Arrays.copyOf(nonceBytes, 2 * size);
      keys = Arrays.copyOf(keys, 2 * size);
    }
    starts[size] = start;
    ends[size] = end;
    nonceBytes[size] = 0;
    keys[size] = null;
    refused[size++] = false;
  }

  /** The buffer of the packets; {@code null} before the first {@link #reset}. */
  ByteBuf buffer() {
    return buffer;
  }

  /** The number of packets. */
  public int size() {
    return size;
  }

  /** The index of the first byte of packet {@code i}, from 0 on. */
  public int start(int i) {
    return starts[i];
  }

  /** The index after the last byte of packet {@code i}. */
  public int end(int i) {
    return ends[i];
  }

  /**
   * Removes {@code head} bytes from the front of packet {@code i}, and {@code tail} from its end.
   */
  void narrow(int i, int head, int tail) {
    starts[i] += head;
    ends[i] -= tail;
    assert starts[i] <= ends[i] : starts[i] + " > " + ends[i];
  }

  /** Marks packet {@code i} as refused; start and end do not change. */
  public void refuse(int i) {
    refused[i] = true;
  }

  /** Whether packet {@code i} has been refused. */
  public boolean isRefused(int i) {
    return refused[i];
  }

  /** Packet {@code i} was opened by an AEAD, whose nonce precedes the payload. */
  void authenticated(int i, int nonceBytes) {
    this.nonceBytes[i] = nonceBytes;
  }

  /**
   * How many bytes before the start of packet {@code i} are the nonce by which an AEAD has opened
   * it; 0 if none has.
   */
  public int nonceBytes(int i) {
    return nonceBytes[i];
  }

  /** Packet {@code i} is tried with a key. */
  void tried(int i, PacketKey key) {
    keys[i] = key;
  }

  /** The key that has opened packet {@code i}, which is not refused; null if it is not known. */
  public PacketKey key(int i) {
    return keys[i];
  }

  /**
   * Prepares for {@link #read} and {@link #write}, until the buffer is used otherwise. A direct
   * buffer is accessed by its NIO view: its copies allocate nothing, with and without Unsafe.
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

  /** Clears what {@link #map} has set. */
  void unmap() {
    array = null;
    view = null;
  }

  /** The view of the buffer if it is direct memory, or null; see {@link #directIndex}. */
  public ByteBuffer direct() {
    return view != null && view.isDirect() && !view.isReadOnly() ? view : null;
  }

  /** The index in {@link #direct} of {@code index} of the buffer. */
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
