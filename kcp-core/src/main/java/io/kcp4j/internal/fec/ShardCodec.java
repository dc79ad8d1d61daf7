package io.kcp4j.internal.fec;

import java.nio.LongBuffer;
import java.util.Arrays;

/**
 * A {@link ReedSolomon} code over shards of different lengths: each is padded with zeros to the
 * longest of its group. Shards are loaded into rows, processed, and stored from there.
 *
 * <p>Bytes are copied to rows of longs and back in bulk, through one array with a view as longs: a
 * loop of single accesses takes twice as long on JDK 17, and a view of each array would be an
 * allocation.
 */
final class ShardCodec {

  private final ReedSolomon code;
  private final FecContext.ShardRows rows;
  private final long[][] all;
  private final long[][] data;
  private final long[][] parity;
  private final boolean[] present;
  private final boolean[] wanted;
  private int shardBytes;
  private int longs;

  ShardCodec(int dataShards, int parityShards, FecContext.ShardRows rows) {
    code = ReedSolomon.of(dataShards, parityShards);
    this.rows = rows;
    all = new long[dataShards + parityShards][];
    data = new long[dataShards][];
    parity = new long[parityShards][];
    present = new boolean[all.length];
    wanted = new boolean[dataShards];
  }

  /**
   * Begins with a group.
   *
   * @param owner the user of the codec; see {@link #isOwnedBy}
   * @param shardBytes the length of its longest shard
   */
  void begin(Object owner, int shardBytes) {
    rows.claim(owner);
    this.shardBytes = shardBytes;
    longs = (shardBytes + 7) >>> 3;
    for (int i = 0; i < all.length; i++) {
      all[i] = rows.row(i, longs);
    }
    System.arraycopy(all, 0, data, 0, data.length);
    System.arraycopy(all, data.length, parity, 0, parity.length);
    Arrays.fill(present, false);
    Arrays.fill(wanted, false);
  }

  /** Whether no other group has been begun since {@code owner} began one. */
  boolean isOwnedBy(Object owner) {
    return rows.isClaimedBy(owner);
  }

  /** The length of every shard of the group, in bytes. */
  int shardBytes() {
    return shardBytes;
  }

  /**
   * Loads a shard.
   *
   * @param shard the array of the shard, from index 0 on; may be the staging array
   */
  void load(int place, byte[] shard, int bytes) {
    byte[] staging = rows.staging(bytes);
    if (shard != staging) {
      System.arraycopy(shard, 0, staging, 0, bytes);
    }
    LongBuffer from = rows.stagingLongs();
    long[] row = all[place];
    int filled = bytes >>> 3;
    from.get(0, row, 0, filled);
    int rest = bytes & 7;
    if (rest != 0) {
      row[filled] = from.get(filled) & ((1L << (rest << 3)) - 1);
      filled++;
    }
    Arrays.fill(row, filled, longs, 0);
    present[place] = true;
  }

  /** Whether a shard has been loaded. */
  boolean isPresent(int place) {
    return present[place];
  }

  /** Marks a shard that has not been loaded as wanted. */
  void want(int place) {
    wanted[place] = true;
  }

  /** Whether a shard is wanted. */
  boolean isWanted(int place) {
    return wanted[place];
  }

  /** Computes the parity shards from the data shards, all of which have been loaded. */
  void encode() {
    code.encode(data, parity, longs);
  }

  /** Computes the missing data shards from as many loaded shards of either type. */
  boolean reconstruct() {
    return code.reconstructData(all, present, longs);
  }

  /** The first two bytes of a shard, which are the size of a data shard. */
  int size(int place) {
    return (int) (all[place][0] & 0xffff);
  }

  /** The bytes of a shard, from index 0 on, in an array that is valid until the next call. */
  byte[] bytes(int place) {
    byte[] staging = rows.staging(longs << 3);
    rows.stagingLongs().put(0, all[place], 0, longs);
    return staging;
  }
}
