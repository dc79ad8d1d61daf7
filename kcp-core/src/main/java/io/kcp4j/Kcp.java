package io.kcp4j;

import io.kcp4j.congestion.CongestionControl;
import io.kcp4j.congestion.Pacer;
import io.netty.buffer.ByteBuf;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * One side of a KCP session: the ARQ as a state machine. It has no clock, no thread and no socket:
 * its driver passes the time, in microseconds of any clock that is never negative and never goes
 * back, and makes all calls from one thread.
 *
 * <p><b>How to drive it.</b> Pass each datagram to {@link #input}; after a batch of them, take what
 * has arrived with {@link #receive} and call {@link #afterInput}; after a batch of {@link #send},
 * call {@link #afterSend}; and call {@link #flush} when {@link #nextDeadline} has come. Check
 * {@link #failure} after each of these. Call {@link #close} at the end.
 *
 * <p><b>Theory of operation.</b> Every segment with payload has a sequence number and is sent until
 * it is acknowledged: by an ACK of its own, or by {@code una}, which every segment of the peer
 * carries and below which everything has arrived. {@link LossDetector} decides when a segment is
 * lost. At most a window of segments is in flight: the smallest of the send window, the free
 * receive window that the peer advertises, and the window of the {@link CongestionControl}.
 *
 * <p>There is no clock tick. What must leave at once leaves after the batch that caused it, so that
 * throughput follows the link. Acknowledgements and delayed writes wait at most one interval, to
 * share datagrams. A session with nothing in flight and nothing to acknowledge has no deadline.
 *
 * <p><b>Buffers.</b> Buffers that are passed in are copied and stay the caller's; those that {@link
 * #receive} returns belong to the caller.
 */
public final class Kcp {

  /** What {@link #nextDeadline} returns when there is nothing to wait for. */
  public static final long NO_DEADLINE = Long.MAX_VALUE;

  /** So many segments leave in no session that is closing. */
  private static final int UNREACHED = 1 << 24;

  /** Timestamps on the wire and durations in {@link KcpConfig} count milliseconds. */
  static final int US_PER_MS = 1_000;

  // The parts. They find each other here, so that none has to hold references to many others.

  private final int conv;
  final Timestamps timestamps;
  final int firstSn;
  final KcpCounters counters;
  private final MemoryAccount memory;
  final RttEstimator rtt = new RttEstimator();
  final LossDetector losses;
  final Liveness liveness = new Liveness(this);
  final Pacer pacer = new Pacer();
  final WindowProbe probe = new WindowProbe();
  final SendBuffer sending;
  final ReceiveBuffer receiving;
  final RemoteWindow remote;
  final AdvertisedWindow advertised = new AdvertisedWindow(this);
  final SendAdmission admission = new SendAdmission(this);
  final SegmentEvents events;
  final FlushSchedule schedule = new FlushSchedule(this);

  /** Shared by the sessions of the thread. */
  final SegmentWriter writer;

  /** Null while there is no source. */
  SegmentPuller puller;

  /** Null while there is no tracer. */
  Tracing tracing;

  /** Null while there is no extension. */
  KcpExtension extension;

  /** Makes the extension; null unless that waits for a message of the peer. */
  private Supplier<? extends KcpExtension> answering;

  /** Null unless what is sent is limited. */
  SendLimit sendLimit;

  /** See {@link #isPeerProven}. */
  boolean isPeerProven;

  /** Whether queued segments may have become sendable since the end of the last batch of input. */
  boolean windowOpened;

  /** See {@link #isLastInputFresh}. */
  boolean isLastInputFresh;

  /** Null before the first outage. */
  Outage outage;

  /** Null before the first write after a pause, or the first outage. */
  RttProbe rttProbe;

  /** Null until a large segment has been lost often. */
  BlackHoleDetector blackHoles;

  private boolean closed;
  private KcpConfig config;

  // Less than a datagram's size: 16 bits.

  private char overheadBytes;

  /** What datagrams leave free for the offer of the extension. */
  private char reservedBytes;

  /**
   * Makes a session.
   *
   * @param conv the conversation id, the same on both sides
   * @param config the settings
   * @param context what the sessions of one endpoint share
   * @param tsOrigin the value of the timestamp field at time 0, from which it counts milliseconds;
   *     a random one for each session makes acknowledgements hard to guess
   */
  public Kcp(int conv, KcpConfig config, KcpContext context, int tsOrigin) {
    this(conv, config, context, tsOrigin, 0);
  }

  /** Makes a session whose first sequence number, both ways, is not 0: for tests near the wrap. */
  Kcp(int conv, KcpConfig config, KcpContext context, int tsOrigin, int firstSn) {
    this.conv = conv;
    this.config = Objects.requireNonNull(config, "config");
    timestamps = new Timestamps(tsOrigin);
    this.firstSn = firstSn;
    counters = new KcpCounters(context.total());
    Redundancy redundancy = new Redundancy(rtt);
    losses = LossDetector.of(config, rtt, redundancy, counters);
    memory = new MemoryAccount(context);
    sending = new SendBuffer(memory, losses, firstSn);
    receiving = ReceiveBuffer.of(memory, redundancy, counters, config, firstSn);
    remote = new RemoteWindow(firstSn);
    events = new SegmentEvents(this);
    writer = context.rings().writer;
    configureParts();
  }

  /** Most parts look up the settings here. */
  private void configureParts() {
    rtt.configure(config);
    losses.configure(config);
    pacer.configure(config.rateLimit(), config.intervalMs(), config.maxBurst(), maxPacketBytes());
  }

  /** The conversation id. */
  public int conv() {
    return conv;
  }

  /** The settings in force. */
  public KcpConfig config() {
    return config;
  }

  /** The largest payload of a segment, in bytes: the MTU less all headers. */
  public int mssBytes() {
    return mtuBytes() - Segment.HEADER_BYTES;
  }

  /** The largest datagram that is written, in bytes, without what is reserved. */
  int mtuBytes() {
    return maxPacketBytes() - overheadBytes - reservedBytes;
  }

  /**
   * The largest packet that is sent, in bytes, with the headers of all layers: the MTU, or 1,200 if
   * the path drops larger ones. Segments already sent keep their size.
   */
  @Unstable
  public int maxPacketBytes() {
    return Math.min(config.mtuBytes(), mtuLimitBytes());
  }

  private int mtuLimitBytes() {
    return blackHoles == null ? KcpConfig.MAX_MTU_BYTES : blackHoles.mtuLimitBytes;
  }

  /**
   * The largest datagram that every path takes, in bytes, without what the layers below add;
   * MAX_VALUE if there are no larger ones.
   */
  int smallDatagramBytes() {
    return maxPacketBytes() > BlackHoleDetector.BASE_MTU_BYTES
        ? BlackHoleDetector.BASE_MTU_BYTES - overheadBytes
        : Integer.MAX_VALUE;
  }

  /** The size of the packet of the segment at {@code index}, if that is alone in it, in bytes. */
  int packetBytes(int index) {
    return sending.bytes(index) + overheadBytes;
  }

  /** What datagrams leave free for the offer of the extension, in bytes. */
  @Unstable
  public int reservedBytes() {
    return reservedBytes;
  }

  /** The bytes that the layers below add to each datagram. */
  int overheadBytes() {
    return overheadBytes;
  }

  /** Why the session cannot go on, or null while it can. */
  public KcpFailure failure() {
    return liveness.failure();
  }

  /**
   * The size of datagrams that do not arrive, as text for those who read why the session has ended:
   * that of the segment by which it has failed, or of the oldest in flight, if it is more than
   * 1,200 bytes and has been lost often. Else empty.
   */
  public String lossDetail() {
    return blackHoles == null ? "" : blackHoles.lossDetail();
  }

  /** Whether the session has neither failed nor been closed. */
  boolean isOpen() {
    return !closed && failure() == null;
  }

  /** Fails the session if fragments have come that do not count down. */
  void failOnBadFragments() {
    if (receiving.isViolated()) {
      liveness.fail(KcpFailure.PROTOCOL_VIOLATION);
    }
  }

  /**
   * Whether the peer has proven that it receives what is sent to it: by an ACK with the sequence
   * number and the timestamp of a segment in flight.
   */
  public boolean isPeerProven() {
    return isPeerProven;
  }

  /**
   * Limits what is sent, until {@link #endSendLimit}, to an allowance. Probes may exceed it, and so
   * may eight segments of 64 bytes, as far as the allowance agrees: protocol.md 8.7. To be called
   * before anything is sent.
   */
  @Unstable
  public void limitSending(SendAllowance allowance) {
    sendLimit = new SendLimit(this, allowance);
    receiving.limitUnread(true);
  }

  /** Challenges the path with the next flush, if that is limited and nothing is in flight. */
  @Unstable
  public void challengePath() {
    if (sendLimit != null) {
      sendLimit.requestChallenge();
    }
  }

  /** Ends the limit. What it has held back leaves with the next flush. */
  @Unstable
  public void endSendLimit() {
    boolean wasClosed = advertised.isClosed();
    sendLimit = null;
    receiving.limitUnread(false);
    advertised.updateIfOpened(wasClosed);
    windowOpened = Transmitter.hasNew(this);
  }

  /** The smoothed round-trip time, in microseconds; 0 before it was measured. */
  @Unstable
  public int srttUs() {
    return rtt.srttUs();
  }

  /** The variation of the round-trip time, in microseconds; 0 before it was measured. */
  @Unstable
  public int rttVarUs() {
    return rtt.rttVarUs();
  }

  /** Whether the congestion control knows of a queue that stands on the path. */
  @Unstable
  public boolean isQueueStanding() {
    return events.isQueueStanding();
  }

  /** What the session holds of the memory budget. */
  @Unstable
  public MemoryAccount memory() {
    return memory;
  }

  /** The counters of this session. */
  public KcpCounters counters() {
    return counters;
  }

  /**
   * The state of the session now. Other threads may call this, too: they see values that are at
   * most a little old, though not all of the same moment, and a loop that waits for a value sees it
   * come.
   */
  public KcpStats stats() {
    VarHandle.acquireFence(); // Nothing below may be taken from an earlier call of the same thread.
    return KcpStats.of(this);
  }

  /**
   * Sets the observer of this session's events, or null, the default, for none. What happened
   * before is not reported.
   */
  public void tracer(KcpTracer tracer) {
    Tracing before = tracing;
    tracing = tracer == null ? null : new Tracing(tracer, this);
    events.updateSamples();
    if (before != null) {
      before.closed();
    }
  }

  /** The tracer, or null. */
  @Unstable
  public KcpTracer tracer() {
    return tracing == null ? null : tracing.tracer();
  }

  /** The time of the last input or flush, in microseconds; 0 without a tracer. */
  @Unstable
  public long tracedAtUs() {
    return tracing == null ? 0 : tracing.nowUs();
  }

  /**
   * Sets the extension, or null, the default, for none. To be called before anything is sent.
   *
   * @throws IllegalArgumentException if the MTU has no room for what the extension reserves;
   *     nothing has changed then
   */
  @Unstable
  public void extension(KcpExtension extension) {
    KcpExtension before = this.extension;
    this.extension = extension;
    try {
      reconfigure(config);
    } catch (IllegalArgumentException e) {
      this.extension = before;
      throw e;
    }
  }

  /**
   * Sets an extension that has nothing to say before the peer does: it is made when the first
   * message is received, or by {@link #makeExtension}. A session whose peer does not have the
   * extension costs no more than one without.
   *
   * @param answering makes the extension, which reserves no room; called once at most
   */
  @Unstable
  public void answerExtension(Supplier<? extends KcpExtension> answering) {
    this.answering = answering;
  }

  /** Makes the extension now if it has not been made, and there is to be one. */
  @Unstable
  public void makeExtension() {
    if (answering != null) {
      extension = answering.get();
      answering = null;
    }
  }

  /**
   * Whether nothing is taken of the peer before it has acknowledged a segment exactly. A server may
   * go on with the session of another process that had the same address before.
   */
  boolean isProofAwaited() {
    return extension != null && !isPeerProven && extension.isOffering();
  }

  /** Whether messages of the peer are received. */
  boolean takesMessages() {
    return extension != null || answering != null;
  }

  /** Whether a message of the extension has to leave now. */
  boolean isExtensionDue(long nowUs) {
    return isMessageAllowed() && extension.isDue(nowUs);
  }

  /** When a message of the extension has to leave, or {@link #NO_DEADLINE}. */
  long extensionDeadlineUs() {
    return isMessageAllowed() ? extension.deadlineUs() : NO_DEADLINE;
  }

  private boolean isMessageAllowed() {
    return extension != null && (sendLimit == null || sendLimit.isMessageAllowed());
  }

  /** When the path has to be challenged, or {@link #NO_DEADLINE}. */
  long challengeAtUs() {
    return sendLimit == null ? NO_DEADLINE : sendLimit.deadlineUs();
  }

  /** How long an acknowledgement of what is sent now may take, in microseconds. */
  @Unstable
  public int probeTimeoutUs() {
    return losses.timeoutUs();
  }

  /** Whether a probe is unanswered. */
  boolean isProbing() {
    return probe.isUnanswered() || (blackHoles != null && blackHoles.isProbing());
  }

  /**
   * Sends the oldest segment in flight again with the next flush, which is due at once, and resets
   * its back-off: the peer has said that it has dropped it (RFC 9002, 6.3).
   */
  @Unstable
  public void retransmitFirst(long nowUs) {
    if (losses.unacknowledged() > 0) {
      int first = sending.index(sending.una());
      losses.resetBackOff(first, nowUs);
      losses.expire(first, nowUs);
    }
  }

  /**
   * Since when the peer has acknowledged nothing though it should, in microseconds: the time of the
   * last acknowledgement, or of the first segment sent since; {@link #NO_DEADLINE} while nothing is
   * unacknowledged.
   */
  @Unstable
  public long unacknowledgedSinceUs() {
    return losses.unacknowledged() == 0 ? NO_DEADLINE : liveness.progressAtUs();
  }

  /** Whether something has been sent that the peer has to answer, and has not answered yet. */
  @Unstable
  public boolean isAnswerAwaited() {
    return losses.unacknowledged() > 0 || probe.isUnanswered();
  }

  /**
   * The payload of all segments that have been taken in, delivered or not, in bytes, modulo
   * 2<sup>32</sup>.
   */
  @Unstable
  public int acceptedBytes() {
    return advertised.acceptedBytes();
  }

  /** The lowest sequence number that the peer may still lack. */
  @Unstable
  public int sendUna() {
    return sending.una();
  }

  /** A number that changes whenever something new is acknowledged, or received in order. */
  @Unstable
  public int progress() {
    return sending.una() + receiving.next();
  }

  /** Whether all that was written has been sent at least once. */
  @Unstable
  public boolean isAllSent() {
    return sending.queued() == 0 && isSourceEmpty();
  }

  /** How many segments are queued or in flight. */
  @Unstable
  public int segmentsToSend() {
    return sending.queued() + losses.unacknowledged();
  }

  /**
   * The number behind the last segment that is queued; one that is never reached if there is more
   * to send.
   *
   * @param hasMore whether there is, even if the source of segments is empty
   */
  @Unstable
  public int sendEnd(boolean hasMore) {
    return sending.next() + sending.queued() + (hasMore || !isSourceEmpty() ? UNREACHED : 0);
  }

  /** The sequence number of the next segment to be sent for the first time. */
  @Unstable
  public int sendNext() {
    return sending.next();
  }

  /** Whether not all below {@code sn}, or just that, has been received in order. */
  @Unstable
  public boolean isPossibleEnd(int sn) {
    return sn - receiving.next() >= 0;
  }

  /** Whether everything below {@code sn} has been received. */
  @Unstable
  public boolean isReceivedInOrder(int sn) {
    return receiving.next() - sn >= 0;
  }

  /** The number of the next segment that is expected in order. */
  @Unstable
  public int receiveNext() {
    return receiving.next();
  }

  /** Whether anything has been received in order. */
  @Unstable
  public boolean hasReceived() {
    return receiving.next() != firstSn;
  }

  /** Whether everything below {@code sn} has been received, and taken by the reader. */
  @Unstable
  public boolean isReceivedBelow(int sn) {
    return receiving.next() - sn >= 0 && !receiving.hasUnread();
  }

  /**
   * Lets a session that has failed as {@link KcpFailure#WRITE_STALLED} tell the peer that it gives
   * up.
   */
  @Unstable
  public void forgetStall() {
    liveness.forgetStall();
  }

  /** See {@link KcpExtension#isPeerDone}. */
  @Unstable
  public boolean isPeerDone() {
    return extension != null && extension.isPeerDone();
  }

  /** {@link #reconfigure(KcpConfig, int)} with the overhead as before. */
  public void reconfigure(KcpConfig config) {
    reconfigure(config, overheadBytes);
  }

  /**
   * Changes the settings at run time. Segments already sent keep their size, messages already
   * queued their fragments; the queue of stream mode is re-segmented if the MTU has shrunk.
   *
   * @param config the settings
   * @param overheadBytes the bytes that the layers below add to each datagram, 0 at first; they
   *     count as part of the MTU
   * @throws IllegalArgumentException if {@link KcpConfig#checkSuccessor} does, or if the MTU leaves
   *     no room for payload; nothing has changed then
   * @throws OutOfMemoryError if there is no memory to re-segment the queue; nothing has changed
   *     then, nor if the congestion control cannot be made
   */
  public void reconfigure(KcpConfig config, int overheadBytes) {
    reconfigure(config, overheadBytes, mtuLimitBytes());
  }

  private void reconfigure(KcpConfig config, int overheadBytes, int mtuLimitBytes) {
    this.config.checkSuccessor(config);
    int roomBytesBefore = mssBytes() + reservedBytes;
    int mtuBytes = Math.min(config.mtuBytes(), mtuLimitBytes);
    fitExtension(mtuBytes - overheadBytes - Segment.HEADER_BYTES);
    try {
      apply(config, overheadBytes, mtuLimitBytes);
    } catch (RuntimeException | Error e) {
      fitExtension(roomBytesBefore);
      throw e;
    }
  }

  private void fitExtension(int roomBytes) {
    if (extension != null) {
      extension.fit(roomBytes);
    }
  }

  private void apply(KcpConfig config, int overheadBytes, int mtuLimitBytes) {
    int reservedBytes = extension == null ? 0 : extension.reservedBytes();
    int mtuBytes = Math.min(config.mtuBytes(), mtuLimitBytes);
    KcpConfig.checkOverhead(mtuBytes, overheadBytes + reservedBytes);
    int mssBytesBefore = mssBytes();
    int mssBytes = mtuBytes - Segment.HEADER_BYTES - overheadBytes - reservedBytes;
    CongestionControl next = events.successor(config, mssBytes);
    boolean isStream = config.delivery() == Delivery.STREAM;
    if (mssBytes < mssBytesBefore && isStream && !closed) {
      sending.resegment(mssBytes);
    }
    this.config = config;
    this.overheadBytes = (char) overheadBytes;
    this.reservedBytes = (char) reservedBytes;
    if (blackHoles != null) {
      blackHoles.mtuLimitBytes = mtuLimitBytes;
    }
    advertised.configure();
    configureParts();
    events.use(next, mssBytesBefore);
  }

  /**
   * Whether segments may be lost since they are large. While the path is not validated, the limit
   * may be the reason.
   */
  boolean isBlackHolePossible() {
    return smallDatagramBytes() != Integer.MAX_VALUE && sendLimit == null;
  }

  /** A segment has timed out: an outage begins if nothing is acknowledged for a timeout. */
  void timedOut(long nowUs) {
    if (nowUs - liveness.progressAtUs() < losses.timeoutUs()) {
      return;
    }
    if (outage == null) {
      outage = new Outage(this);
    }
    outage.begin(nowUs);
  }

  /**
   * Whether there is an outage that has lasted until its first probe. Then any datagram has the
   * oldest segment sent again, at a rate that replays cannot raise.
   */
  boolean isOutageProbed() {
    return outage != null && outage.isProbing();
  }

  /** When a probe is due in an outage, or {@link #NO_DEADLINE}. */
  long outageProbeAtUs() {
    return outage == null ? NO_DEADLINE : outage.deadlineUs();
  }

  /** New segments have left: those that are far apart give few samples of the round-trip time. */
  void sentNew(long nowUs) {
    if (rttProbe != null || rtt.isStale(nowUs)) {
      rttProbe().sentNew(nowUs);
    }
  }

  /** The probes of the round-trip time, which are made if there are none. */
  RttProbe rttProbe() {
    if (rttProbe == null) {
      rttProbe = new RttProbe(this);
    }
    return rttProbe;
  }

  /** When the round-trip time is probed, or {@link #NO_DEADLINE}. */
  long rttProbeAtUs() {
    return rttProbe == null ? NO_DEADLINE : rttProbe.deadlineUs();
  }

  /** The detector, which is made if there is none. */
  BlackHoleDetector blackHoles() {
    if (blackHoles == null) {
      blackHoles = new BlackHoleDetector(this);
    }
    return blackHoles;
  }

  /** Sends no more large datagrams if the path drops them. */
  private void shrinkAtBlackHole() {
    boolean isLarge = smallDatagramBytes() != Integer.MAX_VALUE;
    boolean hasRoom = smallDatagramBytes() - reservedBytes > Segment.HEADER_BYTES;
    if (!isLarge || !hasRoom || !blackHoles.isDetected()) {
      return;
    }
    try {
      reconfigure(config, overheadBytes, BlackHoleDetector.BASE_MTU_BYTES);
      counters.add(KcpCounter.MTU_BLACK_HOLES, 1);
    } catch (OutOfMemoryError e) { // Again with the next flush.
      admission.allocationFailed();
    }
  }

  // Input

  /**
   * Takes in one datagram: the bytes between reader and writer index. Copies what it keeps; the
   * buffer, which no other thread may use meanwhile, stays the caller's and its indices stay where
   * they are. Never throws for the content of a datagram: an invalid one is refused as a whole,
   * before any of it has an effect, and counted.
   */
  public InputResult input(ByteBuf datagram, long nowUs) {
    return input(datagram, Origin.NETWORK, nowUs);
  }

  /** {@link #input(ByteBuf, long)} for a datagram of either origin. */
  public InputResult input(ByteBuf datagram, Origin origin, long nowUs) {
    return InputProcessor.input(this, datagram, origin, nowUs);
  }

  /**
   * Whether the last datagram that was taken in shows that the peer is alive: protocol.md 7.3. It
   * does not if it acknowledges less than one before it, since no peer forgets what it has
   * acknowledged, or if it could be a replay of one that was received before.
   */
  public boolean isLastInputFresh() {
    return isLastInputFresh;
  }

  /** When a datagram was taken in last, in microseconds: now, for a sink that takes its payload. */
  @Unstable
  public long inputAtUs() {
    return advertised.lastReceivedAtUs();
  }

  /**
   * The peer's timestamps are milliseconds of a clock. A PUSH is neither taken nor acknowledged
   * from now on if its timestamp is more than 60 s before the newest, or more than 60 s and the
   * time that has passed after it: another process has got the peer's address.
   */
  @Unstable
  public void checkPeerTimestamps(long nowUs) {
    timestamps.checkPeer(nowUs);
  }

  /**
   * Whether a PUSH was refused since the last call because its timestamp is too new: the peer may
   * be another one, or this process was suspended.
   */
  @Unstable
  public boolean takePeerJump() {
    PeerClock peerClock = timestamps.peerClock();
    return peerClock != null && peerClock.takeJump();
  }

  /** The peer is the one of the session: its next PUSH may have any newer timestamp. */
  @Unstable
  public void acceptPeerJump() {
    timestamps.peerClock().acceptJump();
  }

  /**
   * The origin of the timestamps is a random one, which a peer has only by chance. So a PUSH with a
   * timestamp of this side has been sent back, before anything is known of the peer's clock.
   */
  @Unstable
  public void timestampsAreRandom() {
    timestamps.random();
  }

  /**
   * Moves the clock of the timestamps away from the peer's, so that segments that somebody sends
   * back to this side are recognised. To be called before anything is sent.
   *
   * @param peerTs the timestamp of a PUSH of the peer
   */
  @Unstable
  public void keepTimestampsApart(int peerTs, long nowUs) {
    timestamps.keepApart(peerTs, nowUs);
  }

  /**
   * Whether a peer that is alive answers a challenge: it knows the session. Until the path is
   * validated, the peer is not challenged to show that it is alive.
   */
  boolean isFreshnessExpected() {
    return sendLimit == null && (hasReceived() || sending.una() != firstSn);
  }

  // Receiving

  /** What a batch of input has brought could be read: what was not is limited from now on. */
  @Unstable
  public void endDelivery() {
    receiving.endBatch();
  }

  /**
   * The next bytes (stream mode; at most some 32 KiB at a time) or the next whole message, or null
   * if there is none. The buffer belongs to the caller, who releases it.
   */
  public ByteBuf receive() {
    boolean wasClosed = advertised.isClosed();
    ByteBuf taken = receiving.receive();
    if (taken != null) {
      counters.add(KcpCounter.PAYLOAD_BYTES_IN, taken.readableBytes());
      advertised.updateIfOpened(wasClosed);
      failOnBadFragments();
    }
    return taken;
  }

  /**
   * Something that the {@link SegmentSink} held has been read. As {@link #receive} does, this tells
   * the peer if the window opens.
   */
  @Unstable
  public void sinkWasRead() {
    boolean wasClosed = advertised.isClosed();
    if (receiving.isUnreadFull()) {
      receiving.endBatch();
    }
    advertised.updateIfOpened(wasClosed);
  }

  /** Whether something has arrived completely that the reader has not taken, or not read. */
  @Unstable
  public boolean hasUnread() {
    return receiving.hasUnread() || memory().hasUnread();
  }

  /** There is memory again that {@link #memory} was short of: the next flush tells the window. */
  @Unstable
  public void memoryBecameFree() {
    advertised.requestUpdate();
    admission.memoryBecameFree();
  }

  /** Whether {@link #receive} would return something. */
  public boolean isReceivable() {
    return receiving.isReceivable();
  }

  // Sending

  /**
   * Queues bytes. In stream mode takes as many as the queue has room for; in message mode the whole
   * message or nothing. Moves the reader index past what was taken; copies, so that the buffer
   * stays the caller's.
   *
   * <p>While the memory budget has no room, a session that has nothing else to send still takes one
   * segment, or one message.
   *
   * @return whether all of it was taken; if not, try again when {@link #isSendable} holds, in
   *     message mode when {@link #takeSendRetry} does. While the allocator has no memory that is
   *     after one interval; {@link #afterSend} has to be called then, too
   * @throws IllegalArgumentException if a message is larger than {@link #maxMessageBytes}: it can
   *     never be sent; nothing was taken
   * @throws IllegalStateException if the delivery is {@link Delivery#LANES}
   */
  public boolean send(ByteBuf data) {
    return admission.send(data);
  }

  /** Whether {@link #send} would take something; in message mode a message of one segment. */
  public boolean isSendable() {
    return admission.isOpen();
  }

  /** Whether the allocator has failed in {@link #send}, which takes nothing for one interval. */
  public boolean isSendDeferred() {
    return admission.isDeferred();
  }

  /**
   * Whether the last {@link #send} did not take everything since the path is not validated: a flush
   * may challenge it.
   */
  @Unstable
  public boolean isSendLimited() {
    return sendLimit != null && admission.isHeldBack();
  }

  /**
   * Whether the memory budget had no room for all of the last {@link #send}, and has none yet. Not
   * polled: a session that is short of memory holds something, so an acknowledgement or an open
   * window is still to come.
   */
  public boolean isSendShortOfMemory() {
    return admission.isShortOfMemory();
  }

  /**
   * Whether to {@link #send} again now what was not taken, without waiting for the peer: nothing is
   * queued, the window is open, and there is memory. True once for each {@link #send} that did not
   * take everything.
   */
  public boolean takeSendRetry() {
    return Transmitter.isWindowFree(this) && admission.takeRetry();
  }

  /**
   * The largest message in message mode, in bytes. It can change with the MTU, and until the peer
   * has said what it takes. A peer that never does so shows it by the largest window that it has
   * advertised: protocol.md 5.2.
   */
  public int maxMessageBytes() {
    return admission.maxMessageBytes();
  }

  /** The most fragments of a message that this side takes, to be said to the peer. */
  @Unstable
  public int messageFragments() {
    return receiving.messageFragments(config.mtuBytes());
  }

  /** The peer has said how many fragments of a message it takes, 1 to 255. */
  @Unstable
  public void peerMessageFragments(int fragments) {
    admission.peerFragments(fragments);
  }

  /** The most milliseconds by which this side delays ACKs; 0 if it may delay those at gaps, too. */
  @Unstable
  public int maxAckDelayMs() {
    return config.lossDetection() == LossDetection.TIME ? config.intervalMs() : 0;
  }

  /** The peer has said that it delays ACKs by at most {@code ms} milliseconds, and none at gaps. */
  @Unstable
  public void peerMaxAckDelay(int ms) {
    losses.peerMaxAckDelay(ms * US_PER_MS);
  }

  /**
   * Sets the source from which segments are pulled when they can leave, or null for none, as at
   * first. Call {@link #afterSend} when the source becomes ready.
   */
  @Unstable
  public void source(SegmentSource source) {
    puller = source == null ? null : new SegmentPuller(this, source);
  }

  /**
   * Sets the sink that takes the payload of segments as they arrive.
   *
   * @throws IllegalStateException unless the delivery is {@link Delivery#LANES}
   */
  @Unstable
  public void sink(SegmentSink sink) {
    if (!(receiving instanceof UnorderedReceiveBuffer unordered)) {
      throw new IllegalStateException("delivery: " + config.delivery() + " (expected: LANES)");
    }
    unordered.sink(sink);
  }

  /**
   * The source has become ready by what was received: what it has leaves at the end of the batch.
   * May be called by a {@link SegmentSink} and a {@link KcpExtension}, too.
   */
  @Unstable
  public void sourceBecameReady() {
    windowOpened = true;
  }

  /** Whether there is a source that has payload which may leave. */
  boolean isSourceReady() {
    return puller != null && puller.isSourceReady();
  }

  private boolean isSourceEmpty() {
    return puller == null || puller.isSourceEmpty();
  }

  /** Whether all that was sent has been acknowledged, and the source has nothing left. */
  public boolean isDrained() {
    return sending.isEmpty() && isSourceEmpty();
  }

  /**
   * Whether there is nothing to receive, to send or to wait for: {@link #afterInput} would do
   * nothing, and there is no deadline.
   */
  public boolean isQuiescent() {
    return isDrained()
        && !sending.isTrimmable()
        && !receiving.isReceivable()
        && !receiving.acks().isPending()
        && schedule.isIdle()
        && (extension == null || extension.isIdle())
        && challengeAtUs() == NO_DEADLINE
        && liveness.failure() == null;
  }

  /** Drops everything that the peer has not acknowledged: the peer has closed the session. */
  @Unstable
  public void discardOutput(long nowUs) {
    source(null);
    sending.dropQueuedBeyond(0);
    sending.acknowledgeBelow(sending.next(), nowUs);
    losses.endInput(nowUs);
    outage = null; // Nothing is left to be sent again at its end.
    sending.trim();
  }

  /** Sends a window probe with the next flush, which a peer that is alive answers. */
  public void probe() {
    probe.request();
  }

  /**
   * Sends a keep-alive probe with the next flush: a window probe and, if the peer knows the
   * session, a challenge, whose answer {@link #isLastInputFresh} cannot be a replay.
   */
  @Unstable
  public void probeKeepAlive() {
    probe.request();
    if (isFreshnessExpected()) {
      probe.requestChallenge();
    }
  }

  // Output

  /**
   * To be called once after a batch of {@link #input}, and after what had arrived was received.
   * Flushes what has to leave at once; the rest waits for the interval.
   */
  public void afterInput(long nowUs, DatagramOutput output) {
    boolean urgent =
        ((windowOpened || sendLimit != null) && Transmitter.isNewAllowed(this))
            || losses.isLossDetected(nowUs);
    if (urgent && pacer.isOpen(nowUs)) {
      flush(nowUs, output);
    } else if (advertised.isUpdatePending()
        || receiving.isAckDue(Math.min(mtuBytes(), smallDatagramBytes()))
        || isExtensionDue(nowUs)) {
      flushControl(nowUs, output);
    }
    windowOpened = false;
    sending.trim();
    schedule.update(nowUs);
    if (urgent) {
      schedule.continuePacing(nowUs);
    }
  }

  /**
   * To be called once after a batch of {@link #send} or {@link #probe}, or of {@link #receive}
   * outside of a batch of input: flushes, or with write delay waits for the interval.
   */
  public void afterSend(long nowUs, DatagramOutput output) {
    if (!config.writeDelay() && Transmitter.isNewAllowed(this) && pacer.isOpen(nowUs)) {
      flush(nowUs, output);
    } else if (probe.isRequested() || advertised.isUpdatePending() || isExtensionDue(nowUs)) {
      flushControl(nowUs, output);
    }
    schedule.update(nowUs);
    if (!config.writeDelay()) {
      schedule.continuePacing(nowUs);
    }
  }

  /**
   * Sends everything that may be sent now: acknowledgements, probes, lost segments, new segments.
   */
  public void flush(long nowUs, DatagramOutput output) {
    if (!isOpen()) {
      return;
    }
    schedule.beginFlush(nowUs);
    receiving.closeGap();
    failOnBadFragments();
    events.updateSendWindow(nowUs);
    int window = Transmitter.window(this);
    if (ControlSegments.areDue(this)
        || Transmitter.isDue(this, nowUs)
        || isExtensionDue(nowUs)
        || challengeAtUs() <= nowUs) {
      write(window, nowUs, output);
    }
    Transmitter.reportFlush(this, window, nowUs);
    if (blackHoles != null) {
      shrinkAtBlackHole();
    }
    liveness.check(nowUs);
    schedule.update(nowUs);
    schedule.continuePacing(nowUs);
    if (puller != null) {
      puller.endFlush();
    }
  }

  private void write(int window, long nowUs, DatagramOutput output) {
    int splitBytes = FlushSplitter.split(this, output, window, nowUs);
    writer.begin(this, output, advertised.beginFlush(nowUs), nowUs);
    try {
      int ts = timestamps.flushed(nowUs);
      ControlSegments.write(this, ts, nowUs);
      writer.split(splitBytes);
      Transmitter.transmit(this, window, ts, nowUs);
      writer.end();
    } finally {
      writer.abort();
    }
  }

  private void flushControl(long nowUs, DatagramOutput output) {
    if (!isOpen()) {
      return;
    }
    writer.begin(this, output, advertised.beginFlush(nowUs), nowUs);
    try {
      ControlSegments.write(this, timestamps.flushed(nowUs), nowUs);
      writer.end();
    } finally {
      writer.abort();
    }
  }

  /**
   * Counts against the rates what the layers below have sent for this session beside its datagrams,
   * such as parity.
   *
   * @param bytes those of what belongs to datagrams with payload
   * @param unpacedBytes those of the rest, such as unreliable datagrams, which count only against
   *     the rate limit
   */
  public void charge(int bytes, int unpacedBytes, long nowUs) {
    pacer.charge(bytes, nowUs);
    pacer.chargeUnpaced(unpacedBytes, nowUs);
  }

  /**
   * Writes the header of a WINS, which a message of the extension follows in a datagram of its own.
   *
   * @param bytes those of the message
   */
  @Unstable
  public void writeMessageHeader(ByteBuf out, int bytes, long nowUs) {
    int ts = timestamps.at(nowUs);
    int wnd = advertised.segments();
    Segment.write(out, conv, Segment.WINS, 0, wnd, ts, 0, receiving.next(), bytes);
  }

  // Deadlines

  /**
   * When {@link #flush} has to be called at the latest, in microseconds, or {@link #NO_DEADLINE}.
   * Never later than there is something to do. It can be earlier, at most once per timeout, when
   * the segment that would have timed out first has been acknowledged meanwhile; that flush then
   * sends nothing.
   */
  public long nextDeadline() {
    return isOpen() ? schedule.nextUs() : NO_DEADLINE;
  }

  /** Releases every buffer. Every call after it does nothing. */
  public void close() {
    if (!closed) {
      closed = true;
      if (tracing != null) {
        tracing.closed();
        tracing = null;
      }
      source(null);
      sending.close();
      receiving.close();
    }
  }
}
