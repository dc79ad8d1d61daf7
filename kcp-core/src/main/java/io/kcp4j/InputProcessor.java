package io.kcp4j;

import io.kcp4j.congestion.AckSample;
import io.kcp4j.congestion.Pacer;
import io.netty.buffer.ByteBuf;

/** Takes in datagrams: acknowledgements, the peer's window, payload and window probes. */
final class InputProcessor {

  private final int conv;
  private final int tsOrigin;
  private final SendBuffer sending;
  private final SegmentPuller puller;
  private final LossDetector losses;
  private final ReceiveBuffer receiving;
  private final RemoteWindow remote;
  private final AdvertisedWindow advertised;
  private final RttEstimator rtt;
  private final SegmentEvents events;
  private final Pacer pacer;
  private final Liveness liveness;
  private final KcpCounters counters;

  /** Null while there is no tracer. */
  private Tracing tracing;

  private boolean windowOpened;
  private boolean lastInputStale;

  InputProcessor(
      int conv,
      int tsOrigin,
      SendBuffer sending,
      SegmentPuller puller,
      LossDetector losses,
      ReceiveBuffer receiving,
      RemoteWindow remote,
      AdvertisedWindow advertised,
      RttEstimator rtt,
      SegmentEvents events,
      Pacer pacer,
      Liveness liveness,
      KcpCounters counters) {
    this.conv = conv;
    this.tsOrigin = tsOrigin;
    this.sending = sending;
    this.puller = puller;
    this.losses = losses;
    this.receiving = receiving;
    this.remote = remote;
    this.advertised = advertised;
    this.rtt = rtt;
    this.events = events;
    this.pacer = pacer;
    this.liveness = liveness;
    this.counters = counters;
  }

  /** Sets the tracer, or null for none. */
  void tracing(Tracing tracing) {
    this.tracing = tracing;
  }

  /** Takes in one datagram; see {@link Kcp#input}. */
  InputResult input(ByteBuf datagram, Origin origin, long nowUs) {
    if (!liveness.isOpen()) {
      return InputResult.SESSION_ENDED;
    }
    if (origin == Origin.NETWORK) {
      counters.add(KcpCounter.DATAGRAMS_IN, 1);
      counters.add(KcpCounter.BYTES_IN, datagram.readableBytes());
    }
    InputResult result = DatagramValidator.validate(datagram, conv, sending.next());
    switch (result) {
      case ACCEPTED -> {
        if (tracing != null) {
          tracing.at(nowUs);
          tracing.datagramReceived(datagram.readableBytes(), origin);
        }
        apply(datagram, origin, nowUs);
      }
      case MALFORMED -> counters.add(KcpCounter.MALFORMED, 1);
      case WRONG_CONV -> counters.add(KcpCounter.WRONG_CONV, 1);
      case UNKNOWN_COMMAND -> counters.add(KcpCounter.UNKNOWN_COMMAND, 1);
      case ACKNOWLEDGES_UNSENT -> counters.add(KcpCounter.ACKNOWLEDGES_UNSENT, 1);
      case SESSION_ENDED -> throw new AssertionError(result);
    }
    return result;
  }

  /**
   * Applies a datagram. Every ACK comes before any {@code una}, which would drop the segment that
   * the ACK has to be compared with: protocol.md 2.3.
   */
  private void apply(ByteBuf datagram, Origin origin, long nowUs) {
    advertised.received(nowUs);
    int newestUna = remote.una();
    int rttSampleUs = AckSample.NO_RTT;
    int unacknowledged = losses.unacknowledged();
    int segments = 0;
    int end = datagram.writerIndex();
    int index = datagram.readerIndex();
    int una = Segment.una(Segment.third(datagram, index));
    while (end - index >= Segment.HEADER_BYTES && liveness.failure() == null) {
      segments++;
      long first = Segment.first(datagram, index);
      long second = Segment.second(datagram, index);
      long third = Segment.third(datagram, index);
      int segmentUna = Segment.una(third);
      if (origin == Origin.NETWORK) {
        updateRemoteWindow(segmentUna, Segment.wnd(first));
      }
      if (segmentUna - una > 0) {
        una = segmentUna;
      }
      int length = Segment.length(third);
      switch (Segment.cmd(first)) {
        case Segment.ACK -> rttSampleUs = acknowledge(second, nowUs, rttSampleUs);
        case Segment.PUSH -> push(first, second, datagram, index, length);
        case Segment.WASK -> advertised.requestUpdate();
        default -> {} // WINS: its window has been taken above
      }
      index += Segment.HEADER_BYTES + length;
    }
    receiving.acks().endDatagram();
    counters.add(KcpCounter.SEGMENTS_IN, segments);
    lastInputStale = una - newestUna < 0;
    if (origin == Origin.RECOVERED) {
      rttSampleUs = AckSample.NO_RTT;
    }
    if (rttSampleUs >= 0) {
      rtt.sample(rttSampleUs);
    }
    acknowledgeBelow(una, unacknowledged, rttSampleUs, nowUs);
  }

