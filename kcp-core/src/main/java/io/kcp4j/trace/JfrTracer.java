package io.kcp4j.trace;

import io.kcp4j.EndReason;
import io.kcp4j.KcpTracer;
import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.KcpTracer.Origin;
import java.util.Objects;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/**
 * Commits what a session does as events of the JDK Flight Recorder, in category {@code kcp4j}. Each
 * event names its session. {@code kcp4j.State}, {@code kcp4j.Congestion} and {@code
 * kcp4j.SessionFailed} are enabled by default; those of single datagrams and segments are not,
 * since a fast session has hundreds of thousands a second: enable them in the settings of the
 * recording, for instance by {@code kcp4j.SegmentLost#enabled=true}.
 *
 * <p>Needs the module {@code jdk.jfr}. An event that is not enabled costs a few nanoseconds.
 */
public final class JfrTracer implements KcpTracer {

  private final String session;

  /**
   * Makes a tracer of one session.
   *
   * @param session what its events name the session by, for instance the peer's address and conv
   */
  public JfrTracer(String session) {
    this.session = Objects.requireNonNull(session, "session");
  }

  @Override
  public void datagramsSent(long nowUs, int datagrams, int bytesEach) {
    DatagramsSent event = new DatagramsSent();
    if (event.shouldCommit()) {
      event.session = session;
      event.datagrams = datagrams;
      event.bytesEach = bytesEach;
      event.commit();
    }
  }

  @Override
  public void datagramReceived(long nowUs, int bytes, Origin origin) {
    DatagramReceived event = new DatagramReceived();
    if (event.shouldCommit()) {
      event.session = session;
      event.bytes = bytes;
      event.recovered = origin == Origin.RECOVERED;
      event.commit();
    }
  }

  @Override
  public void segmentSent(long nowUs, int sn, int payloadBytes, int transmission) {
    SegmentSent event = new SegmentSent();
    if (event.shouldCommit()) {
      event.session = session;
      event.sn = Integer.toUnsignedLong(sn);
      event.payloadBytes = payloadBytes;
      event.transmission = transmission;
      event.commit();
    }
  }

  @Override
  public void segmentLost(long nowUs, int sn, LossCause cause) {
    SegmentLost event = new SegmentLost();
    if (event.shouldCommit()) {
      event.session = session;
      event.sn = Integer.toUnsignedLong(sn);
      event.cause = cause.name();
      event.commit();
    }
  }

  @Override
  public void acknowledged(long nowUs, int una, int segments, int rttUs) {
    Acknowledged event = new Acknowledged();
    if (event.shouldCommit()) {
      event.session = session;
      event.una = Integer.toUnsignedLong(una);
      event.segments = segments;
      event.rtt = rttUs;
      event.commit();
    }
  }

  @Override
  public void stateUpdated(
      long nowUs,
      int srttUs,
      int rttVarUs,
      int rtoUs,
      int congestionWindow,
      int remoteWindow,
      int inFlight,
      int queued) {
    State event = new State();
    if (event.shouldCommit()) {
      event.session = session;
      event.srtt = srttUs;
      event.rttVar = rttVarUs;
      event.rto = rtoUs;
      event.congestionWindow = congestionWindow;
      event.remoteWindow = remoteWindow;
      event.inFlight = inFlight;
      event.queued = queued;
      event.commit();
    }
  }

  @Override
  public void congestionUpdated(
      long nowUs,
      String state,
      long pacingBytesPerSecond,
      long bandwidthBytesPerSecond,
      int queueUs,
      boolean isApplicationLimited) {
    Congestion event = new Congestion();
    if (event.shouldCommit()) {
      event.session = session;
      event.state = state;
      event.pacingRate = pacingBytesPerSecond;
      event.bandwidth = bandwidthBytesPerSecond;
      event.queue = queueUs;
      event.applicationLimited = isApplicationLimited;
      event.commit();
    }
  }

  @Override
  public void laneMessageSent(long nowUs, int lane, int bytes) {
    LaneMessageSent event = new LaneMessageSent();
    if (event.shouldCommit()) {
      event.session = session;
      event.lane = lane;
      event.bytes = bytes;
      event.commit();
    }
  }

  @Override
  public void laneMessageReceived(long nowUs, int lane, int bytes) {
    LaneMessageReceived event = new LaneMessageReceived();
    if (event.shouldCommit()) {
      event.session = session;
      event.lane = lane;
      event.bytes = bytes;
      event.commit();
    }
  }

  @Override
  public void laneBlocked(long nowUs, int lane) {
    commit(new LaneBlocked(), lane);
  }

  @Override
  public void laneOutputEnded(long nowUs, int lane) {
    commit(new LaneOutputEnded(), lane);
  }

  @Override
  public void laneInputEnded(long nowUs, int lane) {
    commit(new LaneInputEnded(), lane);
  }

