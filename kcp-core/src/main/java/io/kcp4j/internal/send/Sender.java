package io.kcp4j.internal.send;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.congestion.Pacer;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.path.AmplificationLimit;
import io.kcp4j.internal.recovery.LossDetector;
import io.kcp4j.internal.recovery.RttEstimator;
import io.kcp4j.internal.wire.KcpExtension;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.SegmentSource;
import io.kcp4j.internal.wire.Time;
import io.kcp4j.internal.wire.Timestamps;

/**
 * The sending half of a session: the segments that are queued and in flight, and all that decides
 * when they leave. The parts refer to each other through this class.
 *
 * <p>At most a window of segments is in flight: the smallest of the send window, the free receive
 * window that the peer advertises, and the window of the congestion control.
 */
public final class Sender {

  /** A peer is challenged after this number of segments in order, though nothing waits. */
  private static final int CHALLENGE_SEGMENTS = 8;

  public final int firstSn;
  public final KcpCounters counters;
  public final MemoryAccount memory;
  public final Timestamps timestamps;
  public final PacketSize size = new PacketSize();
  public final RttEstimator rtt;
  public final LossDetector losses;
  public final SendBuffer buffer;
  public final RemoteWindow remote;
  public final Pacer pacer = new Pacer();
  public final ZeroWindowProbe probe = new ZeroWindowProbe();
  public final UserTimeout userTimeout = new UserTimeout(this);
  public final SendQueueLimit queueLimit = new SendQueueLimit(this);
  public final SegmentEvents events;

  /** The settings in force. */
  public KcpConfig config;

  /** Null while there is no source. */
  private SegmentPuller puller;

  /** Null while there is no tracer. */
  public Tracing tracing;

  /** Null while there is no extension. */
  public KcpExtension extension;

  /** Null unless the peer's address is not validated. */
  public AmplificationLimit limit;

  /** Null before the first outage. */
  public Outage outage;

  /** Null before the first write after a pause, or the first outage. */
  private RttProbe rttProbe;

  /** Null until a large segment has been lost often. */
  private BlackHoleDetector blackHoles;

  /** Whether the peer has sent something that was received in order. */
  private boolean hasReceived;

  private boolean isClosed;

  public Sender(
      KcpConfig config,
      MemoryAccount memory,
      RttEstimator rtt,
      LossDetector losses,
      SendBuffer buffer,
      Timestamps timestamps,
      KcpCounters counters,
      int firstSn) {
    this.config = config;
    this.memory = memory;
    this.rtt = rtt;
    this.losses = losses;
    this.buffer = buffer;
    this.timestamps = timestamps;
    this.counters = counters;
    this.firstSn = firstSn;
    remote = new RemoteWindow(firstSn);
    size.set(config.mtuBytes(), KcpConfig.MAX_MTU_BYTES, 0, 0);
    events = new SegmentEvents(this);
    configureParts();
  }

  /** Takes over settings, which have been checked. */
  public void configure(KcpConfig config) {
    this.config = config;
    configureParts();
  }

  private void configureParts() {
    rtt.configure(config);
    losses.configure(config);
    pacer.configure(
        config.rateLimit(), config.intervalMs(), config.maxBurst(), size.maxPacketBytes());
  }

  /** Whether the session has neither failed nor been closed. */
  public boolean isOpen() {
    return !isClosed && userTimeout.failure() == null;
  }

  /** Releases every buffer. Nothing is sent any more. */
  public void close() {
    isClosed = true;
    puller = null;
    buffer.close();
  }

  public boolean isClosed() {
    return isClosed;
  }

  // The window

  /** The window in force: how far beyond {@code una} segments may be in flight. */
  public int window() {
    return Math.min(Math.min(events.sendWindow(), remote.segments()), events.window());
  }

  /** Segments from the oldest that is unacknowledged to the newest sent. */
  public int inFlight() {
    return buffer.next() - buffer.una();
  }

  public boolean isWindowFree() {
    return inFlight() < window();
  }

  /** Whether there are new segments and the peer has no room for any. */
  public boolean isRemoteWindowClosed() {
    return remote.segments() == 0 && hasNew();
  }

  // New segments

  /** Sets the source from which segments are pulled, or null for none. */
  public void source(SegmentSource source) {
    puller = source == null ? null : new SegmentPuller(this, source);
  }

  /** Null while there is no source. */
  public SegmentPuller puller() {
    return puller;
  }

