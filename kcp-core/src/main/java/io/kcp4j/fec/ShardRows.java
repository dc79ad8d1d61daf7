package io.kcp4j.fec;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;

/**
 * The rows of longs in which all codes of a thread compute, and the array through which their bytes
 * go in and out. What stands in them belongs to whoever claimed them last.
 */
final class ShardRows {

  /** For the longest packet that kcp-go takes, 1500 bytes, so that rows seldom have to grow. */
  private static final int MIN_LONGS = ReedSolomon.rowLongs(1500);

  private final long[][] rows = new long[FecConfig.MAX_SHARDS][];
  private byte[] staging = {};
  private LongBuffer stagingLongs;
  private Object owner;

  /** Takes possession: what others have left in the rows is lost. */
  void claim(Object owner) {
    this.owner = owner;
  }

  boolean isClaimedBy(Object owner) {
    return this.owner == owner;
  }

  /** One row of at least {@code longs}. */
  long[] row(int i, int longs) {
    long[] row = rows[i];
    if (row == null || row.length < longs) {
      row = new long[ReedSolomon.rowLongs(Math.max(longs, MIN_LONGS) * Long.BYTES)];
      rows[i] = row;
    }
    return row;
  }

  /** An array of at least {@code bytes}. */
  byte[] staging(int bytes) {
    if (staging.length < bytes) {
      staging = new byte[Math.max(MIN_LONGS * Long.BYTES, (bytes + 7) & ~7)];
      stagingLongs = ByteBuffer.wrap(staging).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer();
    }
    return staging;
  }

  /** The staging array as longs. */
  LongBuffer stagingLongs() {
    return stagingLongs;
  }
}
