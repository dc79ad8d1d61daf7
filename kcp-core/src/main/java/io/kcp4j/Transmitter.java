package io.kcp4j;

import io.kcp4j.congestion.Pacer;

/** Sends segments in a flush, lost ones first, as far as the windows and the pacer allow. */
final class Transmitter {

  private final SendBuffer sending;
  private final SegmentPuller puller;
  private final LossDetector losses;
  private final SegmentWriter writer;
  private final Pacer pacer;
  private final RemoteWindow remote;
  private final SegmentEvents events;
  private final Liveness liveness;
  private final KcpCounters counters;

  private int sendWindow;

  Transmitter(
      SendBuffer sending,
      SegmentPuller puller,
      LossDetector losses,
      SegmentWriter writer,
      Pacer pacer,
      RemoteWindow remote,
      SegmentEvents events,
      Liveness liveness,
      KcpCounters counters) {
    this.sending = sending;
    this.puller = puller;
    this.losses = losses;
    this.writer = writer;
    this.pacer = pacer;
    this.remote = remote;
    this.events = events;
    this.liveness = liveness;
    this.counters = counters;
  }

  void configure(KcpConfig config) {
    sendWindow = config.sendWindow();
  }

  /** The window in force: how far beyond {@code una} segments may be in flight. */
  int window() {
    return Math.min(Math.min(sendWindow, remote.segments()), events.window());
  }

  /** Whether there are new segments and the window has room for one. */
  boolean isNewAllowed() {
    return puller.hasNew() && isWindowFree();
  }

  boolean isWindowFree() {
    return inFlight() < window();
  }

  /** Whether there are new segments and the peer has no room for any. */
  boolean isRemoteWindowClosed() {
    return remote.segments() == 0 && puller.hasNew();
  }

  /** Segments from the oldest that is unacknowledged to the newest sent. */
  int inFlight() {
    return sending.next() - sending.una();
  }

  /**
   * Writes all that may leave now.
   *
   * @param window the window in force
   * @param ts the timestamp of the segments
   */
  void transmit(int window, int ts, long nowMs) {
    retransmitLost(isNewAllowed(), ts, nowMs);
    if (losses.unacknowledged() == 0) {
      liveness.progress(nowMs);
    }
    sendQueued(window, ts, nowMs);
    sendPulled(window, ts, nowMs);
  }

  private void retransmitLost(boolean newAllowed, int ts, long nowMs) {
    if (!losses.isSearchDue(newAllowed, nowMs)) {
      return;
    }
    while (pacer.isOpen(nowMs)) {
      int index = losses.nextLost(newAllowed, nowMs);
      if (index == LossDetector.NONE) {
        return;
      }
      retransmit(index, ts, nowMs);
    }
  }

  private void retransmit(int index, int ts, long nowMs) {
    LossCause cause = losses.cause();
    writer.retransmit(sending, index, ts);
    losses.retransmitted(index, ts, nowMs);
    if (events.isActive()) {
      int sn = sending.sn(index);
      events.lost(sn, cause, nowMs);
      events.sent(sn, sending.bytes(index), losses.transmissions(index), nowMs);
    }
    counters.add(cause.counter(), 1);
    counters.add(KcpCounter.RETRANSMITTED, 1);
    liveness.retransmitted(losses.transmissions(index));
  }

  private void sendQueued(int window, int ts, long nowMs) {
    int left = Math.min(sending.queued(), window - inFlight());
    while (left > 0 && pacer.isOpen(nowMs)) {
      int sent = writer.pushNew(sending, Math.min(left, pacer.room()), ts);
      left -= sent;
      if (events.isActive()) {
        reportNew(sent, nowMs);
      }
    }
  }

  /** The source is asked only when nothing is queued and a segment can leave. */
  private void sendPulled(int window, int ts, long nowMs) {
    while (puller.isReady()
        && sending.queued() == 0
        && inFlight() < window
        && pacer.isOpen(nowMs)
        && puller.pull()) {
      writer.pushNew(sending, 1, ts);
      if (events.isActive()) {
        reportNew(1, nowMs);
      }
    }
  }

  private void reportNew(int segments, long nowMs) {
    for (int sn = sending.next() - segments; sn != sending.next(); sn++) {
      events.sent(sn, sending.bytes(sending.index(sn)), 1, nowMs);
    }
  }

  /** Reports the flush, which has been written, to the congestion control and the tracer. */
  void reportFlush(int window, int fastRetransmit, long nowMs) {
    if (!events.isActive()) {
      return;
    }
    events.endFlush(inFlight(), window, fastRetransmit, nowMs);
    if (!puller.hasNew() && isWindowFree()) {
      events.applicationLimited(losses.unacknowledged());
    }
  }
}
