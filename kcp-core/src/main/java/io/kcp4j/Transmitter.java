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
  void transmit(int window, int ts, long nowUs) {
    retransmitLost(isNewAllowed(), ts, nowUs);
    if (losses.unacknowledged() == 0) {
      liveness.progress(nowUs);
    }
    sendQueued(window, ts, nowUs);
    sendPulled(window, ts, nowUs);
  }

  private void retransmitLost(boolean newAllowed, int ts, long nowUs) {
    if (!losses.isSearchDue(newAllowed, nowUs)) {
      return;
    }
    int retransmitted = 0;
    while (pacer.isOpen(nowUs)) {
      int index = losses.nextLost(newAllowed, nowUs);
      if (index == LossDetector.NONE) {
        break;
      }
      retransmit(index, ts, nowUs);
      retransmitted++;
    }
    if (retransmitted > 0 && losses.isCopying()) {
      copyLast(retransmitted, ts);
    }
  }

  private void retransmit(int index, int ts, long nowUs) {
    LossCause cause = losses.cause();
    writer.retransmit(sending, index, ts);
    losses.retransmitted(index, ts, nowUs);
    if (events.isActive()) {
      int sn = sending.sn(index);
      events.lost(sn, cause, nowUs);
      events.sent(sn, sending.bytes(index), losses.transmissions(index), nowUs);
    }
    counters.add(cause.counter(), 1);
    counters.add(KcpCounter.RETRANSMITTED, 1);
    liveness.retransmitted(losses.transmissions(index), ts - losses.firstTs(index));
  }

  /**
   * Writes the last {@code segments} that were sent once more, into datagrams of their own: the
   * segments behind a lost one wait for it, so losing it again costs more than a copy does.
   */
  private void copyLast(int segments, int ts) {
    int index = losses.order.tail();
    for (int i = 1; i < segments; i++) {
      index = losses.order.previous(index);
    }
    writer.endDatagram();
    for (; index != LossDetector.NONE; index = losses.order.next(index)) {
      writer.retransmit(sending, index, ts);
    }
    counters.add(KcpCounter.COPIES_OUT, segments);
  }

  private void sendQueued(int window, int ts, long nowUs) {
    int left = Math.min(sending.queued(), window - inFlight());
    while (left > 0 && pacer.isOpen(nowUs)) {
      int sent = writer.pushNew(sending, Math.min(left, pacer.room()), ts);
      left -= sent;
      if (events.isActive()) {
        reportNew(sent, nowUs);
      }
    }
  }

  /** The source is asked only when nothing is queued and a segment can leave. */
  private void sendPulled(int window, int ts, long nowUs) {
    while (puller.isReady()
        && sending.queued() == 0
        && inFlight() < window
        && pacer.isOpen(nowUs)
        && puller.pull()) {
      writer.pushNew(sending, 1, ts);
      if (events.isActive()) {
        reportNew(1, nowUs);
      }
    }
  }

  private void reportNew(int segments, long nowUs) {
    for (int sn = sending.next() - segments; sn != sending.next(); sn++) {
      events.sent(sn, sending.bytes(sending.index(sn)), 1, nowUs);
    }
  }

  /** Reports the flush, which has been written, to the congestion control and the tracer. */
  void reportFlush(int window, int fastRetransmit, long nowUs) {
    if (!events.isActive()) {
      return;
    }
    events.endFlush(inFlight(), window, fastRetransmit, nowUs);
    if (!puller.hasNew() && isWindowFree()) {
      events.applicationLimited(losses.unacknowledged());
    }
  }
}
