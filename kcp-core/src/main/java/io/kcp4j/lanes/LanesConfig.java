package io.kcp4j.lanes;

import io.kcp4j.Unstable;
import io.kcp4j.internal.lanes.Lane;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/** The settings of a session's lanes. Immutable, so that many sessions share one. */
public final class LanesConfig {

  /** The most lanes of a session: ids have 16 bits. */
  public static final int MAX_LANES = 65_535;

  /** The default of {@link #maxLanes}. */
  public static final int DEFAULT_MAX_LANES = 1024;

  /** The default of {@link #budgetBytes}: 4 MiB. */
  public static final int DEFAULT_BUDGET_BYTES = 4 << 20;

  /** The default of {@link #maxNewLanesPerSecond}. */
  public static final int DEFAULT_MAX_NEW_LANES_PER_SECOND = 1024;

  private static final int LARGEST_MAX_NEW_LANES_PER_SECOND = 1_000_000;

  /** The largest budget: 1 GiB. */
  public static final int MAX_BUDGET_BYTES = 1 << 30;

  /** The least budget for each lane, in bytes. */
  public static final int MIN_BUDGET_BYTES_PER_LANE = 512;

  /** How much a message counts beside its size, in bytes: for the memory beside its content. */
  public static final int MESSAGE_OVERHEAD_BYTES = 64;

  /** The default of {@link #unreliableQueue}. */
  public static final int DEFAULT_UNRELIABLE_QUEUE = 64;

  /** The default configuration. */
  public static final LanesConfig DEFAULT = new Builder().build();

  private final int maxLanes;
  private final int budgetBytes;
  private final int unreliableQueue;
  private final int maxNewLanesPerSecond;
  private final LaneConfig defaultLane;
  private final Map<Integer, LaneConfig> lanes;

  private LanesConfig(Builder builder) {
    maxLanes = builder.maxLanes;
    budgetBytes = builder.budgetBytes;
    unreliableQueue = builder.unreliableQueue;
    maxNewLanesPerSecond = builder.maxNewLanesPerSecond;
    defaultLane = builder.defaultLane;
    lanes = Map.copyOf(builder.lanes);
    if (!isPossible(maxLanes, budgetBytes)) {
      throw new IllegalArgumentException(
          "budgetBytes: "
              + budgetBytes
              + " (expected: >= "
              + (long) maxLanes * MIN_BUDGET_BYTES_PER_LANE
              + " with maxLanes "
              + maxLanes
              + ")");
    }
  }

  /**
   * How many lanes the peer may send on: 1 to {@value #MAX_LANES}, default {@value
   * #DEFAULT_MAX_LANES}. Their ids are below it.
   */
  public int maxLanes() {
    return maxLanes;
  }

  /**
   * How much the peer may have sent on all reliable lanes that is not read yet, in bytes, where
   * each message counts {@value #MESSAGE_OVERHEAD_BYTES} more than its size. At least {@value
   * #MIN_BUDGET_BYTES_PER_LANE} for each of {@link #maxLanes}, default 4 MiB.
   *
   * <p>Half of it belongs to the lanes in equal parts: however many lanes are not read, each of the
   * others can always send messages of up to half of its part. The other half is for lanes that
   * need more: each may take as much of it as it leaves. The largest message is an eighth of the
   * budget, which one unread lane does not block. While {@code n} other lanes use as much of that
   * half as they may, since they are not read or always have something to send, larger messages
   * than {@code budgetBytes / 4 / (n + 1)} wait for them, whatever their priority. Where many lanes
   * may stay unread, or several are always busy, and messages are large, the budget has to be
   * larger.
   */
  public int budgetBytes() {
    return budgetBytes;
  }

  /**
   * The most unreliable messages that may wait on one lane, to be sent or to be read: 1 to {@value
   * #MAX_LANES}, default {@value #DEFAULT_UNRELIABLE_QUEUE}. Beyond that the oldest is dropped.
   */
  public int unreliableQueue() {
    return unreliableQueue;
  }

  /**
   * How many lanes the peer may begin, or begin again, in a second: 1 to 1,000,000, default {@value
   * #DEFAULT_MAX_NEW_LANES_PER_SECOND}; as many at once. A lane counts unless this side uses it
   * already. Reliable messages and ends that exceed it arrive later, since the peer retransmits
   * them; unreliable messages are dropped.
   */
  public int maxNewLanesPerSecond() {
    return maxNewLanesPerSecond;
  }

