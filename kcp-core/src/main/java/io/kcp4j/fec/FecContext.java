package io.kcp4j.fec;

import io.kcp4j.MemoryBudget;
import java.util.Objects;

/**
 * What encoders and decoders on one thread share: memory for packets, codecs, room to compute in.
 * It holds plain arrays only, so that there is nothing to close.
 */
public final class FecContext {

  private final MemoryBudget budget;

  /**
   * Makes a context.
   *
   * @param budget where kept packets are charged
   */
  public FecContext(MemoryBudget budget) {
    this.budget = Objects.requireNonNull(budget, "budget");
  }

  /** A context that charges another budget and shares everything else with this one. */
  public FecContext withBudget(MemoryBudget budget) {
    return new FecContext(budget);
  }

  MemoryBudget budget() {
    return budget;
  }
}
