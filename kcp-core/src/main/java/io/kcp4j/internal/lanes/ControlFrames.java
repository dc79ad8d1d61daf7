package io.kcp4j.internal.lanes;

import io.kcp4j.lanes.LanesConfig;
import java.nio.ByteBuffer;

/**
 * The control frames that wait for the next segment, in which they precede all messages: the
 * reports of what has been read, and the ends of lanes. Counts what the peer has sent against the
 * budget of what is not read.
 *
 * <p>What has been read is reported as late as possible, so that reports cost little: when it comes
 * to an eighth of the pool, for all lanes; or, while more than a quarter of the pool is in use, for
 * each lane when it comes to half of the lane's own part. So a lane that has been read can always
 * send half of its own part: protocol.md 15.4.
 */
final class ControlFrames {

  // What is due, in Lane.controlDue.

  static final int REPORT = 1;
  static final int FIN = 2;
  static final int FIN_ACK = 4;
  static final int STOP = 8;

  /** The largest frame, in bytes: a FIN. */
  private static final int MAX_FRAME_BYTES = 1 + Frame.MAX_LANE_BYTES + 2 * Integer.BYTES;

  private final int budgetBytes;
  private final int laneBytes;
  private final int poolBytes;

  /** The messages of which anything has arrived, and which are not read, as they are charged. */
  private int unreadBytes;

  /** The lanes that have something due. */
  private Lane first;

  private Lane last;
  private int lanes;

  /** The lanes that have something to report. */
  private Lane firstUnreported;

  private int unreportedLanes;
  private int unreportedBytes;
  private boolean isReportOfAllDue;

  /** Whether more than a quarter of the pool is in use, as far as this side knows. */
  private boolean isPoolInUse;

  /**
   * Makes control frames.
   *
   * @param maxLanes how many lanes the peer may use
   * @param budgetBytes the budget of what it sends
   */
  ControlFrames(int maxLanes, int budgetBytes) {
    this.budgetBytes = budgetBytes;
    laneBytes = LanesConfig.laneBytes(maxLanes, budgetBytes);
    poolBytes = LanesConfig.poolBytes(budgetBytes);
  }

  boolean isEmpty() {
    return first == null && !isReportOfAllDue;
  }

  /** About how many bytes the frames that are due take. */
  int estimateBytes() {
    return (lanes + (isReportOfAllDue ? unreportedLanes : 0)) * MAX_FRAME_BYTES;
  }

  /** Something is due on a lane. */
  void add(Lane lane, int due) {
    if (lane.controlDue == 0) {
      if (first == null) {
        first = lane;
      } else {
        last.nextControl = lane;
      }
      last = lane;
      lanes++;
    }
    lane.controlDue |= (byte) due;
  }

  /** Something is due no more on a lane on which something else is. */
  void drop(Lane lane, int due) {
    lane.controlDue &= (byte) ~due;
  }

  // The budget of what is not read

  int budgetBytes() {
    return budgetBytes;
  }

  /**
   * What a message is charged that begins. The peer has sent all messages with lower numbers, too.
   *
   * @param end one more than the highest number of which anything has arrived
   */
  static long claim(int end, int number, int totalBytes) {
    long messages = Math.max(number - end + 1L, 0);
    return messages * LanesConfig.MESSAGE_OVERHEAD_BYTES + totalBytes;
  }

  /** Whether the budget has room for messages that begin. */
  boolean hasRoom(long claimedBytes) {
    return claimedBytes <= budgetBytes - unreadBytes;
  }

  /** Charges a message that begins, for which there is room. */
  void received(long claimedBytes) {
    unreadBytes += (int) claimedBytes;
    boolean wasInUse = isPoolInUse;
    updatePool();
    if (isPoolInUse && !wasInUse && unreportedBytes > 0) {
      isReportOfAllDue = true; // Lanes may wait for less from now on.
    }
  }

  /** A message that was charged {@code charge} bytes has been read, or need not be. */
  void consumed(Lane lane, int charge) {
    unreadBytes -= charge;
    if (!lane.is(Lane.UNREPORTED)) {
      lane.set(Lane.UNREPORTED, true);
      lane.nextUnreported = firstUnreported;
      firstUnreported = lane;
      unreportedLanes++;
    }
    lane.consumed += charge;
    unreportedBytes += charge;
    updatePool();
    if (unreportedBytes >= poolBytes / 8) {
      isReportOfAllDue = true;
    } else if (isPoolInUse && lane.unreported() >= laneBytes / 2) {
      add(lane, REPORT);
    }
  }

  private void updatePool() {
    isPoolInUse = unreadBytes + unreportedBytes >= poolBytes / 4;
  }

  // Writing

  /** Writes frames; returns whether all of them had room. */
  boolean write(ByteBuffer out) {
    while (first != null) {
      Lane lane = first;
      if (!write(lane, out)) {
        return false;
      }
      first = lane.nextControl;
      lane.nextControl = null;
      lanes--;
    }
    while (isReportOfAllDue && firstUnreported != null) {
      Lane lane = firstUnreported;
      if (lane.unreported() > 0 && !report(lane, out)) {
        return false;
      }
      firstUnreported = lane.nextUnreported;
      lane.nextUnreported = null;
      lane.set(Lane.UNREPORTED, false);
      unreportedLanes--;
    }
    isReportOfAllDue = false;
    return true;
  }

  /** Writes what is due on a lane; returns whether all of it had room. */
  private boolean write(Lane lane, ByteBuffer out) {
    while (lane.controlDue != 0) {
      int due = Integer.lowestOneBit(lane.controlDue);
      if (out.remaining() < MAX_FRAME_BYTES) {
        return false;
      }
      switch (due) {
        case REPORT -> report(lane, out);
        case FIN -> writeFin(lane, out);
        case FIN_ACK -> begin(out, Frame.FIN_ACK, lane);
        default -> {
          begin(out, Frame.STOP, lane);
          Frame.putInt(out, lane.base);
        }
      }
      lane.controlDue &= (byte) ~due;
    }
    return true;
  }

  private static void writeFin(Lane lane, ByteBuffer out) {
    boolean isReliable = lane.config().kind().isReliable();
    begin(out, isReliable ? Frame.FIN : Frame.UNRELIABLE_FIN, lane);
    Frame.putInt(out, lane.sentMessages - 1);
    if (isReliable) {
      Frame.putVarInt(out, lane.outbox == null ? 0 : lane.outbox.cutBytes);
    }
    assert lane.outbox == null || lane.outbox.isEmpty() : lane;
    lane.outbox = null;
  }

  private boolean report(Lane lane, ByteBuffer out) {
    if (out.remaining() < MAX_FRAME_BYTES) {
      return false;
    }
    unreportedBytes -= lane.unreported();
    lane.reported = lane.consumed;
    begin(out, Frame.CONSUMED, lane);
    Frame.putInt(out, lane.consumed);
    return true;
  }

  private static void begin(ByteBuffer out, int type, Lane lane) {
    out.put((byte) type);
    Frame.putVarInt(out, lane.id());
  }
}
