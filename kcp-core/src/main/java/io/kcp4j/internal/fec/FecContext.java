package io.kcp4j.internal.fec;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.memory.MemoryAccount;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * The resources that the encoders and decoders of one thread share: arrays for packets, codes by
 * ratio, and the rows of the computation. They are heap arrays and need no closing.
 *
 * <p>Endpoints on one thread with different memory budgets share resources by {@link #withMemory}.
 */
public final class FecContext {

  /** Limits the codecs that peers can cause by changing their ratio; beyond it all are dropped. */
  private static final int MAX_CODECS = 64;

  private final MemoryAccount account;
  private final ShardPool pool;
  private final ShardRows rows;
  private final Map<Integer, ShardCodec> codecs;

  /**
   * Makes a context.
   *
   * @param account charged for held packets and for what finds them, which use at most half of its
   *     budget
   */
  public FecContext(MemoryAccount account) {
    this(account, new ShardPool(), new ShardRows(), new HashMap<>());
  }

  private FecContext(
      MemoryAccount account, ShardPool pool, ShardRows rows, Map<Integer, ShardCodec> codecs) {
    this.account = Objects.requireNonNull(account, "account");
    this.pool = pool;
    this.rows = rows;
    this.codecs = codecs;
  }

  /** A context for the same thread that charges another account. */
  public FecContext withMemory(MemoryAccount account) {
    return new FecContext(account, pool, rows, codecs);
  }

  /**
   * Makes a part of a decoder that has to be charged.
   *
   * @param bytes its memory, to be {@linkplain #release(int) released} with it
   * @return null if the budget, or the heap, has no room
   */
  public <T> T make(int bytes, Supplier<T> part) {
    if (!account.tryReserveSpare(bytes)) {
      return null;
    }
    try {
      return part.get();
    } catch (OutOfMemoryError e) {
      account.release(bytes);
      return null;
    }
  }

  /** Releases the memory of such a part. */
  public void release(int bytes) {
    account.release(bytes);
  }

  /** The length of the array that {@link #acquire} provides for a shard of {@code bytes}. */
  static int sizeFor(int bytes) {
    for (int size : ShardPool.SIZES) {
      if (bytes <= size) {
        return size;
      }
    }
    return bytes;
  }

  /** An array for a shard of {@code bytes}, or null if the budget, or the heap, has no room. */
  byte[] acquire(int bytes) {
    int size = sizeFor(bytes);
    if (!account.tryReserveSpare(size)) {
      return null;
    }
    try {
      return pool.acquire(size);
    } catch (OutOfMemoryError e) {
      account.release(size);
      return null;
    }
  }

  /** Releases an array of {@link #acquire}. */
  void release(byte[] shard) {
    account.release(shard.length);
    pool.release(shard);
  }

  /** The code of a ratio. */
  ShardCodec codec(int dataShards, int parityShards) {
    int key = dataShards << 8 | parityShards;
    ShardCodec codec = codecs.get(key);
    if (codec == null) {
      if (codecs.size() == MAX_CODECS) {
        codecs.clear();
      }
      codec = new ShardCodec(dataShards, parityShards, rows);
      codecs.put(key, codec);
    }
    return codec;
  }

  /** A temporary array, valid until a codec of this thread is used. */
  byte[] staging(int bytes) {
    return rows.staging(bytes);
  }

  /**
   * A pool of byte arrays for shards, in a few sizes, so that a short shard takes a small array.
   */
  private static final class ShardPool {

    /** The largest fits any packet of 1500 bytes. */
    private static final int[] SIZES = {128, 256, 512, 1024, 1536};

    /**
     * As many of one size as a dozen busy sessions need at a time; the garbage collector takes
     * more.
     */
    private static final int MAX_FREE = 128;

    private final ArrayDeque<byte[]>[] free = newQueues();

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static ArrayDeque<byte[]>[] newQueues() {
      ArrayDeque<byte[]>[] queues = new ArrayDeque[SIZES.length];
      for (int i = 0; i < queues.length; i++) {
        queues[i] = new ArrayDeque<>();
      }
      return queues;
    }

    /** An array of a size that {@link #sizeFor} has returned, with arbitrary content. */
    byte[] acquire(int size) {
      ArrayDeque<byte[]> queue = queue(size);
      byte[] array = queue == null ? null : queue.pollLast();
      return array == null ? new byte[size] : array;
    }

    /** Returns an array to the pool. */
    void release(byte[] array) {
      ArrayDeque<byte[]> queue = queue(array.length);
      if (queue != null && queue.size() < MAX_FREE) {
        queue.addLast(array);
      }
    }

    private ArrayDeque<byte[]> queue(int size) {
      for (int i = 0; i < SIZES.length; i++) {
        if (size == SIZES[i]) {
          return free[i];
        }
      }
      return null;
    }
  }

  /**
   * The rows of longs that all codes of a thread compute with, and the array through which bytes
   * are copied in and out. Their content belongs to the last owner that claimed them.
   */
  static final class ShardRows {

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
}
