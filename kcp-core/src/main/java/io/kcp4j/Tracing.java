package io.kcp4j;

import io.kcp4j.congestion.CongestionControl;

/** Reports a session's events to its {@link KcpTracer}. Made for sessions that have one. */
final class Tracing {

  private final KcpTracer tracer;
  private final Kcp kcp;

  private long nowUs;

  Tracing(KcpTracer tracer, Kcp kcp) {
    this.tracer = tracer;
    this.kcp = kcp;
  }

  /** Sets the time of the events that follow. */
  void at(long nowUs) {
    this.nowUs = nowUs;
  }

  KcpTracer tracer() {
    return tracer;
  }

  long nowUs() {
    return nowUs;
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

  /** A datagram has acknowledged so many segments; {@code rttUs} is negative if it gave none. */
  void acknowledged(int segments, int rttUs) {
    tracer.acknowledged(nowUs, kcp.sending.una(), segments, rttUs);
  }

  void state(int congestionWindow) {
    tracer.stateUpdated(
        nowUs,
        kcp.rtt.srttUs(),
        kcp.rtt.rttVarUs(),
        kcp.losses.timeoutUs(),
        congestionWindow,
        kcp.remote.segments(),
        kcp.losses.unacknowledged(),
        kcp.sending.queued());
  }

  void congestion(CongestionControl control, boolean isApplicationLimited) {
    tracer.congestionUpdated(
        nowUs,
        control.state(),
        control.pacingBytesPerSecond(),
        control.bandwidthBytesPerSecond(),
        control.queueUs(),
        isApplicationLimited);
  }

  void failed(KcpFailure failure) {
    tracer.failed(nowUs, failure);
  }

  void closed() {
    tracer.closed();
  }
}
