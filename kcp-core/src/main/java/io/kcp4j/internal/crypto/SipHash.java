package io.kcp4j.internal.crypto;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.SecureRandom;

/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of 64 bits that costs little for short
 * messages. Immutable.
 */
public final class SipHash {

  private static final SecureRandom RANDOM = new SecureRandom();

  private final long k0;
  private final long k1;

  /** Makes the hash under a key of two halves, each read as little-endian. */
  public SipHash(long k0, long k1) {
    this.k0 = k0;
    this.k1 = k1;
  }

  /**
   * A secret half of a key, or the seed of another hash function, so that peers cannot choose keys
   * that collide. Thread-safe.
   */
  public static long newSeed() {
    return RANDOM.nextLong();
  }

  /** The hash of the bytes between the position and the limit, which do not change. */
  public long of(ByteBuffer message) {
    State state = new State(k0, k1);
    ByteBuffer in = message.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    long length = in.remaining();
    while (in.remaining() >= Long.BYTES) {
      state.compress(in.getLong());
    }
    long last = length << 56;
    for (int shift = 0; in.hasRemaining(); shift += Byte.SIZE) {
      last |= (in.get() & 0xffL) << shift;
    }
    state.compress(last);
    return state.end();
  }

  private static final class State {

    private long v0;
    private long v1;
    private long v2;
    private long v3;

    State(long k0, long k1) {
      v0 = k0 ^ 0x736f6d6570736575L;
      v1 = k1 ^ 0x646f72616e646f6dL;
      v2 = k0 ^ 0x6c7967656e657261L;
      v3 = k1 ^ 0x7465646279746573L;
    }

    void compress(long word) {
      v3 ^= word;
      round();
      round();
      v0 ^= word;
    }

    long end() {
      v2 ^= 0xff;
      for (int i = 0; i < 4; i++) {
        round();
      }
      return v0 ^ v1 ^ v2 ^ v3;
    }

    private void round() {
      v0 += v1;
      v1 = Long.rotateLeft(v1, 13) ^ v0;
      v0 = Long.rotateLeft(v0, 32);
      v2 += v3;
      v3 = Long.rotateLeft(v3, 16) ^ v2;
      v0 += v3;
      v3 = Long.rotateLeft(v3, 21) ^ v0;
      v2 += v1;
      v1 = Long.rotateLeft(v1, 17) ^ v2;
      v2 = Long.rotateLeft(v2, 32);
    }
  }
}
