package io.kcp4j.crypto;

/**
 * The keys of a ring on one thread: the first seals, and each opens what the previous ones refused.
 * A hash table remembers the key that opened the last packet of each source. A collision of two
 * sources costs an attempt with the wrong key.
 */
final class RingCipher implements PacketCipher {

  /** Longer than any UDP payload. */
  static final int MAX_PACKET_BYTES = 1 << 16;

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
  private final int slotFactor = (int) HashSeed.next() | 1;

  private int[] pending = new int[16];

  RingCipher(KeyRing ring) {
    keys = ring.keys().toArray(new PacketKey[0]);
    newest = keys[0];
    opens = new int[keys.length];
    ciphers = ring.keys().stream().map(PacketKey::newCipher).toArray(KeyCipher[]::new);
    minOverheadBytes =
        ring.keys().stream().mapToInt(key -> key.headroom() + key.tailroom()).min().getAsInt();
    isUnencrypted = ciphers[0] instanceof NoCipher;
    lastKeys = ciphers.length == 1 ? null : new byte[1 << SOURCE_BITS];
  }

  @Override
  public boolean isUnencrypted() {
    return isUnencrypted;
  }

  @Override
  public int headroom() {
    return newest.headroom();
  }

  @Override
  public int tailroom() {
    return newest.tailroom();
  }

  @Override
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

  @Override
  public void open(PacketBatch batch, int minPayloadBytes, Object source) {
    open(batch, minPayloadBytes, source, lastKey(source), keys.length);
  }

  @Override
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
}
