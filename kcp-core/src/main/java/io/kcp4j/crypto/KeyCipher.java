package io.kcp4j.crypto;

/** One key's state on one thread. */
abstract class KeyCipher {

  /** Seals every packet; their lengths have been checked. */
  abstract void seal(PacketBatch batch);

  /**
   * Opens the packets whose numbers are the first {@code count} of {@code pending}, and narrows
   * those that open. The numbers of the others are moved to the front.
   *
   * @param minPayloadBytes packets without room for so much are not looked at
   * @return how many others there are
   */
  abstract int open(PacketBatch batch, int[] pending, int count, int minPayloadBytes);
}