  /** How this side sends on a lane, unless {@link Lane#config(LaneConfig)} changes that. */
  public LaneConfig lane(int id) {
    return lanes.isEmpty() ? defaultLane : lanes.getOrDefault(id, defaultLane);
  }

  /** A builder that starts from the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** A builder that starts from these settings. */
  public Builder toBuilder() {
    Builder builder = new Builder();
    builder.maxLanes = maxLanes;
    builder.budgetBytes = budgetBytes;
    builder.unreliableQueue = unreliableQueue;
    builder.maxNewLanesPerSecond = maxNewLanesPerSecond;
    builder.defaultLane = defaultLane;
    builder.lanes.putAll(lanes);
    return builder;
  }

  // Credit: protocol.md 15.4

  /** The part of the budget that belongs to each lane, in bytes. */
  @Unstable
  public static int laneBytes(int maxLanes, int budgetBytes) {
    return budgetBytes / 2 / maxLanes;
  }

  /** The part of the budget that the lanes share, in bytes. */
  @Unstable
  public static int poolBytes(int budgetBytes) {
    return budgetBytes / 2;
  }

  /** The largest message with this budget, in bytes. */
  @Unstable
  public static int maxMessageBytes(int budgetBytes) {
    return budgetBytes / 8 - MESSAGE_OVERHEAD_BYTES;
  }

  /** Whether a peer may have these limits. */
  @Unstable
  public static boolean isPossible(int maxLanes, int budgetBytes) {
    return maxLanes > 0
        && maxLanes <= MAX_LANES
        && budgetBytes <= MAX_BUDGET_BYTES
        && budgetBytes / maxLanes >= MIN_BUDGET_BYTES_PER_LANE;
  }

  /**
   * Collects settings. Every setter checks its range and throws {@link IllegalArgumentException}
   * with the value and the limits.
   */
  public static final class Builder {

    private int maxLanes = DEFAULT_MAX_LANES;
    private int budgetBytes = DEFAULT_BUDGET_BYTES;
    private int unreliableQueue = DEFAULT_UNRELIABLE_QUEUE;
    private int maxNewLanesPerSecond = DEFAULT_MAX_NEW_LANES_PER_SECOND;
    private LaneConfig defaultLane = LaneConfig.DEFAULT;
    private final Map<Integer, LaneConfig> lanes = new HashMap<>();

    private Builder() {}

    /** See {@link LanesConfig#maxLanes()}. */
    public Builder maxLanes(int lanes) {
      maxLanes = LaneConfig.checkRange("maxLanes", lanes, 1, MAX_LANES);
      return this;
    }

    /** See {@link LanesConfig#budgetBytes()}. */
    public Builder budgetBytes(int bytes) {
      budgetBytes =
          LaneConfig.checkRange("budgetBytes", bytes, MIN_BUDGET_BYTES_PER_LANE, MAX_BUDGET_BYTES);
      return this;
    }

    /** See {@link LanesConfig#unreliableQueue()}. */
    public Builder unreliableQueue(int messages) {
      unreliableQueue = LaneConfig.checkRange("unreliableQueue", messages, 1, MAX_LANES);
      return this;
    }

    /** See {@link LanesConfig#maxNewLanesPerSecond()}. */
    public Builder maxNewLanesPerSecond(int lanes) {
      maxNewLanesPerSecond =
          LaneConfig.checkRange("maxNewLanesPerSecond", lanes, 1, LARGEST_MAX_NEW_LANES_PER_SECOND);
      return this;
    }

    /** How this side sends on a lane that has no settings of its own. */
    public Builder defaultLane(LaneConfig lane) {
      defaultLane = Objects.requireNonNull(lane, "lane");
      return this;
    }

    /** How this side sends on the lane {@code id}, 0 to {@value #MAX_LANES} - 1. */
    public Builder lane(int id, LaneConfig lane) {
      LaneConfig.checkRange("id", id, 0, MAX_LANES - 1);
      lanes.put(id, Objects.requireNonNull(lane, "lane"));
      return this;
    }

    /**
     * Makes the configuration.
     *
     * @throws IllegalArgumentException if the budget is too small for so many lanes
     */
    public LanesConfig build() {
      return new LanesConfig(this);
    }
  }
}
