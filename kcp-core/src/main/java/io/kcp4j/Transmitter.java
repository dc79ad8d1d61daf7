package io.kcp4j;

/** Sends segments in a flush, lost ones first, as far as the windows and the pacer allow. */
final class Transmitter {

  private Transmitter() {}

  /** The window in force: how far beyond {@code una} segments may be in flight. */
  static int window(Kcp kcp) {
    int sendWindow = kcp.events.sendWindow();
    return Math.min(Math.min(sendWindow, kcp.remote.segments()), kcp.events.window());
  }

  /** Whether there is anything new to send: segments that are queued, or that can be pulled. */
  static boolean hasNew(Kcp kcp) {
    return kcp.sending.queued() > 0 || (kcp.puller != null && kcp.puller.isReady());
  }

  /** Whether there are new segments, and the window and the limit have room for one. */
  static boolean isNewAllowed(Kcp kcp) {
    return hasNew(kcp)
        && isWindowFree(kcp)
        && (kcp.sendLimit == null || kcp.sendLimit.isNewAllowed(0));
  }

  static boolean isWindowFree(Kcp kcp) {
    return inFlight(kcp) < window(kcp);
  }

  /** Whether there are new segments and the peer has no room for any. */
  static boolean isRemoteWindowClosed(Kcp kcp) {
    return kcp.remote.segments() == 0 && hasNew(kcp);
  }

  /** Segments from the oldest that is unacknowledged to the newest sent. */
  static int inFlight(Kcp kcp) {
    return kcp.sending.next() - kcp.sending.una();
  }

  /** Whether there is anything to send, though it may have to wait for the window or the pacer. */
  static boolean isDue(Kcp kcp, long nowUs) {
    return hasNew(kcp) || kcp.losses.isSearchDue(false, nowUs);
  }

  /**
   * Writes all that may leave now.
   *
   * @param window the window in force
   * @param ts the timestamp of the segments
   */
  static void transmit(Kcp kcp, int window, int ts, long nowUs) {
    retransmitLost(kcp, isNewAllowed(kcp), ts, nowUs);
    if (kcp.losses.unacknowledged() == 0) {
      kcp.liveness.progress(nowUs);
    }
    sendQueued(kcp, window, ts, nowUs);
    if (kcp.puller != null) {
      sendPulled(kcp, kcp.puller, window, ts, nowUs);
    }
    if (kcp.sendLimit != null && kcp.sendLimit.isChallengeWanted()) {
      kcp.writer.challenge(ts);
    }
  }

  private static void retransmitLost(Kcp kcp, boolean newAllowed, int ts, long nowUs) {
    LossDetector losses = kcp.losses;
    if (!losses.isSearchDue(newAllowed, nowUs)) {
      return;
    }
    int retransmitted = 0;
    boolean tellsBlackHole = kcp.isBlackHolePossible();
    while (kcp.pacer.isOpen(nowUs)) {
      int index = nextLost(kcp, newAllowed, nowUs);
      if (index == LossDetector.NONE) {
        break;
      }
      if (tellsBlackHole && losses.transmissions(index) >= BlackHoleDetector.LOSSES) {
        tellsBlackHole = kcp.blackHoles().lost(index);
      }
      retransmit(kcp, index, ts, nowUs);
      retransmitted++;
    }
    if (retransmitted > 0 && !kcp.isOutageProbed()) {
      copyLast(kcp, retransmitted, ts);
    }
    if (kcp.blackHoles != null) {
      kcp.blackHoles.probe(ts, nowUs);
    }
  }

  /** Those that leave at the end of an outage come first: the peer waits for them. */
  private static int nextLost(Kcp kcp, boolean newAllowed, long nowUs) {
    int index = kcp.outage == null ? LossDetector.NONE : kcp.outage.nextOldest();
    if (index != LossDetector.NONE) {
      kcp.losses.takeExtra();
      return index;
    }
    return kcp.losses.nextLost(newAllowed, kcp.sending.index(kcp.sending.una()), nowUs);
  }

