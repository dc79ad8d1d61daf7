package io.kcp4j.crypto;

import java.util.Arrays;

/**
 * Copies of a few packets in one heap array, each at a multiple of 16 and with room up to the next,
 * so that ciphers may work on whole blocks. A group is small enough to stay in the cache, and many
 * enough to be encrypted in lock step.
 */
final class PacketGroup {

  static final int ALIGNMENT = 16;
  static final int MAX_PACKETS = 32;

  /** A group takes another packet while it has fewer bytes; all of an Ethernet's MTU find room. */
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

  /** Makes room for a packet of {@code bytes} and returns its number. */
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

  /** Index behind the room of the last packet. */
  int end() {
    return end;
  }
}
