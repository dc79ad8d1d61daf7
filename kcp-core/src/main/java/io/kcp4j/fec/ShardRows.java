package io.kcp4j.fec;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;

/**
 * The rows of longs that all codes of a thread compute with, and the array through which bytes are
 * copied in and out. Their content belongs to the last owner that claimed them.
 */
final class ShardRows {

  /** For the longest packet that kcp-go accepts, 1500 bytes, so that rows rarely have to grow. */
  private static final int MIN_LONGS = ReedSolomon.rowLongs(1500);

  private final long[][] rows = new long[FecConfig.MAX_SHARDS][];
  private byte[] staging = {};
  private LongBuffer stagingLongs;
  private Object owner;

  /** Makes {@code owner} the owner: the content of the rows is lost. */
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

  /** A view of the staging array as longs. */
  LongBuffer stagingLongs() {
    return stagingLongs;
  }
}
