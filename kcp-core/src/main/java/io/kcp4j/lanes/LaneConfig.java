package io.kcp4j.lanes;

import io.kcp4j.Unstable;
import java.util.Objects;

/**
 * How one side sends on a lane. Immutable. The other side need not know it, and may send on the
 * same lane in another way.
 *
 * @param kind what is guaranteed
 * @param priority {@value #HIGHEST_PRIORITY} to {@value #LOWEST_PRIORITY}, as the urgency of RFC
 *     9218: a lane sends only when no lane with a lower number can. Without effect on unreliable
 *     lanes, which send before all others
 * @param weight 1 to {@value #MAX_WEIGHT}: lanes of one priority share what can be sent in
 *     proportion to their weights
 */
public record LaneConfig(LaneKind kind, int priority, int weight) {

  /** The priority that is served first. */
  public static final int HIGHEST_PRIORITY = 0;

  /** The priority that is served last. */
  public static final int LOWEST_PRIORITY = 7;

  /** The priority that applies unless another one is set. */
  public static final int DEFAULT_PRIORITY = 3;

  /** The largest weight. */
  public static final int MAX_WEIGHT = 256;

  /** The weight that applies unless another one is set. */
  public static final int DEFAULT_WEIGHT = 16;

  /** Reliable and ordered, with the default priority and weight. */
  public static final LaneConfig DEFAULT = of(LaneKind.RELIABLE_ORDERED);

  /** Checks the ranges. */
  public LaneConfig {
    Objects.requireNonNull(kind, "kind");
    checkRange("priority", priority, HIGHEST_PRIORITY, LOWEST_PRIORITY);
    checkRange("weight", weight, 1, MAX_WEIGHT);
  }

  /** A lane of this kind with the default priority and weight. */
  public static LaneConfig of(LaneKind kind) {
    return new LaneConfig(kind, DEFAULT_PRIORITY, DEFAULT_WEIGHT);
  }

  /** The same with another priority. */
  public LaneConfig withPriority(int priority) {
    return new LaneConfig(kind, priority, weight);
  }

  /** The same with another weight. */
  public LaneConfig withWeight(int weight) {
    return new LaneConfig(kind, priority, weight);
  }

  @Unstable
  public static int checkRange(String name, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          name + ": " + value + " (expected: " + min + " to " + max + ")");
    }
    return value;
  }
}
