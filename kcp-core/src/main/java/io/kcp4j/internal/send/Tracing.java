package io.kcp4j.internal.send;

import io.kcp4j.CongestionControl;
import io.kcp4j.EndReason;
import io.kcp4j.KcpTracer;
import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.wire.Segment;

/** Reports a session's events to its {@link KcpTracer}. Made for sessions that have one. */
public final class Tracing {

  public final KcpTracer tracer;
  private final Sender sender;

  private long nowUs;

  public Tracing(KcpTracer tracer, Sender sender) {
    this.tracer = tracer;
    this.sender = sender;
  }

  /** Sets the time of the events that follow. */
  public void at(long nowUs) {
    this.nowUs = nowUs;
  }

  public KcpTracer tracer() {
    return tracer;
  }

  public long nowUs() {
    return nowUs;
  }

  public void datagramsSent(int datagrams, int bytesEach) {
    tracer.datagramsSent(nowUs, datagrams, bytesEach);
  }

  public void datagramReceived(int bytes, Origin origin) {
    tracer.datagramReceived(nowUs, bytes, origin);
  }

  public void sent(int sn, int bytes, int transmissions) {
    tracer.segmentSent(nowUs, sn, bytes - Segment.HEADER_BYTES, transmissions);
  }

  void lost(int sn, LossCause cause) {
    tracer.segmentLost(nowUs, sn, cause);
  }

  /** A datagram has acknowledged so many segments; {@code rttUs} is negative if it gave none. */
  void acknowledged(int segments, int rttUs) {
    tracer.acknowledged(nowUs, sender.buffer.una(), segments, rttUs);
  }

  void state(int congestionWindow) {
    tracer.stateUpdated(
        nowUs,
        sender.rtt.srttUs(),
        sender.rtt.rttVarUs(),
        sender.losses.timeoutUs(),
        congestionWindow,
        sender.remote.segments(),
        sender.losses.unacknowledged(),
        sender.buffer.queued());
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

  void failed(EndReason failure) {
    tracer.failed(nowUs, failure);
  }

  public void closed() {
    tracer.closed();
  }
}
