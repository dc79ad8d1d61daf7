package io.kcp4j.internal.lanes;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpTracer;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.lanes.LaneScheduler.Outbox;
import io.kcp4j.internal.lanes.OutboundMessage.Drop;
import io.kcp4j.internal.wire.SegmentSource;
import io.kcp4j.lanes.LanesConfig;
import java.nio.ByteBuffer;

/**
 * Fills segments with the messages of reliable lanes. What a segment holds is chosen when it can
 * leave: control frames first, then messages of the lanes that {@link LaneScheduler} chooses. So a
 * small message never waits behind more than the segments that have left.
 */
final class LaneSender implements SegmentSource {

  private final Kcp kcp;
  private final ControlFrames control;
  private final LaneScheduler scheduler;
  private final FrameWriter writer = new FrameWriter();

  /** Copied into segments of the current flush. */
  private final OutboundMessage.Queue<OutboundMessage> copied = new OutboundMessage.Queue<>();

  private boolean isPrefaceDue;
  private int maxLanes = LanesConfig.MAX_LANES;
  private int maxMessageBytes = LanesConfig.maxMessageBytes(LanesConfig.MAX_BUDGET_BYTES);

  /** The messages of all lanes that wait. */
  private int messages;

  LaneSender(Kcp kcp, ControlFrames control) {
    this.kcp = kcp;
    this.control = control;
    scheduler = new LaneScheduler(kcp);
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
    maxMessageBytes = LanesConfig.maxMessageBytes(budgetBytes);
    scheduler.limits(maxLanes, budgetBytes);
  }

  /** What has waited for the limits may leave, or is dropped if it is too large. */
  void open() {
    boolean wasReady = isReady();
    scheduler.open();
    for (Outbox outbox = scheduler.firstBlocked(); outbox != null; ) {
      Outbox next = outbox.nextBlocked();
      dropTooLarge(outbox);
      outbox = next;
    }
    scheduler.unblock();
    if (!wasReady && isReady()) {
      kcp.sourceBecameReady();
    }
  }

  private void dropTooLarge(Outbox outbox) {
    for (int left = outbox.messages(); left > 0; left--) {
      OutboundMessage message = outbox.remove();
      if (message.bytes() <= maxMessageBytes) {
        outbox.add(message);
      } else {
        drop(message, Drop.TOO_LARGE);
      }
    }
    if (outbox.isEmpty()) {
      scheduler.remove(outbox);
      ended(outbox);
    }
  }

  /** Queues a message, whose size is possible, on a lane that has not ended. */
  void send(Lane lane, OutboundMessage message) {
    lane.output = Lane.Output.OPEN;
    messages++;
    scheduler.queue(lane, message);
  }

  /** The lane's settings have changed. */
  void classify(Outbox outbox) {
    scheduler.classify(outbox);
  }

  /**
   * The peer has read more on a lane.
   *
   * @return false if it cannot have read so much
   */
  boolean consumed(Lane lane, int total) {
    return scheduler.consumed(lane, total);
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
    Outbox outbox = lane.outbox;
    if (outbox != null && !outbox.isEmpty()) {
      outbox.cutBytes = outbox.sentBytes();
      dropAll(outbox, Drop.LANE_CLOSED);
    } else {
      sendFin(lane);
    }
  }

