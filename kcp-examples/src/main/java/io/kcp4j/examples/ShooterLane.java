package io.kcp4j.examples;

import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;

/** What the server of a shooter sends to a player, each on a lane of its own. */
enum ShooterLane {
  /** Where everybody is. Only the newest is of use. */
  SNAPSHOTS(0, "snapshots", LaneKind.UNRELIABLE_SEQUENCED, 3, 400, 1, 1),

  /** Who has done what: in order. */
  EVENTS(1, "events", LaneKind.RELIABLE_ORDERED, 1, 40, 2, 1),

  /** Numbers that appear where somebody was hit, each for itself. */
  DAMAGE(2, "damage numbers", LaneKind.RELIABLE_UNORDERED, 2, 16, 4, 1),

  /** Two lines a second. */
  CHAT(3, "chat", LaneKind.RELIABLE_ORDERED, 4, 80, 1, 30),

  /** The next level, beside everything else. */
  LEVEL(4, "level download", LaneKind.RELIABLE_ORDERED, 7, 16 * 1024, 0, 1);

  private final int id;
  private final String title;
  private final LaneKind kind;
  private final int priority;
  private final int messageBytes;
  private final int messages;
  private final int periodTicks;

  ShooterLane(
      int id,
      String title,
      LaneKind kind,
      int priority,
      int messageBytes,
      int messages,
      int periodTicks) {
    this.id = id;
    this.title = title;
    this.kind = kind;
    this.priority = priority;
    this.messageBytes = messageBytes;
    this.messages = messages;
    this.periodTicks = periodTicks;
  }

  /** The settings of all lanes. */
  static LanesConfig settings() {
    LanesConfig.Builder lanes = LanesConfig.builder().maxLanes(values().length);
    for (ShooterLane lane : values()) {
      lanes.lane(lane.id(), LaneConfig.of(lane.kind).withPriority(lane.priority));
    }
    return lanes.build();
  }

  static ShooterLane of(int id) {
    for (ShooterLane lane : values()) {
      if (lane.id == id) {
        return lane;
      }
    }
    throw new IllegalArgumentException("lane: " + id);
  }

  int id() {
    return id;
  }

  LaneKind kind() {
    return kind;
  }

  /** What the table calls it. */
  String title() {
    return title;
  }

  /** The size of each message; that of the last one of a level may be less. */
  int messageBytes() {
    return messageBytes;
  }

  /** How many messages leave in a tick; those of a level leave as fast as they can. */
  int messagesIn(int tick) {
    return tick % periodTicks == 0 ? messages : 0;
  }

  /** How many messages leave in the first so many ticks. */
  int messagesBefore(int tick) {
    return messages * ((tick + periodTicks - 1) / periodTicks);
  }
}
