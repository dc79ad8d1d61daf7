package io.kcp4j.crypto;

import io.kcp4j.Unstable;
import io.kcp4j.internal.crypto.PacketCipher;
import java.util.ArrayList;
import java.util.List;

/**
 * The keys of a socket: the newest seals packets, and all are tried in turn to open them. Each
 * additional key adds one failed opening to the cost of refusing a packet. Valid packets mostly
 * open at the first attempt: the key that opened the last packet of their source is tried first.
 *
 * <p>Key rotation without interruption: first add the new key to every peer for opening, then let
 * each seal with it, then remove the old one.
 *
 * <p>Immutable and safe to share between threads.
 */
public final class KeyRing {

  /** The maximum number of keys of a ring. */
  public static final int MAX_KEYS = 8;

  /** No crypto layer, as {@code null} of kcptun: packets are not changed, and all are accepted. */
  public static final KeyRing NONE = of(PacketKey.of(CipherAlgorithm.NULL, new byte[0]));

  private final List<PacketKey> keys;

  private KeyRing(List<PacketKey> keys) {
    this.keys = keys;
  }

  /**
   * A ring of keys.
   *
   * @param newest the one that seals
   * @param older further keys for opening, in the order of attempts; they may be of other
   *     algorithms
   * @throws IllegalArgumentException if there are more than {@value #MAX_KEYS}, or if one of
   *     several is {@link CipherAlgorithm#NULL}, which would accept everything
   */
  public static KeyRing of(PacketKey newest, PacketKey... older) {
    List<PacketKey> keys = new ArrayList<>(List.of(older));
    keys.add(0, newest);
    if (keys.size() > MAX_KEYS) {
      throw new IllegalArgumentException(
          "keys: " + keys.size() + " (expected: at most " + MAX_KEYS + ")");
    }
    if (keys.size() > 1 && keys.stream().anyMatch(key -> key.headroom() == 0)) {
      throw new IllegalArgumentException(
          "keys: " + keys + " (expected: null only as the single key)");
    }
    return new KeyRing(List.copyOf(keys));
  }

  /** The keys, the newest first. */
  public List<PacketKey> keys() {
    return keys;
  }

  /** The bytes that sealing with the newest key adds before the payload. */
  public int headroom() {
    return keys.get(0).headroom();
  }

  /** The bytes that sealing with the newest key adds after the payload. */
  public int tailroom() {
    return keys.get(0).tailroom();
  }

  /** Whether every key belongs to an AEAD, which detects every modification of a packet. */
  public boolean isAuthenticated() {
    return keys.stream().allMatch(PacketKey::isAuthenticated);
  }

  /**
   * A new cipher for one thread.
   *
   * @throws IllegalStateException if a key has been destroyed
   */
  @Unstable
  public PacketCipher newCipher() {
    return new PacketCipher(this);
  }

  @Override
  public String toString() {
    return "KeyRing" + keys;
  }
}
