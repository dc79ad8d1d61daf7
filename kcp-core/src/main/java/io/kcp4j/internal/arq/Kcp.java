package io.kcp4j.internal.arq;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpStats;
import io.kcp4j.KcpTracer;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.LossDetection;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.path.AmplificationLimit;
import io.kcp4j.internal.receive.ReceiveBuffer;
import io.kcp4j.internal.receive.UnorderedReceiveBuffer;
import io.kcp4j.internal.recovery.LossDetector;
import io.kcp4j.internal.recovery.Redundancy;
import io.kcp4j.internal.recovery.RttEstimator;
import io.kcp4j.internal.send.BlackHoleDetector;
import io.kcp4j.internal.send.PacketSize;
import io.kcp4j.internal.send.SendBuffer;
import io.kcp4j.internal.send.Sender;
import io.kcp4j.internal.send.Tracing;
import io.kcp4j.internal.send.ZeroWindowProbe;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.KcpExtension;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.SegmentSink;
import io.kcp4j.internal.wire.SegmentSource;
import io.kcp4j.internal.wire.Time;
import io.kcp4j.internal.wire.Timestamps;
import io.kcp4j.internal.wire.Timestamps.PeerClock;
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

  /** So many segments leave in no session that is closing. */
  private static final int UNREACHED = 1 << 24;

  private final int conv;
  final Sender sender;
  final ReceiveBuffer receiver;
  final FlushSchedule schedule = new FlushSchedule(this);

  /** Shared by the sessions of the thread. */
  private final Flush flush;

  /** Makes the extension; null unless that waits for a message of the peer. */
  private Supplier<? extends KcpExtension> answering;

  /** See {@link #isPeerProven}. */
  boolean isPeerProven;

  /** Whether queued segments may have become sendable since the end of the last batch of input. */
  boolean windowOpened;

  /** See {@link #isLastInputFresh}. */
  boolean isLastInputFresh;

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
    Objects.requireNonNull(config, "config");
    this.conv = conv;
    KcpContext.PerThread thread = context.thread();
    MemoryAccount memory = new MemoryAccount(context);
    KcpCounters counters = new KcpCounters(context.total());
    RttEstimator rtt = new RttEstimator();
    Redundancy redundancy = new Redundancy(rtt);
    LossDetector losses = LossDetector.of(config, rtt, redundancy, counters);
    SendBuffer buffer = new SendBuffer(memory, losses, thread.sendRings, firstSn);
    Timestamps timestamps = new Timestamps(tsOrigin);
    sender = new Sender(config, memory, rtt, losses, buffer, timestamps, counters, firstSn);
    receiver = ReceiveBuffer.of(memory, thread.queueRings, redundancy, counters, config, firstSn);
    flush = thread.flush;
  }

  /** The conversation id. */
  public int conv() {
    return conv;
  }

  /** The settings in force. */
  public KcpConfig config() {
    return sender.config;
  }

  /** The largest payload of a segment, in bytes: the MTU less all headers. */
  public int mssBytes() {
    return sender.size.mssBytes();
  }

  /**
   * The largest packet that is sent, in bytes, with the headers of all layers: the MTU, or 1,200 if
   * the path drops larger ones. Segments already sent keep their size.
   */
  public int maxPacketBytes() {
    return sender.size.maxPacketBytes();
  }

  /** What datagrams leave free for the offer of the extension, in bytes. */
  public int reservedBytes() {
    return sender.size.reservedBytes();
  }

  /**
   * Why the session cannot go on, or null while it can: one of the first five reasons, {@link
   * EndReason#DEAD_LINK} to {@link EndReason#PROTOCOL_VIOLATION}.
   */
  public EndReason failure() {
    return sender.userTimeout.failure();
  }

  /**
   * The size of datagrams that do not arrive, as text for those who read why the session has ended:
   * that of the segment by which it has failed, or of the oldest in flight, if it is more than
   * 1,200 bytes and has been lost often. Else empty.
   */
  public String lossDetail() {
    BlackHoleDetector blackHoles = sender.blackHolesIfAny();
    return blackHoles == null ? "" : blackHoles.lossDetail();
  }

  /** Fails the session if fragments have come that do not count down. */
  void failOnBadFragments() {
    if (receiver.isViolated()) {
      sender.userTimeout.fail(EndReason.PROTOCOL_VIOLATION);
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
  public void limitSending(AmplificationLimit.Allowance allowance) {
    sender.limit = new AmplificationLimit(allowance, sender.counters);
    receiver.limitUnread(true);
  }

  /** Challenges the path with the next flush, if that is limited and nothing is in flight. */
  public void challengePath() {
    if (sender.limit != null) {
      sender.limit.requestChallenge();
    }
  }

  /** Ends the limit. What it has held back leaves with the next flush. */
  public void endSendLimit() {
    boolean wasClosed = receiver.isClosed();
    sender.limit = null;
    receiver.limitUnread(false);
    receiver.updateIfOpened(wasClosed);
    windowOpened = sender.hasNew();
  }

  /** The smoothed round-trip time, in microseconds; 0 before it was measured. */
  public int srttUs() {
    return sender.rtt.srttUs();
  }

  /** The variation of the round-trip time, in microseconds; 0 before it was measured. */
  public int rttVarUs() {
    return sender.rtt.rttVarUs();
  }

  /** Whether the congestion control knows of a queue that stands on the path. */
  public boolean isQueueStanding() {
    return sender.events.isQueueStanding();
  }

  /** What the session holds of the memory budget. */
  public MemoryAccount memory() {
    return sender.memory;
  }

  /** The counters of this session. */
  public KcpCounters counters() {
    return sender.counters;
  }

  /**
   * The state of the session now. Other threads may call this, too: they see values that are at
   * most a little old, though not all of the same moment, and a loop that waits for a value sees it
   * come.
   */
  public KcpStats stats() {
    VarHandle.acquireFence(); // Nothing below may be taken from an earlier call of the same thread.
    return new KcpStats(
        sender.rtt.srttUs(),
        sender.rtt.rttVarUs(),
        sender.losses.timeoutUs(),
        sender.events.controlWindow(),
        sender.remote.segments(),
        sender.losses.unacknowledged(),
        sender.buffer.queued(),
        sender.size.maxPacketBytes(),
        (long) sender.buffer.heldBytes() + receiver.heldBytes(),
        sender.events.stats(),
        sender.counters.copy());
  }

  /**
   * Sets the observer of this session's events, or null, the default, for none. What happened
   * before is not reported.
   */
  public void tracer(KcpTracer tracer) {
    Tracing before = sender.tracing;
    sender.tracing = tracer == null ? null : new Tracing(tracer, sender);
    sender.events.updateSamples();
    if (before != null) {
      before.closed();
    }
  }

  /** The tracer, or null. */
  public KcpTracer tracer() {
    return sender.tracing == null ? null : sender.tracing.tracer();
  }

  /** The time of the last input or flush, in microseconds; 0 without a tracer. */
  public long tracedAtUs() {
    return sender.tracing == null ? 0 : sender.tracing.nowUs();
  }

  /**
   * Sets the extension, or null, the default, for none. To be called before anything is sent.
   *
   * @throws IllegalArgumentException if the MTU has no room for what the extension reserves;
   *     nothing has changed then
   */
  public void extension(KcpExtension extension) {
    KcpExtension before = sender.extension;
    sender.extension = extension;
    try {
      reconfigure(sender.config);
    } catch (IllegalArgumentException e) {
      sender.extension = before;
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
  public void answerExtension(Supplier<? extends KcpExtension> answering) {
    this.answering = answering;
  }

  /** Makes the extension now if it has not been made, and there is to be one. */
  public void makeExtension() {
    if (answering != null) {
      sender.extension = answering.get();
      answering = null;
    }
  }

  /**
   * Whether nothing is taken of the peer before it has acknowledged a segment exactly. A server may
   * go on with the session of another process that had the same address before.
   */
  boolean isProofAwaited() {
    return sender.extension != null && !isPeerProven && sender.extension.isOffering();
  }

  /** Whether messages of the peer are received. */
  boolean takesMessages() {
    return sender.extension != null || answering != null;
  }

  /** Whether a message of the extension has to leave now. */
  boolean isExtensionDue(long nowUs) {
    return sender.isMessageAllowed() && sender.extension.isDue(nowUs);
  }

  /** When a message of the extension has to leave, or {@link Time#NO_DEADLINE}. */
  long extensionDeadlineUs() {
    return sender.isMessageAllowed() ? sender.extension.deadlineUs() : Time.NO_DEADLINE;
  }

  /** How long an acknowledgement of what is sent now may take, in microseconds. */
  public int probeTimeoutUs() {
    return sender.losses.timeoutUs();
  }

  /**
   * Sends the oldest segment in flight again with the next flush, which is due at once, and resets
   * its back-off: the peer has said that it has dropped it (RFC 9002, 6.3).
   */
  public void retransmitFirst(long nowUs) {
    sender.retransmitFirst(nowUs);
  }

  /**
   * Since when the peer has acknowledged nothing though it should, in microseconds: the time of the
   * last acknowledgement, or of the first segment sent since; {@link Time#NO_DEADLINE} while
   * nothing is unacknowledged.
   */
  public long unacknowledgedSinceUs() {
    return sender.losses.unacknowledged() == 0
        ? Time.NO_DEADLINE
        : sender.userTimeout.progressAtUs();
  }

  /** Whether something has been sent that the peer has to answer, and has not answered yet. */
  public boolean isAnswerAwaited() {
    return sender.losses.unacknowledged() > 0 || sender.probe.isUnanswered();
  }

  /**
   * The payload of all segments that have been taken in, delivered or not, in bytes, modulo
   * 2<sup>32</sup>.
   */
  public int acceptedBytes() {
    return receiver.acceptedBytes();
  }

  /** The lowest sequence number that the peer may still lack. */
  public int sendUna() {
    return sender.buffer.una();
  }

  /** A number that changes whenever something new is acknowledged, or received in order. */
  public int progress() {
    return sender.buffer.una() + receiver.next();
  }

  /** Whether all that was written has been sent at least once. */
  public boolean isAllSent() {
    return sender.buffer.queued() == 0 && sender.isSourceEmpty();
  }

  /** How many segments are queued or in flight. */
  public int segmentsToSend() {
    return sender.buffer.queued() + sender.losses.unacknowledged();
  }

  /**
   * The number behind the last segment that is queued; one that is never reached if there is more
   * to send.
   *
   * @param hasMore whether there is, even if the source of segments is empty
   */
  public int sendEnd(boolean hasMore) {
    SendBuffer buffer = sender.buffer;
    return buffer.next() + buffer.queued() + (hasMore || !sender.isSourceEmpty() ? UNREACHED : 0);
  }

  /** The sequence number of the next segment to be sent for the first time. */
  public int sendNext() {
    return sender.buffer.next();
  }

  /** Whether not all below {@code sn}, or just that, has been received in order. */
  public boolean isPossibleEnd(int sn) {
    return sn - receiver.next() >= 0;
  }

  /** Whether everything below {@code sn} has been received. */
  public boolean isReceivedInOrder(int sn) {
    return receiver.next() - sn >= 0;
  }

  /** The number of the next segment that is expected in order. */
  public int receiveNext() {
    return receiver.next();
  }

  /** Whether anything has been received in order. */
  public boolean hasReceived() {
    return receiver.next() != sender.firstSn;
  }

  /** Whether everything below {@code sn} has been received, and taken by the reader. */
  public boolean isReceivedBelow(int sn) {
    return receiver.next() - sn >= 0 && !receiver.hasUnread();
  }

  /**
   * Lets a session that has failed as {@link EndReason#ZERO_WINDOW_TIMEOUT} tell the peer that it
   * gives up.
   */
  public void forgetZeroWindow() {
    sender.userTimeout.forgetZeroWindow();
  }

  /** See {@link KcpExtension#isPeerDone}. */
  public boolean isPeerDone() {
    return sender.isPeerDone();
  }

  /** {@link #reconfigure(KcpConfig, int)} with the overhead as before. */
  public void reconfigure(KcpConfig config) {
    reconfigure(config, sender.size.overheadBytes());
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
   * @throws OutOfMemoryError if there is no memory to re-segment the queue, or to measure delivery
   *     rates; the settings have not changed then, nor if the congestion control cannot be made
   */
  public void reconfigure(KcpConfig config, int overheadBytes) {
    reconfigure(config, overheadBytes, sender.size.pathMtuBytes());
  }

  private void reconfigure(KcpConfig config, int overheadBytes, int pathMtuBytes) {
    sender.config.checkSuccessor(config);
    int roomBytesBefore = sender.size.mssBytes() + sender.size.reservedBytes();
    int mtuBytes = Math.min(config.mtuBytes(), pathMtuBytes);
    fitExtension(mtuBytes - overheadBytes - Segment.HEADER_BYTES);
    try {
      apply(config, overheadBytes, pathMtuBytes);
    } catch (RuntimeException | Error e) {
      fitExtension(roomBytesBefore);
      throw e;
    }
  }

  private void fitExtension(int roomBytes) {
    if (sender.extension != null) {
      sender.extension.fit(roomBytes);
    }
  }

  private void apply(KcpConfig config, int overheadBytes, int pathMtuBytes) {
    int reservedBytes = sender.extension == null ? 0 : sender.extension.reservedBytes();
    int mtuBytes = Math.min(config.mtuBytes(), pathMtuBytes);
    PacketSize.checkOverhead(mtuBytes, overheadBytes + reservedBytes);
    int mssBytesBefore = sender.size.mssBytes();
    int mssBytes = mtuBytes - Segment.HEADER_BYTES - overheadBytes - reservedBytes;
    CongestionControl next = sender.events.successor(config, mssBytes);
    boolean isStream = config.delivery() == Delivery.STREAM;
    if (mssBytes < mssBytesBefore && isStream && !sender.isClosed()) {
      sender.buffer.resegment(mssBytes);
    }
    if (next.usesDeliveryRate()) {
      sender.losses.ring.makeDeliveries(sender.memory);
    }
    sender.size.set(config.mtuBytes(), pathMtuBytes, overheadBytes, reservedBytes);
    receiver.configure(config);
    sender.configure(config);
    sender.events.use(next, mssBytesBefore);
  }

  /** Sends no more large datagrams if the path drops them. */
  private void shrinkAtBlackHole() {
    BlackHoleDetector blackHoles = sender.blackHolesIfAny();
    if (blackHoles == null || !blackHoles.isDetected() || !sender.size.hasLargePackets()) {
      return;
    }
    if (sender.size.smallDatagramBytes() - sender.size.reservedBytes() <= Segment.HEADER_BYTES) {
      return;
    }
    try {
      reconfigure(sender.config, sender.size.overheadBytes(), BlackHoleDetector.BASE_MTU_BYTES);
      sender.counters.add(KcpCounter.MTU_BLACK_HOLES, 1);
    } catch (OutOfMemoryError e) { // Again with the next flush.
      sender.queueLimit.allocationFailed();
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
  public long inputAtUs() {
    return receiver.receivedAtUs();
  }

  /**
   * The peer's timestamps are milliseconds of a clock. A PUSH is neither taken nor acknowledged
   * from now on if its timestamp is more than 60 s before the newest, or more than 60 s and the
   * time that has passed after it: another process has got the peer's address.
   */
  public void checkPeerTimestamps(long nowUs) {
    sender.timestamps.checkPeer(nowUs);
  }

  /**
   * Whether a PUSH was refused since the last call because its timestamp is too new: the peer may
   * be another one, or this process was suspended.
   */
  public boolean takePeerJump() {
    PeerClock peerClock = sender.timestamps.peerClock();
    return peerClock != null && peerClock.takeJump();
  }

  /** The peer is the one of the session: its next PUSH may have any newer timestamp. */
  public void acceptPeerJump() {
    sender.timestamps.peerClock().acceptJump();
  }

  /**
   * The origin of the timestamps is a random one, which a peer has only by chance. So a PUSH with a
   * timestamp of this side has been sent back, before anything is known of the peer's clock.
   */
  public void timestampsAreRandom() {
    sender.timestamps.random();
  }

  /**
   * Moves the clock of the timestamps away from the peer's, so that segments that somebody sends
   * back to this side are recognised. To be called before anything is sent.
   *
   * @param peerTs the timestamp of a PUSH of the peer
   */
  public void keepTimestampsApart(int peerTs, long nowUs) {
    sender.timestamps.keepApart(peerTs, nowUs);
  }

  /** Segments may have been received in order. */
  void noteReceived() {
    sender.received(receiver.next() - sender.firstSn);
  }

  // Receiving

  /** What a batch of input has brought could be read: what was not is limited from now on. */
  public void endDelivery() {
    receiver.endBatch();
  }

  /**
   * The next bytes (stream mode; at most some 32 KiB at a time) or the next whole message, or null
   * if there is none. The buffer belongs to the caller, who releases it.
   */
  public ByteBuf receive() {
    boolean wasClosed = receiver.isClosed();
    ByteBuf taken = receiver.receive();
    if (taken != null) {
      noteReceived();
      sender.counters.add(KcpCounter.PAYLOAD_BYTES_IN, taken.readableBytes());
      receiver.updateIfOpened(wasClosed);
      failOnBadFragments();
    }
    return taken;
  }

  /**
   * Something that the {@link SegmentSink} held has been read. As {@link #receive} does, this tells
   * the peer if the window opens.
   */
  public void sinkWasRead() {
    boolean wasClosed = receiver.isClosed();
    if (receiver.isUnreadFull()) {
      receiver.endBatch();
    }
    receiver.updateIfOpened(wasClosed);
  }

  /** Whether something has arrived completely that the reader has not taken, or not read. */
  public boolean hasUnread() {
    return receiver.hasUnread() || memory().hasUnread();
  }

  /** There is memory again that {@link #memory} was short of: the next flush tells the window. */
  public void memoryBecameFree() {
    receiver.requestUpdate();
    sender.queueLimit.memoryBecameFree();
  }

  /** Whether {@link #receive} would return something. */
  public boolean isReceivable() {
    return receiver.isReceivable();
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
    return sender.queueLimit.send(data);
  }

  /** Whether {@link #send} would take something; in message mode a message of one segment. */
  public boolean isSendable() {
    return sender.queueLimit.isOpen();
  }

  /** Whether the allocator has failed in {@link #send}, which takes nothing for one interval. */
  public boolean isSendDeferred() {
    return sender.queueLimit.isDeferred();
  }

  /**
   * Whether the last {@link #send} did not take everything since the path is not validated: a flush
   * may challenge it.
   */
  public boolean isSendLimited() {
    return sender.limit != null && sender.queueLimit.isHeldBack();
  }

  /**
   * Whether the memory budget had no room for all of the last {@link #send}, and has none yet. Not
   * polled: a session that is short of memory holds something, so an acknowledgement or an open
   * window is still to come.
   */
  public boolean isSendShortOfMemory() {
    return sender.queueLimit.isShortOfMemory();
  }

  /**
   * Whether to {@link #send} again now what was not taken, without waiting for the peer: nothing is
   * queued, the window is open, and there is memory. True once for each {@link #send} that did not
   * take everything.
   */
  public boolean takeSendRetry() {
    return sender.isWindowFree() && sender.queueLimit.takeRetry();
  }

  /**
   * The largest message in message mode, in bytes. It can change with the MTU, and until the peer
   * has said what it takes. A peer that never does so shows it by the largest window that it has
   * advertised: protocol.md 5.2.
   */
  public int maxMessageBytes() {
    return sender.queueLimit.maxMessageBytes();
  }

  /** The most fragments of a message that this side takes, to be said to the peer. */
  public int messageFragments() {
    return receiver.messageFragments(sender.config.mtuBytes());
  }

  /** The peer has said how many fragments of a message it takes, 1 to 255. */
  public void peerMessageFragments(int fragments) {
    sender.queueLimit.peerFragments(fragments);
  }

  /** The most milliseconds by which this side delays ACKs; 0 if it may delay those at gaps, too. */
  public int maxAckDelayMs() {
    KcpConfig config = sender.config;
    return config.lossDetection() == LossDetection.RACK ? config.intervalMs() : 0;
  }

  /** The peer has said that it delays ACKs by at most {@code ms} milliseconds, and none at gaps. */
  public void peerMaxAckDelay(int ms) {
    sender.losses.peerMaxAckDelay(ms * Time.US_PER_MS);
  }

  /**
   * Sets the source from which segments are pulled when they can leave, or null for none, as at
   * first. Call {@link #afterSend} when the source becomes ready.
   */
  public void source(SegmentSource source) {
    sender.source(source);
  }

  /**
   * Sets the sink that takes the payload of segments as they arrive.
   *
   * @throws IllegalStateException unless the delivery is {@link Delivery#LANES}
   */
  public void sink(SegmentSink sink) {
    if (!(receiver instanceof UnorderedReceiveBuffer unordered)) {
      throw new IllegalStateException(
          "delivery: " + sender.config.delivery() + " (expected: LANES)");
    }
    unordered.sink(sink);
  }

  /**
   * The source has become ready by what was received: what it has leaves at the end of the batch.
   * May be called by a {@link SegmentSink} and a {@link KcpExtension}, too.
   */
  public void sourceBecameReady() {
    windowOpened = true;
  }

  /** Whether all that was sent has been acknowledged, and the source has nothing left. */
  public boolean isDrained() {
    return sender.buffer.isEmpty() && sender.isSourceEmpty();
  }

  /**
   * Whether there is nothing to receive, to send or to wait for: {@link #afterInput} would do
   * nothing, and there is no deadline.
   */
  public boolean isQuiescent() {
    return isDrained()
        && !sender.buffer.isTrimmable()
        && !receiver.isReceivable()
        && !receiver.acks().isPending()
        && schedule.isIdle()
        && (sender.extension == null || sender.extension.isIdle())
        && sender.pathChallengeAtUs() == Time.NO_DEADLINE
        && failure() == null;
  }

  /** Drops everything that the peer has not acknowledged: the peer has closed the session. */
  public void discardOutput(long nowUs) {
    source(null);
    SendBuffer buffer = sender.buffer;
    buffer.dropQueuedBeyond(0);
    buffer.acknowledgeBelow(buffer.next(), nowUs);
    sender.losses.endInput(nowUs);
    sender.outage = null; // Nothing is left to be sent again at its end.
    buffer.trim();
  }

  /** Sends a window probe with the next flush, which a peer that is alive answers. */
  public void probe() {
    sender.probe.request();
  }

  /**
   * Sends a keep-alive probe with the next flush: a window probe and, if the peer knows the
   * session, a challenge, whose answer {@link #isLastInputFresh} cannot be a replay.
   */
  public void probeKeepAlive() {
    sender.probe.request();
    if (sender.isFreshnessExpected()) {
      sender.probe.requestChallenge();
    }
  }

  // Output

  /**
   * To be called once after a batch of {@link #input}, and after what had arrived was received.
   * Flushes what has to leave at once; the rest waits for the interval.
   */
  public void afterInput(long nowUs, DatagramOutput output) {
    boolean urgent =
        ((windowOpened || sender.limit != null) && sender.isNewAllowed())
            || sender.losses.isLossDetected(nowUs);
    if (urgent && sender.pacer.isOpen(nowUs)) {
      flush(nowUs, output);
    } else if (receiver.isUpdatePending()
        || receiver.isAckDue(Math.min(sender.size.mtuBytes(), sender.size.smallDatagramBytes()))
        || isExtensionDue(nowUs)) {
      flushControl(nowUs, output);
    }
    windowOpened = false;
    sender.buffer.trim();
    schedule.update(nowUs);
    if (urgent) {
      schedule.continuePacing(nowUs);
    }
  }

  /**
   * To be called once after a batch of {@link #send} or {@link #probe}, or of {@link #receive}
   * outside of a batch of input: flushes.
   */
  public void afterSend(long nowUs, DatagramOutput output) {
    if (sender.isNewAllowed() && sender.pacer.isOpen(nowUs)) {
      flush(nowUs, output);
    } else if (sender.probe.isRequested() || receiver.isUpdatePending() || isExtensionDue(nowUs)) {
      flushControl(nowUs, output);
    }
    schedule.update(nowUs);
    schedule.continuePacing(nowUs);
  }

  /**
   * Sends everything that may be sent now: acknowledgements, probes, lost segments, new segments.
   */
  public void flush(long nowUs, DatagramOutput output) {
    if (!sender.isOpen()) {
      return;
    }
    schedule.beginFlush(nowUs);
    receiver.closeGap();
    noteReceived();
    failOnBadFragments();
    sender.events.updateSendWindow(nowUs);
    int window = sender.window();
    if (isControlDue()
        || sender.isDue(nowUs)
        || isExtensionDue(nowUs)
        || sender.pathChallengeAtUs() <= nowUs) {
      write(window, nowUs, output);
    }
    sender.reportFlush(window, nowUs);
    shrinkAtBlackHole();
    sender.userTimeout.check(nowUs);
    schedule.update(nowUs);
    schedule.continuePacing(nowUs);
    sender.endFlush();
  }

  private void write(int window, long nowUs, DatagramOutput output) {
    int splitBytes = FlushSplitter.split(sender, output, window, nowUs);
    SegmentWriter writer = beginWriting(output, nowUs);
    try {
      writeControl(writer, nowUs);
      flush.transmit(window, splitBytes);
      flush.end();
    } finally {
      flush.abort();
    }
  }

  private void flushControl(long nowUs, DatagramOutput output) {
    if (!sender.isOpen()) {
      return;
    }
    SegmentWriter writer = beginWriting(output, nowUs);
    try {
      writeControl(writer, nowUs);
      flush.end();
    } finally {
      flush.abort();
    }
  }

  private SegmentWriter beginWriting(DatagramOutput output, long nowUs) {
    int wnd = receiver.beginFlush(sender.rtt, nowUs);
    return flush.begin(sender, conv, output, wnd, receiver.next(), nowUs);
  }

  /**
   * Whether a flush that sends no payload may write segments. Those of a session that has something
   * to send depend on the peer's window, too.
   */
  private boolean isControlDue() {
    return receiver.acks().isPending()
        || sender.probe.isRequested()
        || receiver.isUpdatePending()
        || receiver.isWithheld();
  }

  /**
   * Writes acknowledgements, a window probe, a window update and a challenge, as far as pending.
   */
  private void writeControl(SegmentWriter writer, long nowUs) {
    int ts = flush.ts();
    receiver.flushAcks(writer, nowUs);
    writer.endAcks();
    ZeroWindowProbe probe = sender.probe;
    probe.update(sender.isRemoteWindowClosed(), nowUs);
    boolean isProbing = probe.take(nowUs) && writer.control(Segment.WASK, ts, 0);
    if (receiver.takeUpdate()) {
      writer.control(Segment.WINS, ts, 0);
    }
    if (probe.takeChallenge(ts)) {
      isProbing |= writer.control(Segment.PUSH, ts, challengeSn());
    }
    if (isProbing) {
      sender.counters.add(KcpCounter.PROBES_OUT, 1);
    }
  }

  /**
   * The sequence number of a PUSH that the peer drops as a duplicate, and acknowledges. It is not
   * 0, with which a session would begin at a peer that has restarted.
   */
  private int challengeSn() {
    int sn = sender.buffer.una() - 1;
    return sn == 0 ? -1 : sn;
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
    sender.pacer.charge(bytes, nowUs);
    sender.pacer.chargeUnpaced(unpacedBytes, nowUs);
  }

  /**
   * Writes the header of a WINS, which a message of the extension follows in a datagram of its own.
   *
   * @param bytes those of the message
   */
  public void writeMessageHeader(ByteBuf out, int bytes, long nowUs) {
    int ts = sender.timestamps.at(nowUs);
    int wnd = receiver.advertisedWindow();
    Segment.write(out, conv, Segment.WINS, 0, wnd, ts, 0, receiver.next(), bytes);
  }

  // Deadlines

  /**
   * When {@link #flush} has to be called at the latest, in microseconds, or {@link
   * Time#NO_DEADLINE}. Never later than there is something to do. It can be earlier, at most once
   * per timeout, when the segment that would have timed out first has been acknowledged meanwhile;
   * that flush then sends nothing.
   */
  public long nextDeadline() {
    return sender.isOpen() ? schedule.nextUs() : Time.NO_DEADLINE;
  }

  /** Releases every buffer. Every call after it does nothing. */
  public void close() {
    if (!sender.isClosed()) {
      if (sender.tracing != null) {
        sender.tracing.closed();
        sender.tracing = null;
      }
      sender.close();
      receiver.close();
    }
  }

  /**
   * The result of {@link Kcp#input}. Any other result than {@link #ACCEPTED} means that the
   * datagram was refused as a whole: it was counted and had no effect on the session.
   */
  public enum InputResult {
    /** The datagram was valid and applied. Single segments of it may have been dropped. */
    ACCEPTED,
    /** Shorter than a header, or a segment's length points beyond the end. */
    MALFORMED,
    /** A segment carries another conversation id. */
    WRONG_CONV,
    /** A segment's command is none of KCP's four. */
    UNKNOWN_COMMAND,
    /** An ACK or a {@code una} acknowledges a segment that was never sent. */
    ACKNOWLEDGES_UNSENT,
    /** A segment of this side that somebody has sent back, as its timestamp shows. */
    REFLECTED,
    /**
     * The session is a client's whose peer has acknowledged nothing exactly yet, and the datagram
     * acknowledges something: most likely what another process with the same address has sent.
     */
    UNPROVEN,
    /** The session has ended; see {@link Kcp#failure()}. */
    SESSION_ENDED
  }
}