  private void commit(LaneEvent event, int lane) {
    if (event.shouldCommit()) {
      event.session = session;
      event.lane = lane;
      event.commit();
    }
  }

  @Override
  public void failed(long nowUs, EndReason failure) {
    SessionFailed event = new SessionFailed();
    if (event.shouldCommit()) {
      event.session = session;
      event.failure = failure.name();
      event.commit();
    }
  }

  @Category("kcp4j")
  @StackTrace(false)
  abstract static class SessionEvent extends Event {
    @Label("Session")
    String session;
  }

  @Name("kcp4j.DatagramsSent")
  @Label("Datagrams sent")
  @Enabled(false)
  static final class DatagramsSent extends SessionEvent {
    @Label("Datagrams")
    int datagrams;

    @Label("Size of each")
    @DataAmount
    int bytesEach;
  }

  @Name("kcp4j.DatagramReceived")
  @Label("Datagram received")
  @Enabled(false)
  static final class DatagramReceived extends SessionEvent {
    @Label("Size")
    @DataAmount
    int bytes;

    @Label("Recovered by FEC")
    boolean recovered;
  }

  @Name("kcp4j.SegmentSent")
  @Label("Segment sent")
  @Enabled(false)
  static final class SegmentSent extends SessionEvent {
    @Label("Sequence number")
    long sn;

    @Label("Payload")
    @DataAmount
    int payloadBytes;

    @Label("Transmission")
    @Description("1 for the first transmission, more for a retransmission")
    int transmission;
  }

  @Name("kcp4j.SegmentLost")
  @Label("Segment lost")
  @Enabled(false)
  static final class SegmentLost extends SessionEvent {
    @Label("Sequence number")
    long sn;

    @Label("Cause")
    String cause;
  }

  @Name("kcp4j.Acknowledged")
  @Label("Segments acknowledged")
  @Enabled(false)
  static final class Acknowledged extends SessionEvent {
    @Label("Una")
    @Description("The peer has received every segment below this sequence number")
    long una;

    @Label("Newly acknowledged segments")
    int segments;

    @Label("Round-trip time")
    @Description("-1 if the datagram gave none")
    @Timespan(Timespan.MICROSECONDS)
    long rtt;
  }

  @Name("kcp4j.State")
  @Label("State of congestion and flow control")
  static final class State extends SessionEvent {
    @Label("Smoothed round-trip time")
    @Timespan(Timespan.MICROSECONDS)
    long srtt;

    @Label("Round-trip time variation")
    @Timespan(Timespan.MICROSECONDS)
    long rttVar;

    @Label("Retransmission timeout")
    @Timespan(Timespan.MICROSECONDS)
    long rto;

    @Label("Congestion window")
    @Description("In segments")
    int congestionWindow;

    @Label("Remote window")
    @Description("The receive window that the peer advertised last, in segments")
    int remoteWindow;

    @Label("Segments in flight")
    int inFlight;

    @Label("Segments queued")
    int queued;
  }

  @Name("kcp4j.Congestion")
  @Label("Congestion control")
  static final class Congestion extends SessionEvent {
    @Label("State")
    String state;

    @Label("Pacing rate")
    @Description("In bytes per second, or 0 for no limit")
    long pacingRate;

    @Label("Bandwidth")
    @Description("In bytes of segments per second, or 0 if it is not known")
    long bandwidth;

    @Label("Queue")
    @Description("How long datagrams wait in the queue of the path")
    @Timespan(Timespan.MICROSECONDS)
    long queue;

    @Label("Application-limited")
    boolean applicationLimited;
  }

  abstract static class LaneEvent extends SessionEvent {
    @Label("Lane")
    int lane;
  }

  @Name("kcp4j.LaneMessageSent")
  @Label("Message of a lane sent")
  @Enabled(false)
  static final class LaneMessageSent extends LaneEvent {
    @Label("Size")
    @DataAmount
    int bytes;
  }

  @Name("kcp4j.LaneMessageReceived")
  @Label("Message of a lane received")
  @Enabled(false)
  static final class LaneMessageReceived extends LaneEvent {
    @Label("Size")
    @DataAmount
    int bytes;
  }

  @Name("kcp4j.LaneBlocked")
  @Label("Lane waits for the peer to read")
  @Enabled(false)
  static final class LaneBlocked extends LaneEvent {}

  @Name("kcp4j.LaneOutputEnded")
  @Label("Lane ended by this side")
  @Enabled(false)
  static final class LaneOutputEnded extends LaneEvent {}

  @Name("kcp4j.LaneInputEnded")
  @Label("Lane ended by the peer")
  @Enabled(false)
  static final class LaneInputEnded extends LaneEvent {}

  @Name("kcp4j.SessionFailed")
  @Label("Session failed")
  static final class SessionFailed extends SessionEvent {
    @Label("Failure")
    String failure;
  }
}
