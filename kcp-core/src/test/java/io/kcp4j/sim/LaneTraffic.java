package io.kcp4j.sim;

import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What one side of a session sends on its lanes and reads from them, at random: it ends lanes,
 * aborts them, discards what arrives, and leaves some unread for seconds. Checks that each message
 * arrives once, unaltered and in the order of its lane, unless the lane is unreliable; and that
 * none is missing in the end that was not dropped.
 */
final class LaneTraffic {

  private static final int LANES = 12;

  /** The number of a message; the rest of it follows from that. */
  private static final int MIN_BYTES = 4;

  /** With more waiting, nothing is written. */
  private static final int MAX_QUEUED_BYTES = 64 * 1024;

  private static final int MAX_UNREAD_MS = 10_000;

  private final Lanes lanes;
  private final ByteBufAllocator allocator;
  private final SplittableRandom random;
  private final Direction[] sent = new Direction[LANES];
  private final List<Lane> unread = new ArrayList<>();

  /** Until when each lane is not read. */
  private final long[] readsAtUs = new long[LANES];

  private LaneTraffic peer;
  private long bytesQueued;
  private long bytesWritten;
  private long bytesRead;

  /** What has been sent on one lane. */
  private static final class Direction {
    final LaneKind kind;
    final BitSet dropped = new BitSet();
    final BitSet delivered = new BitSet();
    int messages;
    int newest = -1;
    boolean isDiscarded;

    Direction(LaneKind kind) {
      this.kind = kind;
    }
  }

  /**
   * Makes the traffic of a side.
   *
   * @param hasUnreliable whether some of the lanes are unreliable
   */
  LaneTraffic(
      Lanes lanes,
      ByteBufAllocator allocator,
      SplittableRandom random,
      boolean hasUnreliable,
      long nowUs) {
    this.lanes = lanes;
    this.allocator = allocator;
    this.random = random;
    LaneKind[] kinds = LaneKind.values();
    for (int id = 0; id < LANES; id++) {
      LaneKind kind = kinds[random.nextInt(hasUnreliable ? kinds.length : 2)];
      sent[id] = new Direction(kind);
      int priority = random.nextInt(LaneConfig.LOWEST_PRIORITY + 1);
      int weight = 1 + random.nextInt(LaneConfig.MAX_WEIGHT);
      lanes.lane(id).config(new LaneConfig(kind, priority, weight));
      if (random.nextInt(4) == 0) {
        readsAtUs[id] = nowUs + random.nextInt(MAX_UNREAD_MS) * VirtualTime.US_PER_MS;
      }
    }
  }

  /** Draws the settings of a side. */
  static LanesConfig drawConfig(SplittableRandom random) {
    int least = LANES * LanesConfig.MIN_BUDGET_BYTES_PER_LANE;
    return LanesConfig.builder()
        .maxLanes(LANES)
        .budgetBytes((int) LinkProfile.logUniform(random, least, 1 << 20))
        .unreliableQueue(1 + random.nextInt(20))
        .build();
  }

  void connect(LaneTraffic peer) {
    this.peer = peer;
  }

  /** When the last lane is read, if not sooner. */
  long quietAtUs() {
    long latest = 0;
    for (long at : readsAtUs) {
      latest = Math.max(latest, at);
    }
    return latest;
  }

  /** The bytes of all messages, those that were dropped included. */
  long bytesQueued() {
    return bytesQueued;
  }

  /** The bytes of all messages that were sent as a whole. */
  long bytesWritten() {
    return bytesWritten;
  }

  /** The bytes of all messages that were read. */
  long bytesRead() {
    return bytesRead;
  }

  /** Whether little enough waits that more may be written. */
  boolean isWritable() {
    int queued = 0;
    for (int id = 0; id < LANES; id++) {
      queued += lanes.lane(id).queuedBytes();
    }
    return queued < MAX_QUEUED_BYTES;
  }

  // Writing

  /** Writes some messages, most of them of up to so many bytes. */
  void write(int maxBytes) {
    for (int n = random.nextInt(8); n >= 0; n--) {
      int id = random.nextInt(LANES);
      Lane lane = lanes.lane(id);
      if (!lane.isOutputOpen()) {
        continue;
      }
      int most =
          Math.min(lane.maxMessageBytes(), random.nextInt(16) == 0 ? 20 * maxBytes : maxBytes);
      if (most >= MIN_BYTES) {
        send(lane, (int) LinkProfile.logUniform(random, MIN_BYTES, most + 0.99));
      }
      switch (random.nextInt(100)) {
        case 0 -> lane.abortOutput();
        case 1, 2, 3 -> lane.shutdownOutput();
        default -> {}
      }
    }
  }

