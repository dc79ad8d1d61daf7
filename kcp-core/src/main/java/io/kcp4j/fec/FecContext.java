package io.kcp4j.fec;

import io.kcp4j.MemoryAccount;
import io.kcp4j.Unstable;
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
@Unstable
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

  /** An array for a shard of {@code bytes}, or null if the budget, or the heap, has no room. */
  byte[] acquire(int bytes) {
    int size = ShardPool.sizeFor(bytes);
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
}
