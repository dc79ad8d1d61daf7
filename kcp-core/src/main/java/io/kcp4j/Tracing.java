package io.kcp4j;

/** Reports a session's events to its {@link KcpTracer}. Made for sessions that have one. */
final class Tracing {

  private static final int US_PER_MS = 1000;

  private final KcpTracer tracer;
  private final SendBuffer sending;
  private final LossDetector losses;
  private final RemoteWindow remote;
  private final RttEstimator rtt;

  private long nowUs;

  Tracing(
      KcpTracer tracer,
      SendBuffer sending,
      LossDetector losses,
      RemoteWindow remote,
      RttEstimator rtt) {
    this.tracer = tracer;
    this.sending = sending;
    this.losses = losses;
    this.remote = remote;
    this.rtt = rtt;
  }

  /** Sets the time of the events that follow. */
  void at(long nowMs) {
    nowUs = nowMs * US_PER_MS;
  }

  void datagramsSent(int datagrams, int bytesEach) {
    tracer.datagramsSent(nowUs, datagrams, bytesEach);
  }

  void datagramReceived(int bytes, Origin origin) {
    tracer.datagramReceived(nowUs, bytes, origin);
  }

  void sent(int sn, int bytes, int transmissions) {
    tracer.segmentSent(nowUs, sn, bytes - Segment.HEADER_BYTES, transmissions);
  }

  void lost(int sn, LossCause cause) {
    tracer.segmentLost(nowUs, sn, cause);
  }

  /** A datagram has acknowledged so many segments; {@code rttMs} is negative if it gave none. */
  void acknowledged(int segments, int rttMs, int congestionWindow) {
    int rttUs = rttMs < 0 ? -1 : rttMs * US_PER_MS;
    tracer.acknowledged(nowUs, sending.una(), segments, rttUs);
    state(congestionWindow);
  }

  void state(int congestionWindow) {
    tracer.stateUpdated(
        nowUs,
        rtt.srttMs() * US_PER_MS,
        rtt.rttVarMs() * US_PER_MS,
        rtt.rtoMs() * US_PER_MS,
        congestionWindow,
        remote.segments(),
        losses.unacknowledged(),
        sending.queued());
  }

  void failed(KcpFailure failure) {
    tracer.failed(nowUs, failure);
  }

  void closed() {
    tracer.closed();
  }
}
