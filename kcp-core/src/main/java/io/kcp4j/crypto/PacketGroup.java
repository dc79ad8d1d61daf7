package io.kcp4j.crypto;

import java.util.Arrays;

/**
 * Copies of a few packets in one heap array, each at a multiple of 16 and padded up to the next, so
 * that ciphers may process whole blocks. A group fits into the cache, and has enough packets for
 * parallel encryption.
 */
final class PacketGroup {

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

  static int roundUp(int bytes) {
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
}
