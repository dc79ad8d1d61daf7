package io.kcp4j.crypto;

/** The keys of a ring on one thread: the first seals, and what one refuses the next may open. */
final class RingCipher implements PacketCipher {

  /** More than any UDP payload. */
  static final int MAX_PACKET_BYTES = 1 << 16;

  private final PacketKey newest;
  private final KeyCipher[] ciphers;
  private final boolean isPlain;
  private int[] pending = new int[16];

  RingCipher(KeyRing ring) {
    newest = ring.keys().get(0);
    ciphers = ring.keys().stream().map(PacketKey::newCipher).toArray(KeyCipher[]::new);
    isPlain = ciphers[0] instanceof NoCipher;
  }

  @Override
  public boolean isPlain() {
    return isPlain;
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
  public void seal(PacketBurst burst) {
    if (burst.size() == 0) {
      return;
    }
    int minBytes = newest.headroom() + newest.tailroom();
    for (int i = 0; i < burst.size(); i++) {
      int bytes = burst.end(i) - burst.start(i);
      if (bytes < minBytes || bytes > MAX_PACKET_BYTES) {
        throw new IllegalArgumentException(
            "packet: " + bytes + " bytes (expected: " + minBytes + " to " + MAX_PACKET_BYTES + ")");
      }
    }
    if (!isPlain) {
      burst.map();
      ciphers[0].seal(burst);
      burst.unmap();
      newest.addSeals(burst.size());
    }
  }

  @Override
  public void open(PacketBurst burst) {
    if (isPlain) {
      return;
    }
    int count = collect(burst);
    if (count == 0) {
      return;
    }
    burst.map();
    for (int k = 0; k < ciphers.length && count > 0; k++) {
      count = ciphers[k].open(burst, pending, count);
    }
    burst.unmap();
    for (int i = 0; i < count; i++) {
      burst.refuse(pending[i]);
    }
  }

  /** Lists the packets that are to be opened. */
  private int collect(PacketBurst burst) {
    if (pending.length < burst.size()) {
      pending = new int[Math.max(burst.size(), 2 * pending.length)];
    }
    int count = 0;
    for (int i = 0; i < burst.size(); i++) {
      if (burst.isRefused(i)) {
        continue;
      }
      if (burst.end(i) - burst.start(i) > MAX_PACKET_BYTES) {
        burst.refuse(i);
      } else {
        pending[count++] = i;
      }
    }
    return count;
  }
}
