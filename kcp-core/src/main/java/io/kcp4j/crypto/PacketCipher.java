package io.kcp4j.crypto;

import io.kcp4j.Unstable;

/**
 * Seals and opens packets in place, a batch at a time. It has state (key schedules, scratch arrays,
 * nonces) and is used by one thread: one for each event loop and {@link KeyRing}. It keeps no
 * buffer beyond a call.
 */
@Unstable
public interface PacketCipher {

  /**
   * Whether there is no crypto layer: sealing and opening do nothing, and packets may be sent
   * without them. False for a cipher that examines or changes packets.
   */
  default boolean isUnencrypted() {
    return false;
  }

  /** The bytes that sealing adds before the payload: the crypto header. */
  int headroom();

  /** The bytes that sealing adds after the payload: the tag. */
  int tailroom();

  /**
   * Seals every packet of the batch with the newest key. A packet consists of headroom, payload and
   * tailroom. Headroom and tailroom are overwritten; the whole packet then is what is sent.
   *
   * @throws IllegalArgumentException if a packet is shorter than headroom and tailroom together, or
   *     longer than 65536 bytes; then none is sealed
   * @throws RuntimeException thrown by a custom cipher; any packet may still be plaintext then, and
   *     no packet of the batch may be sent or sealed again
   */
  void seal(PacketBatch batch);

  /** Opens packets of any length and source; see {@link #open(PacketBatch, int, Object)}. */
  default void open(PacketBatch batch) {
    open(batch, 0, null);
  }

  /**
   * Opens the packets of the batch that are not refused yet. A packet that opens is narrowed to its
   * payload, which may be empty; the bytes around it are then undefined, but for the nonce of an
   * AEAD ({@link PacketBatch#nonceBytes}). Any other packet is {@linkplain PacketBatch#refuse
   * refused}, and its bytes do not change. Input from a peer never causes an exception.
   *
   * @param minPayloadBytes packets with a shorter payload are refused, too, without decryption
   * @param source the source of all packets, such as an address, or null if it is unknown. Of
   *     several keys the one that opened the last packet of the source is tried first, then the
   *     others in the order of the ring. Sources are distinguished by hash code, and not kept
   */
  void open(PacketBatch batch, int minPayloadBytes, Object source);

  /**
   * Opens packets like {@link #open(PacketBatch, int, Object)}, but tries only one key. By default,
   * all keys are tried.
   *
   * @param source not null
   * @param key if this is null, or not one of the ring, the key that opened the last packet of the
   *     source is tried
   */
  default void openWithKey(PacketBatch batch, int minPayloadBytes, Object source, PacketKey key) {
    open(batch, minPayloadBytes, source);
  }
}
