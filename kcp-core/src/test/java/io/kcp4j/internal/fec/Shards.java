package io.kcp4j.internal.fec;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;

/** Shards as bytes, and as the longs that the codec takes. */
final class Shards {

  private Shards() {}

  static int longs(int bytes) {
    return (bytes + Long.BYTES - 1) / Long.BYTES;
  }

  static byte[][] random(int count, int bytes, Random random) {
    byte[][] shards = new byte[count][bytes];
    for (byte[] shard : shards) {
      random.nextBytes(shard);
    }
    return shards;
  }

  static long[][] toLongs(byte[][] shards) {
    long[][] rows = new long[shards.length][];
    for (int i = 0; i < shards.length; i++) {
      byte[] padded = new byte[longs(shards[i].length) * Long.BYTES];
      System.arraycopy(shards[i], 0, padded, 0, shards[i].length);
      rows[i] = new long[padded.length / Long.BYTES];
      ByteBuffer.wrap(padded).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(rows[i]);
    }
    return rows;
  }

  static byte[][] toBytes(long[][] rows, int bytes) {
    byte[][] shards = new byte[rows.length][bytes];
    for (int i = 0; i < rows.length; i++) {
      ByteBuffer row =
          ByteBuffer.allocate(rows[i].length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
      row.asLongBuffer().put(rows[i]);
      row.get(shards[i]);
    }
    return shards;
  }
}
