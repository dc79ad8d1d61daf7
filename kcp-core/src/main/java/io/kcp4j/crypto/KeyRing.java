package io.kcp4j.crypto;

import io.kcp4j.Unstable;
import java.util.ArrayList;
import java.util.List;

/**
 * The keys that packets may be sealed with: the newest seals, and each opens, tried in turn. To
 * change a key without a gap, first let every peer open with the new one, then let each seal with
 * it, then drop the old one. Every key more makes refusing a packet dearer by one failed opening;
 * what is not refused is mostly tried with the right key first, that of its source's last packet.
 *
 * <p>Immutable and safe to share between threads.
 */
public final class KeyRing {

  /** How many keys a ring may have. */
  public static final int MAX_KEYS = 8;

  /** No crypto layer at all, kcptun's {@code null}: nothing is added, everything opens. */
  public static final KeyRing NONE = of(PacketKey.of(CipherAlgorithm.NULL, new byte[0]));

  private final List<PacketKey> keys;

  private KeyRing(List<PacketKey> keys) {
    this.keys = keys;
  }

  /**
   * A ring of keys.
   *
   * @param newest the one that seals
   * @param older further ones that open, in the order in which to try them; they may be of other
   *     algorithms
   * @throws IllegalArgumentException if there are more than {@value #MAX_KEYS}, or if one of
   *     several is {@link CipherAlgorithm#NULL}, which would open everything
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
          "keys: " + keys + " (expected: null alone, or not at all)");
    }
    return new KeyRing(List.copyOf(keys));
  }

  /** The keys, the newest first. */
  public List<PacketKey> keys() {
    return keys;
  }

  /** How many bytes sealing with the newest key needs before the payload. */
  public int headroom() {
    return keys.get(0).headroom();
  }

  /** How many bytes sealing with the newest key needs behind the payload. */
  public int tailroom() {
    return keys.get(0).tailroom();
  }

  /** Whether every key is one of an AEAD, so that no alteration of a packet goes unnoticed. */
  public boolean isAuthenticated() {
    return keys.stream().allMatch(PacketKey::isAuthenticated);
  }

  /**
   * A cipher with state of its own, for one thread.
   *
   * @throws IllegalStateException if a key has been destroyed
   */
  @Unstable
  public PacketCipher newCipher() {
    return new RingCipher(this);
  }

  @Override
  public String toString() {
    return "KeyRing" + keys;
  }
}