  private static void retransmit(Kcp kcp, int index, int ts, long nowUs) {
    LossDetector losses = kcp.losses;
    LossCause cause = losses.cause();
    if (cause == LossCause.TIMEOUT) {
      kcp.timedOut(nowUs);
    }
    boolean isSent = kcp.writer.retransmit(index, ts);
    losses.retransmitted(index, ts, nowUs);
    if (!isSent) { // As if it had been lost.
      kcp.writer.challenge(ts);
      return;
    }
    if (kcp.events.isActive()) {
      int sn = kcp.sending.sn(index);
      kcp.events.lost(sn, cause, nowUs);
      kcp.events.sent(sn, kcp.sending.bytes(index), losses.transmissions(index), nowUs);
    }
    kcp.counters.add(cause.counter(), 1);
    kcp.counters.add(KcpCounter.RETRANSMITTED, 1);
    kcp.liveness.retransmitted(index, ts - losses.firstTs(index));
  }

  /**
   * Writes those of the last {@code segments} that leave twice once more, into datagrams of their
   * own: the segments behind a lost one wait for it, so losing it again costs more than a copy
   * does.
   */
  private static void copyLast(Kcp kcp, int segments, int ts) {
    TransmissionOrder order = kcp.losses.order;
    int index = order.tail();
    for (int i = 1; i < segments; i++) {
      index = order.previous(index);
    }
    int copies = 0;
    for (; index != LossDetector.NONE; index = order.next(index)) {
      if (!kcp.losses.isCopied(index)) {
        continue;
      }
      if (copies == 0) {
        kcp.writer.endDatagram();
      }
      copies += kcp.writer.retransmit(index, ts) ? 1 : 0;
    }
    kcp.counters.add(KcpCounter.COPIES_OUT, copies);
  }

  private static void sendQueued(Kcp kcp, int window, int ts, long nowUs) {
    int left = Math.min(kcp.sending.queued(), window - inFlight(kcp));
    if (left > 0) {
      kcp.sentNew(nowUs);
    }
    while (left > 0 && kcp.pacer.isOpen(nowUs) && kcp.writer.isNewAllowed()) {
      int sent = kcp.writer.pushNew(Math.min(left, kcp.pacer.room()), ts);
      left -= sent;
      if (kcp.events.isActive()) {
        reportNew(kcp, sent, nowUs);
        if (left == 0 && isNewestSmall(kcp)) {
          left = Math.min(kcp.sending.queued(), window(kcp) - inFlight(kcp));
        }
      }
    }
  }

  /**
   * Whether the newest segment takes less than half of the room of a full one. A congestion control
   * whose window is one of bytes counts full segments: after small ones it may have room for more.
   */
  private static boolean isNewestSmall(Kcp kcp) {
    int index = kcp.sending.index(kcp.sending.next() - 1);
    return 2 * kcp.sending.bytes(index) < kcp.mssBytes();
  }

  /** The source is asked only when nothing is queued, and for what can leave. */
  private static void sendPulled(Kcp kcp, SegmentPuller puller, int window, int ts, long nowUs) {
    while (puller.isReady()
        && kcp.sending.queued() == 0
        && inFlight(kcp) < window
        && kcp.pacer.isOpen(nowUs)
        && kcp.writer.isNewAllowed()) {
      int most = Math.min(window - inFlight(kcp), kcp.pacer.room());
      if (puller.pull(most, kcp.writer.enoughPayloadBytes()) == 0) {
        return;
      }
      sendQueued(kcp, window, ts, nowUs);
    }
  }

  private static void reportNew(Kcp kcp, int segments, long nowUs) {
    SendBuffer sending = kcp.sending;
    for (int sn = sending.next() - segments; sn != sending.next(); sn++) {
      kcp.events.sent(sn, sending.bytes(sending.index(sn)), 1, nowUs);
    }
  }

  /** Reports the flush, which has been written, to the congestion control and the tracer. */
  static void reportFlush(Kcp kcp, int window, long nowUs) {
    if (!kcp.events.isActive()) {
      return;
    }
    kcp.events.endFlush(inFlight(kcp), window, kcp.config().fastRetransmit(), nowUs);
    if (!hasNew(kcp) && isWindowFree(kcp)) {
      kcp.events.applicationLimited(kcp.losses.unacknowledged());
    }
  }
}
