package io.kcp4j.internal.arq;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.internal.buffer.TransmissionOrder;
import io.kcp4j.internal.recovery.LossDetector;
import io.kcp4j.internal.send.BlackHoleDetector;
import io.kcp4j.internal.send.Outage;
import io.kcp4j.internal.send.SegmentPuller;
import io.kcp4j.internal.send.SendBuffer;
import io.kcp4j.internal.send.Sender;
import io.kcp4j.internal.wire.DatagramOutput;

/**
 * Writes the segments with payload of one flush: lost ones first, then new ones, as far as the
 * windows, the pacer and the amplification limit allow.
 *
 * <p>The sessions of a thread share one, which has state only during a flush: the flushes of two
 * sessions must not overlap.
 */
final class Flush {

  private final SegmentWriter writer = new SegmentWriter();
  private final Outage.ProbeSlots probeSlots = new Outage.ProbeSlots();

  private Sender sender;
  private int ts;
  private long nowUs;

  /** Begins a flush, which {@link #end} ends; see {@link SegmentWriter#begin}. */
  SegmentWriter begin(
      Sender sender, int conv, DatagramOutput output, int wnd, int rcvNext, long nowUs) {
    writer.begin(sender, conv, output, wnd, rcvNext, nowUs);
    this.sender = sender;
    this.nowUs = nowUs;
    ts = sender.timestamps.flushed(nowUs);
    return writer;
  }

  /** The timestamp of its segments. */
  int ts() {
    return ts;
  }

  /** Writes all that may leave now, in datagrams with {@code splitBytes} of new segments each. */
  void transmit(int window, int splitBytes) {
    writer.split(splitBytes);
    retransmitLost(sender.isNewAllowed());
    if (sender.losses.unacknowledged() == 0) {
      sender.userTimeout.progress(nowUs);
    }
    sendQueued(window);
    SegmentPuller puller = sender.puller();
    if (puller != null) {
      sendPulled(puller, window);
    }
    if (sender.isPathChallengeWanted()) {
      writer.challenge(ts);
    }
  }

  /** Ends the flush: everything that was written leaves. */
  void end() {
    writer.end();
    sender = null;
  }

  /** Ends the flush if it has failed; does nothing after {@link #end}. */
  void abort() {
    if (sender != null) {
      writer.abort();
      sender = null;
    }
  }

  private void retransmitLost(boolean newAllowed) {
    LossDetector losses = sender.losses;
    if (!losses.isSearchDue(newAllowed, nowUs)) {
      return;
    }
    int retransmitted = 0;
    boolean tellsBlackHole = sender.isBlackHolePossible();
    while (sender.pacer.isOpen(nowUs)) {
      int index = nextLost(newAllowed);
      if (index == LossDetector.NONE) {
        break;
      }
      if (tellsBlackHole && losses.transmissions(index) >= BlackHoleDetector.LOSSES) {
        tellsBlackHole = sender.blackHoles().lost(index);
      }
      retransmit(index);
      retransmitted++;
    }
    if (retransmitted > 0 && !sender.isOutageProbed()) {
      copyLast(retransmitted);
    }
    BlackHoleDetector blackHoles = sender.blackHolesIfAny();
    if (blackHoles != null && blackHoles.takeProbe(ts, nowUs)) {
      writer.probeAlone(ts);
    }
  }

  /** Those that leave at the end of an outage come first: the peer waits for them. */
  private int nextLost(boolean newAllowed) {
    int index = sender.outage == null ? LossDetector.NONE : sender.outage.nextOldest();
    if (index != LossDetector.NONE) {
      sender.losses.takeExtra();
      return index;
    }
    SendBuffer buffer = sender.buffer;
    return sender.losses.nextLost(newAllowed, buffer.index(buffer.una()), nowUs);
  }

  private void retransmit(int index) {
    LossDetector losses = sender.losses;
    LossCause cause = losses.cause();
    if (cause == LossCause.TIMEOUT) {
      sender.timedOut(probeSlots, nowUs);
    }
    boolean isSent = writer.retransmit(index, ts);
    losses.retransmitted(index, ts, nowUs);
    if (!isSent) { // As if it had been lost.
      writer.challenge(ts);
      return;
    }
    if (sender.events.isActive()) {
      sender.events.retransmitted(index, cause, nowUs);
    }
    sender.counters.add(cause.counter(), 1);
    sender.counters.add(KcpCounter.RETRANSMITTED, 1);
    sender.userTimeout.retransmitted(index, ts - losses.firstTs(index));
  }

  /**
   * Writes those of the last {@code segments} that leave twice once more, into datagrams of their
   * own: the segments behind a lost one wait for it, so losing it again costs more than a copy
   * does.
   */
  private void copyLast(int segments) {
    TransmissionOrder order = sender.losses.order;
    int index = order.tail();
    for (int i = 1; i < segments; i++) {
      index = order.previous(index);
    }
    int copies = 0;
    for (; index != LossDetector.NONE; index = order.next(index)) {
      if (!sender.losses.isCopied(index)) {
        continue;
      }
      if (copies == 0) {
        writer.endDatagram();
      }
      copies += writer.retransmit(index, ts) ? 1 : 0;
    }
    sender.counters.add(KcpCounter.COPIES_OUT, copies);
  }

  private void sendQueued(int window) {
    SendBuffer buffer = sender.buffer;
    int left = Math.min(buffer.queued(), window - sender.inFlight());
    if (left > 0) {
      sender.sentNew(nowUs);
    }
    while (left > 0 && sender.pacer.isOpen(nowUs) && writer.isNewAllowed()) {
      int sent = writer.pushNew(Math.min(left, sender.pacer.room()), ts);
      left -= sent;
      if (sender.tracing != null) {
        traceNew(sent);
      }
      if (left == 0 && sender.losses.rate != null && isNewestSmall()) {
        left = Math.min(buffer.queued(), sender.window() - sender.inFlight());
      }
    }
  }

  /**
   * Whether the newest segment takes less than half of the room of a full one. A congestion control
   * whose window is one of bytes counts full segments: after small ones it may have room for more.
   */
  private boolean isNewestSmall() {
    SendBuffer buffer = sender.buffer;
    return 2 * buffer.bytes(buffer.index(buffer.next() - 1)) < sender.size.mssBytes();
  }

  /** The source is asked only when nothing is queued, and for what can leave. */
  private void sendPulled(SegmentPuller puller, int window) {
    while (puller.isReady()
        && sender.buffer.queued() == 0
        && sender.inFlight() < window
        && sender.pacer.isOpen(nowUs)
        && writer.isNewAllowed()) {
      int most = Math.min(window - sender.inFlight(), sender.pacer.room());
      if (puller.pull(most, writer.enoughPayloadBytes()) == 0) {
        return;
      }
      sendQueued(window);
    }
  }

  private void traceNew(int segments) {
    SendBuffer buffer = sender.buffer;
    for (int sn = buffer.next() - segments; sn != buffer.next(); sn++) {
      sender.tracing.sent(sn, buffer.bytes(buffer.index(sn)), 1);
    }
  }
}
