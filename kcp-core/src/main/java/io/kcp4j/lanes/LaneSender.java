package io.kcp4j.lanes;

import io.kcp4j.Kcp;
import io.kcp4j.KcpCounter;
import io.kcp4j.SegmentSource;
import io.kcp4j.scheduling.WeightedScheduler;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Fills segments with the messages of reliable lanes. What a segment holds is chosen when it can
 * leave: control frames first, then messages by priority and weight, as far as the peer's credit
 * goes. So a small message never waits behind more than the segments that have left.
 */
final class LaneSender implements SegmentSource {

  /** A turn is a frame: what a segment holds of a lane. */
  private static final int TURN_BYTES = 1;

  /** The table for so many lanes that wait for credit is kept. */
  private static final int KEPT_BLOCKED = 64;

  private final Kcp kcp;
  private final ControlFrames control;
  private final Credit credit = new Credit();
  private final FrameWriter writer = new FrameWriter();
  private final WeightedScheduler<LaneOutbox> scheduler = new WeightedScheduler<>(TURN_BYTES);

  /** Wait for credit or, before the peer's limits are known, for those; in this order. */
  private Set<LaneOutbox> blocked = new LinkedHashSet<>();

  /** Whether the table of those has become large. */
  private boolean isBlockedLarge;

  /** Copied into segments of the current flush, linked. */
  private LaneSend firstSent;

  private LaneSend lastSent;

  private final RecentOutboxes recent = new RecentOutboxes();

  /** Whether the peer's limits are known. */
  private boolean isOpen;

  private boolean isPrefaceDue;

  /** Whether the peer has read something since {@link #unblock}. */
  private boolean hasNewCredit;

  private int maxLanes = LanesConfig.MAX_LANES;
  private int maxMessageBytes = Credit.maxMessageBytes(LanesConfig.MAX_BUDGET_BYTES);

  /** The messages of all lanes that wait. */
  private int messages;

  /** The frames of those lanes that are in the scheduler, in bytes, or a little more. */
  private int readyBytes;

  LaneSender(Kcp kcp, ControlFrames control) {
    this.kcp = kcp;
    this.control = control;
  }

  /** Whether the lane with this id may be used, as far as is known. */
  boolean isPossible(int lane) {
    return lane < maxLanes;
  }

  /** The largest message of a reliable lane, as far as is known, in bytes. */
  int maxMessageBytes() {
    return maxMessageBytes;
  }

  /** A client has to send something before it knows whether its peer has lanes. */
  void sendPreface() {
    isPrefaceDue = true;
  }

  /** The peer has told its limits. */
  void limits(int maxLanes, int budgetBytes) {
    this.maxLanes = maxLanes;
    maxMessageBytes = Credit.maxMessageBytes(budgetBytes);
    credit.grant(maxLanes, budgetBytes);
  }

  /** What has waited for the limits may leave, or is dropped if it is too large. */
  void open() {
    boolean wasReady = isReady();
    isOpen = true;
    List.copyOf(blocked).forEach(this::dropTooLarge);
    unblock();
    if (!wasReady && isReady()) {
      kcp.sourceBecameReady();
    }
  }

  private void dropTooLarge(LaneOutbox outbox) {
    for (int left = outbox.messages(); left > 0; left--) {
      LaneSend message = outbox.remove();
      if (message.bytes() <= maxMessageBytes) {
        outbox.add(message);
      } else {
        drop(message, LaneSend.Drop.TOO_LARGE);
      }
    }
    if (outbox.isEmpty()) {
      blocked.remove(outbox);
      ended(outbox);
    }
  }

  // Queueing

  /** Queues a message, whose size is possible, on a lane that has not ended. */
  void send(Lane lane, LaneSend message) {
    lane.output = Lane.Output.OPEN;
    if (lane.outbox == null) {
      lane.outbox = new LaneOutbox(lane);
    }
    LaneOutbox outbox = lane.outbox;
    boolean wasEmpty = outbox.isEmpty();
    int before = outbox.frameBytes();
    outbox.add(message);
    messages++;
    if (wasEmpty) {
      schedule(outbox);
    } else if (outbox.entry.isQueued()) {
      readyBytes += outbox.frameBytes() - before;
    }
  }

  /** Adds an outbox that is not empty to the scheduler or to those that are blocked. */
  private void schedule(LaneOutbox outbox) {
    if (isAllowed(outbox)) {
      scheduler.add(outbox.entry);
      readyBytes += outbox.frameBytes();
    } else {
      block(outbox);
    }
  }

  private void block(LaneOutbox outbox) {
    blocked.add(outbox);
    isBlockedLarge |= blocked.size() > KEPT_BLOCKED;
    if (isOpen) {
      LaneTracing.blocked(kcp, outbox.lane);
    }
  }

