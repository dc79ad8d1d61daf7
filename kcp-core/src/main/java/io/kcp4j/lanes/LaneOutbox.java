package io.kcp4j.lanes;

import io.kcp4j.scheduling.WeightedScheduler.Entry;

/** What is to be sent on one lane: its messages, in order, and its place in the scheduler. */
final class LaneOutbox {

  final Lane lane;
  final Entry<LaneOutbox> entry;

  private LaneSend first;
  private LaneSend last;

  /** How much of the first message has been sent. */
  private int sentBytes;

  private int messages;

  /** The content that waits, in bytes. */
  private int queuedBytes;

  /** The frames that it takes, in bytes, or a little more. */
  private int frameBytes;

  /** Whether it is kept though it is empty. */
  boolean isRecent;

  /** Of an aborted lane: how much of its last message has been sent, if not all of it. */
  int cutBytes;

  LaneOutbox(Lane lane) {
    this.lane = lane;
    entry = new Entry<>(this, lane.config().priority(), lane.config().weight());
  }

  boolean isEmpty() {
    return first == null;
  }

  /** The lane takes no memory for it any more. */
  @SuppressWarnings("ReferenceEquality") // the same object
  void forget() {
    if (lane.outbox == this) {
      lane.outbox = null;
    }
  }

  LaneSend first() {
    return first;
  }

  /** How much the first message counts. */
  int firstCharge() {
    return Credit.charge(first.bytes());
  }

  /** How many messages wait. */
  int messages() {
    return messages;
  }

  int queuedBytes() {
    return queuedBytes;
  }

  int frameBytes() {
    return frameBytes;
  }

  /** How much of the first message has been sent, in bytes; 0 if it has not been begun. */
  int sentBytes() {
    return sentBytes;
  }

  void add(LaneSend message) {
    if (first == null) {
      first = message;
    } else {
      last.next = message;
    }
    last = message;
    messages++;
    queuedBytes += message.bytes();
    frameBytes += FrameWriter.estimateBytes(lane.id(), message.bytes());
  }

  /** So many bytes of the first message have been sent, but not all of it. */
  void sent(int bytes) {
    sentBytes += bytes;
    queuedBytes -= bytes;
    frameBytes -= bytes;
  }

  /** Removes the first message, the rest of which has been sent or is dropped. */
  LaneSend remove() {
    LaneSend removed = first;
    first = removed.next;
    removed.next = null;
    int bytes = removed.bytes();
    queuedBytes -= bytes - sentBytes;
    frameBytes -= FrameWriter.estimateBytes(lane.id(), bytes) - sentBytes;
    sentBytes = 0;
    messages--;
    if (first == null) {
      last = null;
    }
    return removed;
  }
}
