package io.kcp4j.internal.crypto;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Copies of a few packets in one heap array, each at a multiple of 16 and padded up to the next, so
 * that ciphers may process whole blocks. A group fits into the cache, and has enough packets for
 * parallel encryption.
 */
final class PacketGroup {

  /** Access to the bytes of packets and keys by ints. */
  static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  /** Access to the bytes of packets by longs. */
  static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final VarHandle NATIVE_LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  static final int ALIGNMENT = 16;
  static final int MAX_PACKETS = 32;

  /**
   * A group accepts packets while it has fewer bytes: {@link #MAX_PACKETS} of an Ethernet MTU fit.
   */
  private static final int FULL_BYTES = 48 << 10;

  private byte[] data = new byte[4096];
  private final int[] starts = new int[MAX_PACKETS];
  private final int[] lengths = new int[MAX_PACKETS];
  private int size;
  private int end;

  void clear() {
    size = 0;
    end = 0;
  }

  boolean isFull() {
    return size == MAX_PACKETS || end >= FULL_BYTES;
  }

  /** Reserves space for a packet of {@code bytes} and returns its number. */
  int add(int bytes) {
    starts[size] = end;
    lengths[size] = bytes;
    end += roundUp(bytes);
    if (end > data.length) {
      data = Arrays.copyOf(data, Math.max(end, 2 * data.length));
    }
    return size++;
  }

  private static int roundUp(int bytes) {
    return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
  }

  byte[] data() {
    return data;
  }

  int size() {
    return size;
  }

  int start(int i) {
    return starts[i];
  }

  int length(int i) {
    return lengths[i];
  }

  /** The index after the padding of the last packet. */
  int end() {
    return end;
  }

  /**
   * XORs the mask into [{@code start}, {@code end}) of the data, and up to 7 bytes more, which are
   * padding. Both use the same indices, without which C2 does not vectorise the loop.
   */
  static void xor(byte[] data, byte[] mask, int start, int end) {
    for (int i = start; i < end; i += Long.BYTES) {
      NATIVE_LONG.set(data, i, (long) NATIVE_LONG.get(data, i) ^ (long) NATIVE_LONG.get(mask, i));
    }
  }
}