  private void updateRemoteWindow(int una, int wnd) {
    if (remote.update(una, wnd, sending)) {
      windowOpened = puller.hasNew();
    }
  }

  private void push(long first, long second, ByteBuf datagram, int index, int length) {
    int payload = index + Segment.HEADER_BYTES;
    int frg = Segment.frg(first);
    receiving.push(Segment.sn(second), Segment.ts(second), frg, datagram, payload, length);
    failOnBadFragments();
  }

  /** Takes one ACK, returns the shortest round trip of the datagram so far: protocol.md 2.4. */
  private int acknowledge(long second, long nowUs, int rttSampleUs) {
    int sn = Segment.sn(second);
    int ts = Segment.ts(second);
    if (!sending.isAwaited(sn)) {
      return rttSampleUs;
    }
    int index = sending.index(sn);
    boolean genuine = losses.wasSentAt(index, ts);
    int rttUs = losses.rttUs(index, ts, tsOrigin, nowUs);
    if (events.isActive()) {
      events.acknowledged(sn, sending.bytes(index), nowUs);
    }
    sending.acknowledge(sn, ts, rttUs, nowUs);
    if (!genuine) {
      counters.add(KcpCounter.INVALID_TIMESTAMP, 1);
      return rttSampleUs;
    }
    return rttSampleUs < 0 ? rttUs : Math.min(rttUs, rttSampleUs);
  }

  /**
   * Ends the acknowledgements of a datagram, before which so many segments were {@code
   * unacknowledged}.
   */
  private void acknowledgeBelow(int una, int unacknowledged, int rttSampleUs, long nowUs) {
    int unaBefore = sending.una();
    if (events.isActive()) {
      reportBelow(una, nowUs);
    }
    if (una - unaBefore > 0) {
      losses.unaAdvances(sending.index(unaBefore), nowUs);
    }
    sending.acknowledgeBelow(una, nowUs);
    boolean advanced = sending.una() != unaBefore;
    if (events.isActive()) {
      int inFlight = losses.unacknowledged();
      events.endInput(rttSampleUs, advanced, inFlight, remote.segments(), nowUs);
    }
    if (advanced) {
      if (sending.una() != sending.next()) {
        losses.unaAdvanced(sending.index(sending.una()), nowUs);
      }
      windowOpened = puller.hasNew();
    }
    int acknowledged = unacknowledged - losses.unacknowledged();
    if (acknowledged != 0) {
      liveness.progress(nowUs);
      pacer.acknowledged(acknowledged, nowUs);
    }
  }

  private void reportBelow(int una, long nowUs) {
    for (int sn = sending.una(); sn - una < 0; sn++) {
      if (sending.isAwaited(sn)) {
        events.acknowledged(sn, sending.bytes(sending.index(sn)), nowUs);
      }
    }
  }

  /** Fails the session if fragments have come that do not count down. */
  void failOnBadFragments() {
    if (receiving.isViolated()) {
      liveness.fail(KcpFailure.PROTOCOL_VIOLATION);
    }
  }

  /** Whether queued segments may have become sendable since the end of the last batch. */
  boolean isWindowOpened() {
    return windowOpened;
  }

  /** A batch has ended. */
  void endBatch() {
    windowOpened = false;
  }

  /** See {@link Kcp#isLastInputStale}. */
  boolean isLastInputStale() {
    return lastInputStale;
  }
}
