package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;

/**
 * The keys of a {@link KeyRing} on one thread: seals and opens packets in place, a batch at a time.
 * The newest key seals, and each key opens what the previous ones refused. A hash table remembers
 * the key that opened the last packet of each source. A collision of two sources costs an attempt
 * with the wrong key.
 *
 * <p>It has state (key schedules, scratch arrays, nonces) and is used by one thread: there is one
 * for each event loop and {@link KeyRing}. It keeps no buffer beyond a call.
 */
public final class PacketCipher {

  /** Longer than any UDP payload. */
  private static final int MAX_PACKET_BYTES = 1 << 16;

  private static final int SOURCE_BITS = 12;

  /** Opened packets are counted in steps, to avoid contention of threads for the counter. */
  private static final int OPENS_STEP = 256;

  private final PacketKey newest;
  private final PacketKey[] keys;
  private final KeyCipher[] ciphers;

  /** The packets opened by each key that {@link PacketKey#opens} does not include yet. */
  private final int[] opens;

  private final int minOverheadBytes;
  private final boolean isUnencrypted;

  /** The index of the last key of each source; null if there is only one key. */
  private final byte[] lastKeys;

  /** Secret, so that nobody can choose sources that collide with others. */
  private final int slotFactor = (int) SipHash.newSeed() | 1;

  private int[] pending = new int[16];

  public PacketCipher(KeyRing ring) {
    keys = ring.keys().toArray(new PacketKey[0]);
    newest = keys[0];
    opens = new int[keys.length];
    ciphers = ring.keys().stream().map(PacketKey::newCipher).toArray(KeyCipher[]::new);
    minOverheadBytes =
        ring.keys().stream().mapToInt(key -> key.headroom() + key.tailroom()).min().getAsInt();
    isUnencrypted = ciphers[0] instanceof KeyCipher.None;
    lastKeys = ciphers.length == 1 ? null : new byte[1 << SOURCE_BITS];
  }

  /**
   * Whether there is no crypto layer: sealing and opening do nothing, and packets may be sent
   * without them.
   */
  public boolean isUnencrypted() {
    return isUnencrypted;
  }

  /** The bytes that sealing adds before the payload: the crypto header. */
  public int headroom() {
    return newest.headroom();
  }

  /** The bytes that sealing adds after the payload: the tag. */
  public int tailroom() {
    return newest.tailroom();
  }

  /**
   * Seals every packet of the batch with the newest key. A packet consists of headroom, payload and
   * tailroom. Headroom and tailroom are overwritten; the whole packet then is what is sent.
   *
   * @throws IllegalArgumentException if a packet is shorter than headroom and tailroom together, or
   *     longer than 65536 bytes; then none is sealed
   * @throws RuntimeException thrown by a custom cipher; any packet may still be plaintext then, and
   *     no packet of the batch may be sent or sealed again
   */
  public void seal(PacketBatch batch) {
    if (batch.size() == 0) {
      return;
    }
    int minBytes = newest.headroom() + newest.tailroom();
    for (int i = 0; i < batch.size(); i++) {
      int bytes = batch.end(i) - batch.start(i);
      if (bytes < minBytes || bytes > MAX_PACKET_BYTES) {
        throw new IllegalArgumentException(
            "packet: " + bytes + " bytes (expected: " + minBytes + " to " + MAX_PACKET_BYTES + ")");
      }
    }
    if (!isUnencrypted) {
      newest.addSeals(batch.size()); // Before sealing, which may throw after it has used nonces.
      for (int k = 0; k < keys.length; k++) {
        addOpens(k, 1);
      }
      batch.map();
      try {
        ciphers[0].seal(batch);
      } finally {
        batch.unmap();
      }
    }
  }

  /** Opens packets of any length and source; see {@link #open(PacketBatch, int, Object)}. */
  public void open(PacketBatch batch) {
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
  public void open(PacketBatch batch, int minPayloadBytes, Object source) {
    open(batch, minPayloadBytes, source, lastKey(source), keys.length);
  }

  /**
   * Opens packets like {@link #open(PacketBatch, int, Object)}, but tries only one key.
   *
   * @param source not null
   * @param key if this is null, or not one of the ring, the key that opened the last packet of the
   *     source is tried
   */
  public void openWithKey(PacketBatch batch, int minPayloadBytes, Object source, PacketKey key) {
    int known = keys.length - 1;
    while (known >= 0 && keys[known] != key) {
      known--;
    }
    open(batch, minPayloadBytes, source, known < 0 ? lastKey(source) : known, 1);
  }

  private int lastKey(Object source) {
    return source == null || lastKeys == null ? 0 : lastKeys[slot(source)];
  }

  private int slot(Object source) {
    return (source.hashCode() * slotFactor) >>> -SOURCE_BITS;
  }

  /**
   * Opens packets.
   *
   * @param first the key that is tried first
   * @param maxKeys 1, or the number of all keys
   */
  private void open(PacketBatch batch, int minPayloadBytes, Object source, int first, int maxKeys) {
    if (isUnencrypted) {
      return;
    }
    int count = collect(batch, minOverheadBytes + minPayloadBytes);
    if (count == 0) {
      return;
    }
    batch.map();
    try {
      count = tryKeys(batch, count, minPayloadBytes, source, first, maxKeys);
    } finally {
      batch.unmap();
    }
    for (int i = 0; i < count; i++) {
      batch.refuse(pending[i]);
    }
  }

  private int tryKeys(
      PacketBatch batch, int count, int minPayloadBytes, Object source, int first, int maxKeys) {
    int last = first;
    int left = tryKey(first, batch, count, minPayloadBytes);
    for (int k = 0; k < ciphers.length && maxKeys > 1 && left > 0; k++) {
      if (k != first) {
        int before = left;
        left = tryKey(k, batch, before, minPayloadBytes);
        last = left < before ? k : last;
      }
    }
    if (source != null && last != first) {
      lastKeys[slot(source)] = (byte) last;
    }
    return left;
  }

  private int tryKey(int k, PacketBatch batch, int count, int minPayloadBytes) {
    for (int i = 0; i < count; i++) {
      batch.tried(pending[i], keys[k]);
    }
    int left = ciphers[k].open(batch, pending, count, minPayloadBytes);
    opens[k] += count - left;
    addOpens(k, OPENS_STEP);
    return left;
  }

  private void addOpens(int k, int atLeast) {
    if (opens[k] >= atLeast) {
      keys[k].addOpens(opens[k]);
      opens[k] = 0;
    }
  }

  /** Collects the packets to open, and refuses those of invalid length. */
  private int collect(PacketBatch batch, int minBytes) {
    if (pending.length < batch.size()) {
      pending = new int[Math.max(batch.size(), 2 * pending.length)];
    }
    int count = 0;
    for (int i = 0; i < batch.size(); i++) {
      if (batch.isRefused(i)) {
        continue;
      }
      int bytes = batch.end(i) - batch.start(i);
      if (bytes < minBytes || bytes > MAX_PACKET_BYTES) {
        batch.refuse(i);
      } else {
        pending[count++] = i;
      }
    }
    return count;
  }

  /** The state of one key on one thread. */
  public abstract static class KeyCipher {

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

    /** No crypto layer; protocol.md 10.1. */
    public static final class None extends KeyCipher {

      @Override
      void seal(PacketBatch batch) {}

      @Override
      int open(PacketBatch batch, int[] pending, int count, int minPayloadBytes) {
        return 0;
      }
    }
  }
}
