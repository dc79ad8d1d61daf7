package io.kcp4j.crypto;

/**
 * CFB encryption of many packets in parallel. Within a packet each block depends on the previous
 * one; blocks at the same offset of several packets are independent, and one call encrypts a whole
 * column of them.
 */
final class ParallelCfb {

  private static final int BLOCK_BYTES = 16;

  private final BlockCipher cipher;
  private final byte[] first;
  private final byte[] column = new byte[PacketGroup.MAX_PACKETS * BLOCK_BYTES];
  private final byte[] masks = new byte[PacketGroup.MAX_PACKETS * BLOCK_BYTES];
  private final int[] starts = new int[PacketGroup.MAX_PACKETS];
  private final int[] lengths = new int[PacketGroup.MAX_PACKETS];
  private int active;

  /**
   * Makes an instance for one key.
   *
   * @param cipher has blocks of 16 bytes
   * @param first the encrypted initial vector
   */
  ParallelCfb(BlockCipher cipher, byte[] first) {
    this.cipher = cipher;
    this.first = first;
  }

  /**
   * Encrypts the group column by column, as long as at least {@code minPackets} packets have
   * another block.
   *
   * @return how many packets have more blocks than have been encrypted; see {@link #start}
   */
  int encrypt(PacketGroup group, int minPackets) {
    sort(group);
    for (int i = 0; i < active; i++) {
      System.arraycopy(first, 0, masks, i * BLOCK_BYTES, BLOCK_BYTES);
    }
    int offset = 0;
    while (true) {
      xorColumn(group.data(), offset);
      offset += BLOCK_BYTES;
      while (active > 0 && lengths[active - 1] <= offset) {
        active--;
      }
      if (active < minPackets) {
        break;
      }
      cipher.encryptBlocks(column, 0, masks, 0, active);
    }
    for (int i = 0; i < active; i++) {
      starts[i] += offset - BLOCK_BYTES;
      lengths[i] -= offset - BLOCK_BYTES;
    }
    return active;
  }

  /** The index of the last encrypted block of packet {@code i} of those that have more. */
  int start(int i) {
    return starts[i];
  }

  /** The number of bytes of that packet from there on. */
  int length(int i) {
    return lengths[i];
  }

  /** Sorts by descending length: packets that still have blocks are always the first ones. */
  private void sort(PacketGroup group) {
    active = group.size();
    for (int i = 0; i < active; i++) {
      int length = group.length(i);
      int k = i;
      for (; k > 0 && lengths[k - 1] < length; k--) {
        starts[k] = starts[k - 1];
        lengths[k] = lengths[k - 1];
      }
      starts[k] = group.start(i);
      lengths[k] = length;
    }
  }

  private void xorColumn(byte[] data, int offset) {
    for (int i = 0; i < active; i++) {
      int at = starts[i] + offset;
      int cell = i * BLOCK_BYTES;
      long low =
          (long) PacketGroup.LONG.get(data, at) ^ (long) PacketGroup.LONG.get(masks, cell);
      long high =
          (long) PacketGroup.LONG.get(data, at + 8)
              ^ (long) PacketGroup.LONG.get(masks, cell + 8);
      PacketGroup.LONG.set(data, at, low);
      PacketGroup.LONG.set(data, at + 8, high);
      PacketGroup.LONG.set(column, cell, low);
      PacketGroup.LONG.set(column, cell + 8, high);
    }
  }
}
