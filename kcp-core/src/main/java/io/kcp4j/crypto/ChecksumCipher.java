package io.kcp4j.crypto;

import java.security.SecureRandom;
import java.util.zip.CRC32;

/**
 * Packets of a stream cipher or of a block cipher in CFB mode: a nonce, the CRC-32 of the payload
 * and the payload, all encrypted: protocol.md 10.3. It works on copies on the heap, a group of
 * packets at a time, and writes back what has succeeded.
 */
final class ChecksumCipher extends KeyCipher {

  private static final int CRC_INDEX = 16;
  private static final int HEADROOM = CRC_INDEX + Integer.BYTES;

  private final StreamCipher cipher;
  private final NonceSource nonces = new NonceSource(new SecureRandom());
  private final CRC32 crc = new CRC32();
  private final PacketGroup group = new PacketGroup();

  ChecksumCipher(StreamCipher cipher) {
    this.cipher = cipher;
  }

  @Override
  void seal(PacketBurst burst) {
    nonces.expire();
    for (int i = 0; i < burst.size(); ) {
      int first = i;
      group.clear();
      while (i < burst.size() && !group.isFull()) {
        takeForSealing(burst, i++);
      }
      cipher.encrypt(group);
      for (int k = first; k < i; k++) {
        burst.write(burst.start(k), group.data(), group.start(k - first), group.length(k - first));
      }
    }
  }

  private void takeForSealing(PacketBurst burst, int i) {
    int bytes = burst.end(i) - burst.start(i);
    int at = group.start(group.add(bytes));
    byte[] data = group.data();
    burst.read(burst.start(i) + HEADROOM, data, at + HEADROOM, bytes - HEADROOM);
    nonces.next(data, at, CRC_INDEX);
    Words.INT.set(data, at + CRC_INDEX, checksum(data, at, bytes));
  }

  @Override
  int open(PacketBurst burst, int[] pending, int count, int minPayloadBytes) {
    int fitting = moveToFront(burst, pending, count, HEADROOM + minPayloadBytes);
    int refused = 0;
    for (int i = 0; i < fitting; ) {
      int first = i;
      group.clear();
      while (i < fitting && !group.isFull()) {
        takeForOpening(burst, pending[i++]);
      }
      cipher.decrypt(group);
      for (int k = first; k < i; k++) {
        if (!giveBackOpened(burst, pending[k], k - first)) {
          pending[refused++] = pending[k];
        }
      }
    }
    System.arraycopy(pending, fitting, pending, refused, count - fitting);
    return refused + count - fitting;
  }

  /** Sorts the packets that have at least so many bytes before the others, and counts them. */
  private static int moveToFront(PacketBurst burst, int[] pending, int count, int minBytes) {
    int fitting = 0;
    for (int k = 0; k < count; k++) {
      int i = pending[k];
      if (burst.end(i) - burst.start(i) >= minBytes) {
        pending[k] = pending[fitting];
        pending[fitting++] = i;
      }
    }
    return fitting;
  }

  private void takeForOpening(PacketBurst burst, int i) {
    int bytes = burst.end(i) - burst.start(i);
    int at = group.start(group.add(bytes));
    burst.read(burst.start(i), group.data(), at, bytes);
  }

  private boolean giveBackOpened(PacketBurst burst, int i, int k) {
    int bytes = burst.end(i) - burst.start(i);
    int at = group.start(k);
    byte[] data = group.data();
    if ((int) Words.INT.get(data, at + CRC_INDEX) != checksum(data, at, bytes)) {
      return false;
    }
    burst.write(burst.start(i) + HEADROOM, data, at + HEADROOM, bytes - HEADROOM);
    burst.narrow(i, HEADROOM, 0);
    return true;
  }

  private int checksum(byte[] data, int at, int bytes) {
    crc.reset();
    crc.update(data, at + HEADROOM, bytes - HEADROOM);
    return (int) crc.getValue();
  }
}
