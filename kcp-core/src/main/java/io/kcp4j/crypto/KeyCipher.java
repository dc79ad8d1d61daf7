package io.kcp4j.crypto;

/** The state of one key on one thread. */
abstract class KeyCipher {

  /** Seals every packet. The caller has checked their lengths. */
  abstract void seal(PacketBatch batch);

  /**
   * Opens the packets whose numbers are the first {@code count} of {@code pending}, and narrows
   * those that open. The numbers of the others are moved to the front.
   *
   * @param minPayloadBytes shorter payloads are refused without decryption
   * @return the number of packets that did not open
   */
  abstract int open(PacketBatch batch, int[] pending, int count, int minPayloadBytes);
}