  private void sendFin(Lane lane) {
    lane.output = Lane.Output.ENDED;
    lane.sentMessages++; // The end has a number, so that the next message is not taken for it.
    control.add(lane, ControlFrames.FIN);
    KcpTracer tracer = kcp.tracer();
    if (tracer != null) {
      tracer.laneOutputEnded(kcp.tracedAtUs(), lane.id());
    }
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
  void dropAll(Lane lane, Drop reason) {
    if (lane.outbox != null && !lane.outbox.isEmpty()) {
      dropAll(lane.outbox, reason);
    }
  }

  private void dropAll(Outbox outbox, Drop reason) {
    scheduler.remove(outbox);
    while (!outbox.isEmpty()) {
      drop(outbox.remove(), reason);
    }
    ended(outbox);
  }

  /** Drops the first message of a lane; if a part of it has left, the lane has to end. */
  private void dropUnreadable(Outbox outbox) {
    int sentBytes = outbox.sentBytes();
    scheduler.remove(outbox);
    drop(outbox.remove(), Drop.UNREADABLE);
    if (sentBytes > 0) {
      outbox.cutBytes = sentBytes;
      outbox.lane.outputStopped();
      outbox.lane.output = Lane.Output.ENDING;
      dropAll(outbox, Drop.LANE_CLOSED);
    } else if (outbox.isEmpty()) {
      ended(outbox);
    } else {
      scheduler.add(outbox);
    }
  }

  private void drop(OutboundMessage message, Drop reason) {
    messages--;
    message.drop(reason);
  }

  /** Nothing waits any more on a lane. */
  private void ended(Outbox outbox) {
    if (outbox.lane.output == Lane.Output.ENDING) {
      sendFin(outbox.lane);
    }
    scheduler.keepEmpty(outbox);
  }

  // The source

  @Override
  public boolean isReady() {
    scheduler.unblockIfCredit();
    return mayBeReady();
  }

  /** Whether {@link #isReady} holds, or might since credit has come. */
  boolean mayBeReady() {
    return isPrefaceDue || scheduler.mayBeReady() || (scheduler.isOpen() && !control.isEmpty());
  }

  @Override
  public boolean isEmpty() {
    return messages == 0 && !isPrefaceDue && control.isEmpty();
  }

  @Override
  public int readyBytes(int limitBytes) {
    return isPrefaceDue ? 1 : scheduler.readyBytes() + control.estimateBytes();
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
    while (hasRoom && !writer.isComplete() && scheduler.readyLanes() > 0) {
      hasRoom = write(scheduler.peek(), payload);
    }
    writer.end();
  }

  /** Writes the middle of a large message while no other lane has anything to send. */
  @Override
  public int pullFull(ByteBuffer payloads, int payloadBytes, int gapBytes, int most) {
    Outbox outbox = scheduler.peek();
    boolean isAlone = scheduler.readyLanes() == 1 && !isPrefaceDue && control.isEmpty();
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
      scheduler.charge(outbox, segments, payloadBytes);
      scheduler.sent(outbox, left - rest.remaining());
    }
    return segments;
  }

  /**
   * Selects the first message of a lane as that of which frames are written next.
   *
   * @param charge the charge of the message; 0 if it has been begun
   */
  private void select(Outbox outbox, int charge) {
    Lane lane = outbox.lane;
    int type = Frame.typeOf(lane.config().kind());
    int number = charge > 0 ? lane.sentMessages : lane.sentMessages - 1;
    writer.message(type, lane.id(), number, lane.outstanding() + charge, outbox.first());
  }

  /** Writes the next frame of a lane; returns whether there was room for it. */
  private boolean write(Outbox outbox, ByteBuffer out) {
    OutboundMessage message = outbox.first();
    int offset = outbox.sentBytes();
    boolean begins = offset == 0;
    if (begins && !scheduler.isAllowed(outbox)) { // Another lane has used up the credit.
      scheduler.blockReady(outbox);
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
      scheduler.begin(outbox.lane, charge);
    }
    scheduler.charge(outbox, out.position() - start);
    if (offset + written == message.bytes()) {
      scheduler.removeFirst(outbox);
      written(outbox, message);
    } else {
      scheduler.sent(outbox, written);
    }
    return true;
  }

  /** All of a message has been copied into segments. */
  private void written(Outbox outbox, OutboundMessage message) {
    messages--;
    kcp.counters().add(KcpCounter.LANE_MESSAGES_OUT, 1);
    kcp.counters().add(KcpCounter.PAYLOAD_BYTES_OUT, message.bytes());
    outbox.lane.traceSent(kcp, message.bytes());
    message.release();
    copied.add(message);
    if (outbox.isEmpty()) {
      ended(outbox);
    }
  }

  @Override
  public void onSent(int segments) {
    while (!copied.isEmpty()) {
      copied.remove().sent();
    }
  }
}
