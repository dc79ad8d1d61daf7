package io.kcp4j.examples;

import java.io.InputStream;
import java.util.Objects;
import java.util.SplittableRandom;

/** A given number of random bytes, the same for the same seed. */
final class GeneratedBytes extends InputStream {

  private final SplittableRandom random;
  private long remaining;

  GeneratedBytes(long bytes, long seed) {
    random = new SplittableRandom(seed);
    remaining = bytes;
  }

  @Override
  public int read() {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] target, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, target.length);
    if (remaining == 0) {
      return -1;
    }
    int n = (int) Math.min(length, remaining);
    for (int i = 0; i < n; ) {
      long bits = random.nextLong();
      for (int end = Math.min(i + Long.BYTES, n); i < end; i++, bits >>>= Byte.SIZE) {
        target[offset + i] = (byte) bits;
      }
    }
    remaining -= n;
    return n;
  }
}
