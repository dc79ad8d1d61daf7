package io.kcp4j.fec;

import io.kcp4j.MemoryBudget;
import io.kcp4j.Unstable;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The resources that the encoders and decoders of one thread share: arrays for packets, codes by
 * ratio, and the rows of the computation. They are heap arrays and need no closing.
 *
 * <p>Endpoints on one thread with different memory budgets share resources by {@link #withBudget}.
 */
@Unstable
public final class FecContext {

  /** Limits the codecs that peers can cause by changing their ratio; beyond it all are dropped. */
  private static final int MAX_CODECS = 64;

  private final MemoryBudget budget;
  private final ShardPool pool;
  private final ShardRows rows;
  private final Map<Integer, ShardCodec> codecs;

  /**
   * Makes a context.
   *
   * @param budget charged for held packets, which use at most half of it
   */
  public FecContext(MemoryBudget budget) {
    this(budget, new ShardPool(), new ShardRows(), new HashMap<>());
  }

  private FecContext(
      MemoryBudget budget, ShardPool pool, ShardRows rows, Map<Integer, ShardCodec> codecs) {
    this.budget = Objects.requireNonNull(budget, "budget");
    this.pool = pool;
    this.rows = rows;
    this.codecs = codecs;
  }

  /** A context for the same thread that charges another budget. */
  public FecContext withBudget(MemoryBudget budget) {
    return new FecContext(budget, pool, rows, codecs);
  }

  /** An array for a shard of {@code bytes}, or null if the budget does not allow it. */
  byte[] acquire(int bytes) {
    int size = ShardPool.sizeFor(bytes);
    return budget.tryReserveSpare(size) ? pool.acquire(size) : null;
  }

  /** Releases an array of {@link #acquire}. */
  void release(byte[] shard) {
    budget.release(shard.length);
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
