package io.kcp4j.internal.crypto;

import java.security.SecureRandom;
import java.util.zip.CRC32;

/**
 * Packets of a stream cipher or of a block cipher in CFB mode: a nonce, the CRC-32 of the payload
 * and the payload, all encrypted; protocol.md 10.3. It works on heap copies of a group of packets
 * at a time, and writes back what has succeeded.
 */
public final class ChecksumCipher extends PacketCipher.KeyCipher {

  private static final int CRC_INDEX = 16;
  private static final int HEADROOM = CRC_INDEX + Integer.BYTES;

  private final StreamCipher cipher;
  private final NonceSource nonces = new NonceSource(new SecureRandom());
  private final CRC32 crc = new CRC32();
  private final PacketGroup group = new PacketGroup();

  public ChecksumCipher(StreamCipher cipher) {
    this.cipher = cipher;
  }

  @Override
  void seal(PacketBatch batch) {
    nonces.expire();
    for (int i = 0; i < batch.size(); ) {
      int first = i;
      group.clear();
      while (i < batch.size() && !group.isFull()) {
        copyForSealing(batch, i++);
      }
      cipher.encrypt(group);
      for (int k = first; k < i; k++) {
        batch.write(batch.start(k), group.data(), group.start(k - first), group.length(k - first));
      }
    }
  }

  private void copyForSealing(PacketBatch batch, int i) {
    int bytes = batch.end(i) - batch.start(i);
    int at = group.start(group.add(bytes));
    byte[] data = group.data();
    batch.read(batch.start(i) + HEADROOM, data, at + HEADROOM, bytes - HEADROOM);
    nonces.next(data, at, CRC_INDEX);
    PacketGroup.INT.set(data, at + CRC_INDEX, checksum(data, at, bytes));
  }

  @Override
  int open(PacketBatch batch, int[] pending, int count, int minPayloadBytes) {
    int longEnough = moveLongEnoughToFront(batch, pending, count, HEADROOM + minPayloadBytes);
    int refused = 0;
    for (int i = 0; i < longEnough; ) {
      int first = i;
      group.clear();
      while (i < longEnough && !group.isFull()) {
        copyForOpening(batch, pending[i++]);
      }
      cipher.decrypt(group);
      for (int k = first; k < i; k++) {
        if (!writeBackIfValid(batch, pending[k], k - first)) {
          pending[refused++] = pending[k];
        }
      }
    }
    System.arraycopy(pending, longEnough, pending, refused, count - longEnough);
    return refused + count - longEnough;
  }

  /** Moves the packets of at least {@code minBytes} to the front, and returns their number. */
  private static int moveLongEnoughToFront(
      PacketBatch batch, int[] pending, int count, int minBytes) {
    int longEnough = 0;
    for (int k = 0; k < count; k++) {
      int i = pending[k];
      if (batch.end(i) - batch.start(i) >= minBytes) {
        pending[k] = pending[longEnough];
        pending[longEnough++] = i;
      }
    }
    return longEnough;
  }

  private void copyForOpening(PacketBatch batch, int i) {
    int bytes = batch.end(i) - batch.start(i);
    int at = group.start(group.add(bytes));
    batch.read(batch.start(i), group.data(), at, bytes);
  }

  private boolean writeBackIfValid(PacketBatch batch, int i, int k) {
    int bytes = batch.end(i) - batch.start(i);
    int at = group.start(k);
    byte[] data = group.data();
    if ((int) PacketGroup.INT.get(data, at + CRC_INDEX) != checksum(data, at, bytes)) {
      return false;
    }
    batch.write(batch.start(i) + HEADROOM, data, at + HEADROOM, bytes - HEADROOM);
    batch.narrow(i, HEADROOM, 0);
    return true;
  }

  private int checksum(byte[] data, int at, int bytes) {
    crc.reset();
    crc.update(data, at + HEADROOM, bytes - HEADROOM);
    return (int) crc.getValue();
  }
}
