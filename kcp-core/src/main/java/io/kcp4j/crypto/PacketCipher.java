package io.kcp4j.crypto;

import io.kcp4j.Unstable;

/**
 * Seals and opens packets in place, a batch at a time. It has state of its own (key schedules,
 * scratch, nonces): used by one thread, one for each event loop and {@link KeyRing}. It never keeps
 * a buffer beyond a call.
 */
@Unstable
public interface PacketCipher {

  /**
   * Whether there is no crypto layer at all: sealing and opening do nothing, and a packet may leave
   * without. A cipher that looks at packets, or alters them, is none of that.
   */
  default boolean isUnencrypted() {
    return false;
  }

  /** How many bytes sealing needs before the payload: the crypto header. */
  int headroom();

  /** How many bytes sealing needs behind the payload: the tag. */
  int tailroom();

  /**
   * Seals every packet of the batch with the newest key. A packet is the headroom, the payload and
   * the tailroom; what stood in headroom and tailroom is overwritten, and all of it becomes what
   * goes on the wire.
   *
   * @throws IllegalArgumentException if a packet is shorter than headroom and tailroom together, or
   *     longer than 65536 bytes; then none is sealed
   * @throws RuntimeException whatever a cipher of a user's own throws; then any packet may still be
   *     plaintext, and none of them may leave, nor be sealed again
   */
  void seal(PacketBatch batch);

  /**
   * Opens packets that may hold anything, and come from anywhere: see {@link #open(PacketBatch,
   * int, Object)}.
   */
  default void open(PacketBatch batch) {
    open(batch, 0, null);
  }

  /**
   * Opens the packets of the batch that are not refused yet. One that opens is narrowed to its
   * payload, which may be empty; the bytes around it are then undefined. One that does not, of
   * whatever bytes and length, is {@linkplain PacketBatch#refuse refused}, and its bytes stay as
   * they are. Never throws for what a peer sent.
   *
   * @param minPayloadBytes packets that would have a shorter payload are refused, too, and cost no
   *     cipher work
   * @param source where all of them come from, such as an address, or null if that is not known. Of
   *     several keys the one that has opened the source's last packet is tried first, the others in
   *     the ring's order. Sources are told apart by their hash codes, and none is kept
   */
  void open(PacketBatch batch, int minPayloadBytes, Object source);
}