  /** Whether its first message may leave. */
  private boolean isAllowed(LaneOutbox outbox) {
    return isOpen
        && (outbox.sentBytes() > 0 || credit.allows(outbox.lane, outbox.firstCharge(), 0));
  }

  private void unschedule(LaneOutbox outbox) {
    if (outbox.entry.isQueued()) {
      scheduler.remove(outbox.entry);
      readyBytes -= outbox.frameBytes();
    } else {
      blocked.remove(outbox);
    }
  }

  /** The lane's settings have changed. */
  void classify(LaneOutbox outbox) {
    LaneConfig config = outbox.lane.config();
    scheduler.classify(outbox.entry, config.priority(), config.weight());
  }

  /**
   * Credit has come, or the limits are known: schedules the lanes that have waited longest, as far
   * as there is credit for all of them. A lane for which there is not keeps its place.
   */
  private void unblock() {
    hasNewCredit = false;
    int promisedBytes = 0;
    for (Iterator<LaneOutbox> i = blocked.iterator(); i.hasNext(); ) {
      LaneOutbox outbox = i.next();
      int charge = outbox.firstCharge();
      if (credit.allows(outbox.lane, charge, promisedBytes)) {
        promisedBytes += credit.growth(outbox.lane, charge);
        i.remove();
        schedule(outbox);
      }
    }
    if (isBlockedLarge && blocked.isEmpty()) {
      blocked = new LinkedHashSet<>();
      isBlockedLarge = false;
    }
  }

  /**
   * The peer has read more on a lane.
   *
   * @return false if it cannot have read so much
   */
  boolean consumed(Lane lane, int total) {
    int before = lane.consumedByPeer;
    boolean isPossible = credit.consumed(lane, total);
    hasNewCredit |= lane.consumedByPeer != before && !blocked.isEmpty();
    return isPossible;
  }

  // The end of a lane

  /** Ends a lane behind what waits. */
  void end(Lane lane) {
    lane.output = Lane.Output.ENDING;
    endIfEmpty(lane);
  }

  /** Ends a lane if nothing waits any more. */
  void endIfEmpty(Lane lane) {
    if (lane.outbox == null || lane.outbox.isEmpty()) {
      sendFin(lane);
    }
  }

  /** Ends a lane, and drops what waits. */
  void abort(Lane lane) {
    lane.output = Lane.Output.ENDING;
    LaneOutbox outbox = lane.outbox;
    if (outbox != null && !outbox.isEmpty()) {
      outbox.cutBytes = outbox.sentBytes();
      dropAll(outbox, LaneSend.Drop.LANE_CLOSED);
    } else {
      sendFin(lane);
    }
  }

  private void sendFin(Lane lane) {
    lane.output = Lane.Output.ENDED;
    lane.sentMessages++; // The end has a number, so that the next message is not taken for it.
    control.add(lane, ControlFrames.FIN);
    LaneTracing.outputEnded(kcp, lane);
  }

  /**
   * The peer has read everything on a lane, and its end.
   *
   * @return false if it cannot have read that
   */
  boolean finAcknowledged(Lane lane) {
    if (lane.output != Lane.Output.ENDED || lane.isDue(ControlFrames.FIN)) {
      return false;
    }
    lane.output = Lane.Output.UNUSED;
    lane.firstMessage = lane.sentMessages;
    return true;
  }

  /** Drops what waits on a lane. */
  void dropAll(Lane lane, LaneSend.Drop reason) {
    if (lane.outbox != null && !lane.outbox.isEmpty()) {
      dropAll(lane.outbox, reason);
    }
  }

  private void dropAll(LaneOutbox outbox, LaneSend.Drop reason) {
    unschedule(outbox);
    while (!outbox.isEmpty()) {
      drop(outbox.remove(), reason);
    }
    ended(outbox);
  }

  /** Drops the first message of a lane; if a part of it has left, the lane has to end. */
  private void dropUnreadable(LaneOutbox outbox) {
    int sentBytes = outbox.sentBytes();
    unschedule(outbox);
    drop(outbox.remove(), LaneSend.Drop.UNREADABLE);
    if (sentBytes > 0) {
      outbox.cutBytes = sentBytes;
      outbox.lane.outputStopped();
      outbox.lane.output = Lane.Output.ENDING;
      dropAll(outbox, LaneSend.Drop.LANE_CLOSED);
    } else if (outbox.isEmpty()) {
      ended(outbox);
    } else {
      schedule(outbox);
    }
  }

  private void drop(LaneSend message, LaneSend.Drop reason) {
    messages--;
    message.release();
    message.dropped(reason);
  }

  /** Nothing waits any more on a lane. */
  private void ended(LaneOutbox outbox) {
    if (outbox.lane.output == Lane.Output.ENDING) {
      sendFin(outbox.lane);
    }
    recent.add(outbox);
  }