  private void send(Lane lane, int bytes) {
    Direction direction = sent[lane.id()];
    bytesQueued += bytes;
    int number = direction.messages++;
    ByteBuf content = allocator.heapBuffer(bytes).writeInt(number);
    for (int i = MIN_BYTES; i < bytes; i++) {
      content.writeByte(pattern(lane.id(), number, i));
    }
    lane.send(
        new OutboundMessage(content) {
          @Override
          protected void sent() {
            bytesWritten += bytes;
          }

          @Override
          protected void dropped(Drop reason) {
            direction.dropped.set(number);
          }
        });
  }

  private static int pattern(int lane, int number, int index) {
    return lane * 131 + number * 31 + index * 7 + (index >> 8);
  }

  // Reading

  /** Reads at most so many messages; returns whether any was read, or lanes have ended. */
  boolean read(int most, long nowUs) {
    takeNews();
    int left = most;
    boolean isAny = false;
    for (Lane lane : List.copyOf(unread)) {
      if (readsAtUs[lane.id()] > nowUs || left == 0) {
        continue;
      }
      if (random.nextInt(300) == 0) {
        lane.discardInput();
        peer.sent[lane.id()].isDiscarded = true;
        isAny = true; // The peer is asked to end the lane.
      }
      for (ByteBuf message; left > 0 && (message = lane.receive()) != null; message.release()) {
        check(lane, message);
        isAny = true;
        left--;
      }
      if (!lane.isReadable()) {
        isAny |= lane.takeInputEnd();
        unread.remove(lane);
      }
    }
    return isAny;
  }

  private void takeNews() {
    for (Lane lane; (lane = lanes.nextNews()) != null; ) {
      if (!unread.contains(lane)) {
        unread.add(lane);
      }
    }
  }

  /** When the next lane is to be read that has not been, or {@link Long#MAX_VALUE}. */
  long nextReadAtUs(long nowUs) {
    takeNews();
    long next = Long.MAX_VALUE;
    for (Lane lane : unread) {
      next = Math.min(next, Math.max(readsAtUs[lane.id()], nowUs));
    }
    return next;
  }

  private void check(Lane lane, ByteBuf message) {
    int id = lane.id();
    Direction direction = peer.sent[id];
    Check.that(message.refCnt() == 1, "a message of several owners");
    Check.that(message.readableBytes() >= MIN_BYTES, "a message cut short");
    Check.that(lane.inputKind() == direction.kind, "a message of another kind");
    int number = message.getInt(message.readerIndex());
    Check.that(number >= 0 && number < direction.messages, "a message that was not sent");
    Check.that(!direction.delivered.get(number), () -> lane + ": message twice: " + number);
    for (int i = MIN_BYTES; i < message.readableBytes(); i++) {
      Check.that(
          message.getByte(message.readerIndex() + i) == (byte) pattern(id, number, i),
          () -> lane + ": message altered: " + number);
    }
    switch (direction.kind) {
      case RELIABLE_ORDERED -> checkOrder(lane, direction, number);
      case UNRELIABLE_SEQUENCED ->
          Check.that(number > direction.newest, "an older message on a sequenced lane");
      default -> {}
    }
    direction.newest = number;
    direction.delivered.set(number);
    bytesRead += message.readableBytes();
  }

  private static void checkOrder(Lane lane, Direction direction, int number) {
    for (int missing = direction.newest + 1; missing < number; missing++) {
      int skipped = missing;
      Check.that(
          direction.dropped.get(missing) || direction.isDiscarded,
          () -> lane + ": message " + number + " before " + skipped);
    }
    Check.that(number > direction.newest, () -> lane + ": message not in order: " + number);
  }

  /** Which message has not arrived that must have, or null. */
  String missing() {
    for (int id = 0; id < LANES; id++) {
      Direction direction = sent[id];
      if (!direction.kind.isReliable() || direction.isDiscarded) {
        continue;
      }
      for (int number = 0; number < direction.messages; number++) {
        if (!direction.delivered.get(number) && !direction.dropped.get(number)) {
          return "message " + number + " of " + direction.messages + " on lane " + id;
        }
      }
    }
    return null;
  }
}
