package io.kcp4j.lanes;

import io.kcp4j.Kcp;
import io.kcp4j.KcpTracer;

/** Reports what happens on lanes to the tracer of the session, if there is one. */
final class LaneTracing {

  private LaneTracing() {}

  static void messageSent(Kcp kcp, Lane lane, int bytes) {
    KcpTracer tracer = kcp.tracer();
    if (tracer != null) {
      tracer.laneMessageSent(kcp.tracedAtUs(), lane.id(), bytes);
    }
  }

  static void messageReceived(Kcp kcp, Lane lane, int bytes) {
    KcpTracer tracer = kcp.tracer();
    if (tracer != null) {
      tracer.laneMessageReceived(kcp.tracedAtUs(), lane.id(), bytes);
    }
  }

  static void blocked(Kcp kcp, Lane lane) {
    KcpTracer tracer = kcp.tracer();
    if (tracer != null) {
      tracer.laneBlocked(kcp.tracedAtUs(), lane.id());
    }
  }

  static void outputEnded(Kcp kcp, Lane lane) {
    KcpTracer tracer = kcp.tracer();
    if (tracer != null) {
      tracer.laneOutputEnded(kcp.tracedAtUs(), lane.id());
    }
  }

  static void inputEnded(Kcp kcp, Lane lane) {
    KcpTracer tracer = kcp.tracer();
    if (tracer != null) {
      tracer.laneInputEnded(kcp.tracedAtUs(), lane.id());
    }
  }
}