  public boolean isSourceEmpty() {
    return puller == null || puller.isSourceEmpty();
  }

  /** Whether there is a source that has payload which may leave. */
  public boolean isSourceReady() {
    return puller != null && puller.isSourceReady();
  }

  /** Whether there is anything new to send: segments that are queued, or that can be pulled. */
  public boolean hasNew() {
    return buffer.queued() > 0 || (puller != null && puller.isReady());
  }

  /** Whether there are new segments, and the window and the limit have room for one. */
  public boolean isNewAllowed() {
    return hasNew() && isWindowFree() && isNextAllowed(0);
  }

  /** Whether there is anything to send, though it may have to wait for the window or the pacer. */
  public boolean isDue(long nowUs) {
    return hasNew() || losses.isSearchDue(false, nowUs);
  }

  /** New segments leave: those that are far apart give few samples of the round-trip time. */
  public void sentNew(long nowUs) {
    if (rttProbe != null || rtt.isStale(nowUs)) {
      rttProbe().sentNew(nowUs);
    }
  }

  /** Reports a flush, which has been written, to the congestion control and the tracer. */
  public void reportFlush(int window, long nowUs) {
    if (!events.isActive()) {
      return;
    }
    events.endFlush(inFlight(), window, config.fastRetransmit(), nowUs);
    if (!hasNew() && isWindowFree()) {
      events.applicationLimited(losses.unacknowledged());
    }
  }

  /** Tells the source of what the flush has sent. */
  public void endFlush() {
    if (puller != null) {
      puller.endFlush();
    }
  }

  // The amplification limit, while the peer's address is not validated

  /**
   * Whether the limit, if there is one, has room for the next new segment in a datagram of its own.
   *
   * @param unsentBytes what has been written in this flush, and does not count as sent yet
   */
  public boolean isNextAllowed(int unsentBytes) {
    if (limit == null) {
      return true;
    }
    int segmentBytes = nextBytes();
    int bytes = segmentBytes + size.overheadBytes() + unsentBytes;
    return limit.hasRoomForNew(bytes, segmentBytes, losses.unacknowledged() == 0);
  }

  /** The size of the next new segment; one that has to be pulled has the largest size. */
  private int nextBytes() {
    return buffer.queued() > 0
        ? buffer.bytes(buffer.firstQueued())
        : Segment.HEADER_BYTES + pulledPayloadBytes();
  }

  /** The largest payload of a segment that is pulled, while none is queued. */
  int pulledPayloadBytes() {
    return isFirstLimited()
        ? Math.min(AmplificationLimit.SMALL_PAYLOAD_BYTES, size.mssBytes())
        : size.mssBytes();
  }

  /**
   * Whether the address is not validated, and the first segment of the session has not been sent
   * and is the only one, if any.
   */
  boolean isFirstLimited() {
    return limit != null && buffer.next() == firstSn && buffer.queued() <= 1;
  }

  /** Whether new segments wait for the limit, and no ACK of one in flight can end that. */
  private boolean isBlocked() {
    return losses.unacknowledged() == 0
        && (hasNew() || queueLimit.isHeldBack())
        && isWindowFree()
        && !isNextAllowed(0);
  }

  /** Whether a path challenge is needed: no ACK of a segment in flight can validate the path. */
  public boolean isPathChallengeWanted() {
    return limit != null
        && (isBlocked() || (losses.unacknowledged() == 0 && limit.isChallengeRequested()));
  }

  /** A batch or a flush has ended: new segments may wait for the limit. */
  public void updateLimit(long nowUs) {
    if (limit != null) {
      limit.update(isBlocked(), isPathChallengeWanted(), nowUs);
    }
  }

  /** When the path has to be challenged, or {@link Time#NO_DEADLINE}. */
  public long pathChallengeAtUs() {
    return limit == null ? Time.NO_DEADLINE : limit.challengeAtUs();
  }

  /** Whether a message of the extension may leave in a flush that begins now. */
  public boolean isMessageAllowed() {
    return extension != null && (limit == null || limit.hasRoomForMessage(size.overheadBytes()));
  }

  // The peer

  /** The peer has sent {@code segments} that were received in order, since the beginning. */
  public void received(int segments) {
    hasReceived |= segments != 0;
    if (limit != null && segments >= CHALLENGE_SEGMENTS) {
      limit.requestChallenge();
    }
  }

