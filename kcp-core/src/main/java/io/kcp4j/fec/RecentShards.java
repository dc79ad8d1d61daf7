package io.kcp4j.fec;

import io.netty.buffer.ByteBuf;

/**
 * The newest packets of a peer whose ratio is not known yet, so that losses among them can be
 * recovered once it is. It keeps no packets after {@link #MAX_PACKETS} without a ratio.
 */
final class RecentShards {

  /** The largest group that is detected by default. A power of 2. */
  private static final int CAPACITY = 64;

  private static final int MAX_PACKETS = 512;

  private static final int ENTRY_BYTES =
      ShardGroups.REFERENCE_BYTES + Character.BYTES + Integer.BYTES + 1;

  /** The arrays, with their headers, and the object. */
  static final int BYTES = CAPACITY * ENTRY_BYTES + 104;

  private final FecContext context;
  private final byte[][] shards = new byte[CAPACITY][];
  private final char[] lengths = new char[CAPACITY];
  private final int[] seqids = new int[CAPACITY];
  private final boolean[] isData = new boolean[CAPACITY];
  private int packets;
  private int heldBytes;

  /** Without packets, and charged until {@link #close}; null if there is no memory. */
  static RecentShards create(FecContext context) {
    return context.make(BYTES, () -> new RecentShards(context));
  }

  private RecentShards(FecContext context) {
    this.context = context;
  }

  /** The memory of the packets, in bytes. */
  int heldBytes() {
    return heldBytes;
  }

  FecResult add(long seqid, boolean isData, ByteBuf packet, int index, int bytes) {
    if (packets == MAX_PACKETS) {
      release();
      return FecResult.NOT_KEPT;
    }
    packets++;
    int i = (int) seqid & (CAPACITY - 1);
    if (shards[i] != null && seqids[i] == (int) seqid) {
      return FecResult.DUPLICATE;
    }
    drop(i);
    if (heldBytes + ShardPool.sizeFor(bytes) > ShardGroups.MAX_HELD_BYTES) {
      return FecResult.NOT_KEPT;
    }
    byte[] copy = context.acquire(bytes);
    if (copy == null) {
      return FecResult.NOT_KEPT;
    }
    FecPacket.read(packet, index, copy, bytes);
    shards[i] = copy;
    lengths[i] = (char) bytes;
    seqids[i] = (int) seqid;
    this.isData[i] = isData;
    heldBytes += copy.length;
    return FecResult.KEPT;
  }

  /** Moves the packets near {@code seqid} that fit the ratio to the groups, in order. */
  void moveTo(ShardGroups groups, PeerRatio ratio, long seqid) {
    for (long near = Math.max(0, seqid - CAPACITY + 1); near < seqid + CAPACITY; near++) {
      int i = (int) near & (CAPACITY - 1);
      if (shards[i] != null && seqids[i] == (int) near && ratio.fits(near, isData[i])) {
        byte[] shard = shards[i];
        shards[i] = null;
        heldBytes -= shard.length;
        groups.add(ratio.group(), ratio.place(), shard, lengths[i]);
      }
    }
  }

  private void drop(int i) {
    if (shards[i] != null) {
      heldBytes -= shards[i].length;
      context.release(shards[i]);
      shards[i] = null;
    }
  }

  /** Releases everything. */
  void close() {
    release();
    context.release(BYTES);
  }

  private void release() {
    for (int i = 0; heldBytes > 0 && i < CAPACITY; i++) {
      drop(i);
    }
  }
}
