package io.kcp4j.lanes;

import io.kcp4j.Kcp;
import io.netty.buffer.ByteBuf;

/** The peer's direction of the lanes: how it begins, is read or discarded, and ends. */
final class LaneInput {

  private final Lanes lanes;
  private final Kcp kcp;
  private final ControlFrames control;
  private final LaneReceiver receiver;
  private final UnreliableReceiver unreliableReceiver;
  private final PeerLanes peerLanes;

  /** How many lanes the peer has ended, which has not been taken yet. */
  private int ends;

  LaneInput(
      Lanes lanes,
      Kcp kcp,
      ControlFrames control,
      LaneReceiver receiver,
      UnreliableReceiver unreliableReceiver,
      PeerLanes peerLanes) {
    this.lanes = lanes;
    this.kcp = kcp;
    this.control = control;
    this.receiver = receiver;
    this.unreliableReceiver = unreliableReceiver;
    this.peerLanes = peerLanes;
  }

  /** Whether the peer has ended lanes, which has not been taken. */
  boolean hasEnds() {
    return ends > 0;
  }

  ByteBuf receive(Lane lane) {
    if (!lane.isReadable()) {
      return null;
    }
    ByteBuf message = isUnreliable(lane) ? unreliableReceiver.read(lane) : receiver.read(lane);
    controlChanged();
    kcp.sinkWasRead();
    return message;
  }

  static boolean isUnreliable(Lane lane) {
    return lane.inputKind != null && !lane.inputKind.isReliable();
  }

  /** A message arrives, or a part of one. */
  void begun(Lane lane, LaneKind kind) {
    if (lane.inputKind == null) {
      peerLanes.countBegin(lane);
      lane.inputKind = kind;
      stopDiscarded(lane);
    }
  }

  /** Asks the peer to end what it has begun to send, if that is discarded. */
  private void stopDiscarded(Lane lane) {
    if (lane.is(Lane.INPUT_DISCARDED) && !lane.is(Lane.INPUT_ENDING)) {
      control.add(lane, ControlFrames.STOP);
    }
  }

  void discard(Lane lane) {
    if (lane.is(Lane.INPUT_DISCARDED) || lane.isUnused()) {
      return;
    }
    if (isUnreliable(lane)) {
      unreliableReceiver.discard(lane);
    } else {
      receiver.discard(lane);
    }
    if (lane.inputKind != null) {
      stopDiscarded(lane);
    }
    takeEnd(lane);
    controlChanged();
    kcp.sinkWasRead();
  }

  /** Control frames that are due leave at the end of the batch of input, if there is one. */
  private void controlChanged() {
    if (!control.isEmpty()) {
      kcp.sourceBecameReady();
    }
  }

  /** The peer has ended its direction, and everything before has arrived. */
  void ended(Lane lane) {
    LaneTracing.inputEnded(kcp, lane);
    peerLanes.countBegin(lane);
    ends++;
    lane.set(Lane.INPUT_ENDING, true);
    if (lane.is(Lane.INPUT_DISCARDED)) {
      takeEnd(lane);
    } else {
      lanes.news(lane);
    }
  }

  boolean takeEnd(Lane lane) {
    if (!lane.is(Lane.INPUT_ENDING) || lane.isReadable()) {
      return false;
    }
    ends--;
    lane.set(Lane.INPUT_ENDING, false);
    lane.set(Lane.INPUT_DISCARDED, false);
    lane.inputKind = null;
    lane.arrived = Lane.ALL_ARRIVED;
    control.add(lane, ControlFrames.FIN_ACK);
    control.drop(lane, ControlFrames.STOP);
    controlChanged();
    lanes.releaseIfEmpty(lane);
    peerLanes.endIfUnused(lane);
    return true;
  }
}