  // The source

  /** However many reports arrive in a batch, lanes that wait for credit are looked through once. */
  @Override
  public boolean isReady() {
    if (hasNewCredit) {
      unblock();
    }
    return mayBeReady();
  }

  /** Whether {@link #isReady} holds, or might since credit has come. */
  boolean mayBeReady() {
    return hasNewCredit || isPrefaceDue || (isOpen && (scheduler.size() > 0 || !control.isEmpty()));
  }

  @Override
  public boolean isEmpty() {
    return messages == 0 && !isPrefaceDue && control.isEmpty();
  }

  @Override
  public int readyBytes(int limitBytes) {
    return isPrefaceDue ? 1 : readyBytes + control.estimateBytes();
  }

  @Override
  public void pull(ByteBuffer payload, int enoughBytes) {
    if (isPrefaceDue) {
      payload.put((byte) Frame.PREFACE);
      isPrefaceDue = false;
      return;
    }
    writer.begin(payload, enoughBytes);
    boolean hasRoom = control.write(payload);
    while (hasRoom && !writer.isComplete() && scheduler.size() > 0) {
      hasRoom = write(scheduler.peek(), payload);
    }
    writer.end();
  }

  /** Writes the middle of a large message while no other lane has anything to send. */
  @Override
  public int pullFull(ByteBuffer payloads, int payloadBytes, int gapBytes, int most) {
    LaneOutbox outbox = scheduler.peek();
    boolean isAlone = scheduler.size() == 1 && !isPrefaceDue && control.isEmpty();
    if (!isAlone || outbox.sentBytes() == 0) {
      return 0;
    }
    ByteBuffer rest = outbox.first().view(outbox.sentBytes());
    if (rest == null) {
      return 0;
    }
    select(outbox, 0);
    int left = rest.remaining();
    int segments = writer.writeFull(payloads, payloadBytes, gapBytes, most, rest);
    writer.end();
    if (segments > 0) {
      int written = left - rest.remaining();
      scheduler.charge(outbox.entry, segments, payloadBytes);
      outbox.sent(written);
      readyBytes -= written;
    }
    return segments;
  }

  /**
   * Selects the first message of a lane as that of which frames are written next.
   *
   * @param charge how much the message will count; 0 if it has been begun
   */
  private void select(LaneOutbox outbox, int charge) {
    Lane lane = outbox.lane;
    int type = Frame.typeOf(lane.config().kind());
    int number = charge > 0 ? lane.sentMessages : lane.sentMessages - 1;
    writer.message(type, lane.id(), number, lane.outstanding() + charge, outbox.first());
  }

  /** Writes the next frame of a lane; returns whether there was room for it. */
  private boolean write(LaneOutbox outbox, ByteBuffer out) {
    LaneSend message = outbox.first();
    int offset = outbox.sentBytes();
    boolean begins = offset == 0;
    if (begins && !isAllowed(outbox)) { // Another lane has used up the credit.
      unschedule(outbox);
      block(outbox);
      return true;
    }
    int charge = begins ? outbox.firstCharge() : 0;
    int start = out.position();
    int limit = out.limit();
    select(outbox, charge);
    int written;
    try {
      written = writer.write(offset);
    } catch (RuntimeException e) {
      out.limit(limit).position(start);
      dropUnreadable(outbox);
      return true;
    }
    if (written == FrameWriter.NO_ROOM) {
      return false;
    }
    if (begins) {
      credit.charge(outbox.lane, charge);
      outbox.lane.sentMessages++;
    }
    scheduler.charge(outbox.entry, out.position() - start);
    if (offset + written == message.bytes()) {
      int before = outbox.frameBytes();
      outbox.remove();
      readyBytes -= before - outbox.frameBytes();
      written(outbox, message);
    } else {
      outbox.sent(written);
      readyBytes -= written;
    }
    return true;
  }

  /** All of a message has been copied into segments. */
  private void written(LaneOutbox outbox, LaneSend message) {
    messages--;
    kcp.counters().add(KcpCounter.LANE_MESSAGES_OUT, 1);
    kcp.counters().add(KcpCounter.PAYLOAD_BYTES_OUT, message.bytes());
    LaneTracing.messageSent(kcp, outbox.lane, message.bytes());
    message.release();
    if (firstSent == null) {
      firstSent = message;
    } else {
      lastSent.next = message;
    }
    lastSent = message;
    if (outbox.isEmpty()) {
      scheduler.remove(outbox.entry);
      ended(outbox);
    }
  }

  @Override
  public void onSent(int segments) {
    for (LaneSend message; (message = firstSent) != null; ) {
      firstSent = message.next;
      message.next = null;
      message.sent();
    }
    lastSent = null;
  }
}