  /** See {@link KcpExtension#isPeerDone}. */
  public boolean isPeerDone() {
    return extension != null && extension.isPeerDone();
  }

  /**
   * Whether a peer that is alive answers a challenge: it knows the session. Until the path is
   * validated, the peer is not challenged to show that it is alive.
   */
  public boolean isFreshnessExpected() {
    return limit == null && (hasReceived || buffer.una() != firstSn);
  }

  /** Whether a probe is unanswered. */
  public boolean isProbing() {
    return probe.isUnanswered() || (blackHoles != null && blackHoles.isProbing());
  }

  // Acknowledgements and timeouts

  /** Whether a segment in flight was sent first or last with this timestamp. */
  public boolean wasSent(int sn, int ts) {
    int index = buffer.index(sn);
    return buffer.isAwaited(sn)
        && (losses.firstTs(index) == ts || losses.isLastTransmission(index, ts));
  }

  /** The oldest segment in flight, if there is one, is sent without back-off from now on. */
  public void resetBackOff(long nowUs) {
    if (losses.unacknowledged() > 0) {
      losses.resetBackOff(buffer.index(buffer.una()), nowUs);
    }
  }

  /** Sends the oldest segment in flight again with the next flush, and resets its back-off. */
  public void retransmitFirst(long nowUs) {
    if (losses.unacknowledged() > 0) {
      int first = buffer.index(buffer.una());
      losses.resetBackOff(first, nowUs);
      losses.expire(first, nowUs);
    }
  }

  /**
   * A segment has timed out: an outage begins if nothing is acknowledged for a timeout.
   *
   * @param probeSlots those of the thread
   */
  public void timedOut(Outage.ProbeSlots probeSlots, long nowUs) {
    if (nowUs - userTimeout.progressAtUs() < losses.timeoutUs()) {
      return;
    }
    if (outage == null) {
      outage = new Outage(this, probeSlots);
    }
    outage.begin(nowUs);
  }

  /**
   * Whether there is an outage that has lasted until its first probe. Then any datagram has the
   * oldest segment sent again, at a rate that replays cannot raise.
   */
  public boolean isOutageProbed() {
    return outage != null && outage.isProbing();
  }

  /** When a probe of an outage or of the round-trip time is due, or {@link Time#NO_DEADLINE}. */
  public long probeAtUs() {
    long outageAtUs = outage == null ? Time.NO_DEADLINE : outage.deadlineUs();
    return Math.min(outageAtUs, rttProbeAtUs());
  }

  /** When the round-trip time is probed, or {@link Time#NO_DEADLINE}. */
  public long rttProbeAtUs() {
    return rttProbe == null ? Time.NO_DEADLINE : rttProbe.deadlineUs();
  }

  /**
   * A flush begins: requests the probes that are due.
   *
   * @param hasAcks whether it writes acknowledgements, whose datagram a probe can share
   */
  public void requestProbes(boolean hasAcks, long nowUs) {
    if (outage != null) {
      outage.beginFlush(nowUs);
    }
    if (rttProbe != null) {
      rttProbe.beginFlush(hasAcks, nowUs);
    }
  }

  /** The probes of the round-trip time, which are made if there are none. */
  RttProbe rttProbe() {
    if (rttProbe == null) {
      rttProbe = new RttProbe(this);
    }
    return rttProbe;
  }

  /** Whether an ACK with the timestamp {@code ts} answers a challenge. */
  public boolean takeAnswer(int ts, int nowTs, long nowUs) {
    boolean isAnswer = probe.takeAnswer(ts, nowTs);
    if (isAnswer && rttProbe != null) {
      rttProbe.onAnswer(ts, nowUs);
    }
    return isAnswer;
  }

  // Black holes

  /** Null until a large segment has been lost often. */
  public BlackHoleDetector blackHolesIfAny() {
    return blackHoles;
  }

  /** The detector, which is made if there is none. */
  public BlackHoleDetector blackHoles() {
    if (blackHoles == null) {
      blackHoles = new BlackHoleDetector(this);
    }
    return blackHoles;
  }

  /**
   * Whether segments may be lost since they are large. While the path is not validated, the limit
   * may be the reason.
   */
  public boolean isBlackHolePossible() {
    return size.hasLargePackets() && limit == null;
  }

  /** The size of the packet of the segment at {@code index}, if that is alone in it, in bytes. */
  int packetBytes(int index) {
    return buffer.bytes(index) + size.overheadBytes();
  }
}
