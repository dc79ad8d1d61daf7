package io.kcp4j;

import io.netty.buffer.ByteBuf;
import java.lang.invoke.VarHandle;
import java.util.Objects;

/**
 * One side of a KCP session: the ARQ as a state machine. It has no clock, no thread and no socket;
 * whoever drives it passes the time, in milliseconds of any clock that never goes back, and all
 * calls come from one thread.
 *
 * <p><b>How to drive it.</b> Hand each datagram to {@link #input}; after a batch of them take what
 * has arrived with {@link #receive} and call {@link #afterInput}; after a batch of {@link #send}
 * call {@link #afterSend}; and call {@link #flush} when {@link #nextDeadline} has come. Look at
 * {@link #failure} after each of these. {@link #close} when done.
 *
 * <p><b>Theory of operation.</b> Every segment with payload has a sequence number and is sent until
 * it is acknowledged: by an ACK of its own, or by {@code una}, which every segment of the peer
 * carries and below which everything has arrived. A segment counts as lost when its timeout has
 * passed, or when enough segments that were sent after it have been acknowledged. At most a window
 * of segments is in flight: the smallest of the send window, the free receive window that the peer
 * tells, and what the {@link CongestionControl} allows.
 *
 * <p>There is no clock tick. What must leave at once leaves after the batch that caused it, so that
 * throughput follows the link; acknowledgements and delayed writes wait at most one interval for
 * company; and a session with nothing in flight and nothing to acknowledge has no deadline at all.
 *
 * <p><b>Buffers.</b> Whatever is handed in is copied and stays the caller's; what {@link #receive}
 * returns is the caller's from then on.
 */
public final class Kcp {

  /** What {@link #nextDeadline} returns when there is nothing to wait for. */
  public static final long NO_DEADLINE = Long.MAX_VALUE;

  /** kcp-go's receive window: what a peer is sure to take before it has told us its own. */
  private static final int INITIAL_REMOTE_WINDOW = 32;

  /** The reference's receive window, which bounds messages until the peer has told its own. */
  private static final int INITIAL_MESSAGE_WINDOW = 128;

  /**
   * How long after it has been heard a peer whose window is closed for want of memory is told at
   * once that it opens; later it has to ask.
   */
  private static final int RECENTLY_RECEIVED_MS = 1000;

  private final int conv;
  private final int tsOrigin;
  private final KcpCounters counters;
  private final SegmentWriter writer;
  private final LossDetector losses;
  private final SendBuffer sending;
  private final ReceiveBuffer receiving;
  private final RttEstimator rtt = new RttEstimator();
  private final WindowProbe probe = new WindowProbe();
  private final WriteStall stall = new WriteStall();
  private final Pacer pacer = new Pacer();

  private KcpConfig config;
  private int overheadBytes;
  private CongestionControl congestion;
  private KcpFailure failure;
  private boolean closed;

  private int remoteUna;
  private int remoteWindow = INITIAL_REMOTE_WINDOW;
  private int largestRemoteWindow;

  /** The segments, in bytes, for which the last {@link #send} found no memory; 0 if it did. */
  private int refusedBytes;

  /** Whether the last flush has told a closed window only because the memory budget is short. */
  private boolean windowWithheld;

  private long lastReceivedAtMs;

  private boolean askWindow;
  private boolean tellWindow;
  private boolean windowOpened;
  private boolean lastInputStale;
  private long flushAtMs = NO_DEADLINE;

  /** Whether {@link #send} has found no memory, and when it may be tried again. */
  private boolean sendHeldUp;

  private long sendAgainAtMs = NO_DEADLINE;
  private long progressAtMs;

  // Retransmissions of the flush that is going on:

  private int lostByAcks;
  private int lostByTimeout;

  /**
   * Makes a session.
   *
   * @param conv the conversation id, the same on both sides
   * @param config the settings
   * @param context what the sessions of one endpoint share
   * @param tsOrigin what the timestamp field shows at time 0; a random one per session makes
   *     acknowledgements unguessable
   */
  public Kcp(int conv, KcpConfig config, KcpContext context, int tsOrigin) {
    this(conv, config, context, tsOrigin, 0);
  }

  /** Makes a session whose first sequence number, both ways, is not 0: for tests near the wrap. */
  Kcp(int conv, KcpConfig config, KcpContext context, int tsOrigin, int firstSn) {
    this.conv = conv;
    this.config = Objects.requireNonNull(config, "config");
    this.tsOrigin = tsOrigin;
    counters = new KcpCounters(context.total());
    writer = new SegmentWriter(conv, counters, pacer);
    losses = new SkipCountDetector(rtt);
    sending = new SendBuffer(context, losses, firstSn);
    receiving = new ReceiveBuffer(context, counters, config, firstSn);
    congestion = newCongestionControl(config, mssBytes());
    remoteUna = firstSn;
    rtt.update(config);
    losses.configure(config);
    pacer.configure(config);
  }

  private static CongestionControl newCongestionControl(KcpConfig config, int mssBytes) {
    return Objects.requireNonNull(
        config.congestionControl().create(mssBytes), "congestionControl made null");
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

  /** The largest datagram that is written, in bytes. */
  private int mtuBytes() {
    return config.mtuBytes() - overheadBytes;
  }

  /** Why the session cannot go on, or null while it can. */
  public KcpFailure failure() {
    return failure;
  }

  /** What walks through the segments in flight have cost, in segments looked at. For tests. */
  long segmentsVisited() {
    return losses.order.visits();
  }

  /** What this session has counted. */
  public KcpCounters counters() {
    return counters;
  }

  /**
   * The session's state as it is now. Other threads may ask, too: they see values that are at most
   * a little old, though not all of the same moment, and a loop that waits for one sees it come.
   */
  public KcpStats stats() {
    VarHandle.acquireFence(); // Nothing below may be taken from an earlier call of the same thread.
    return new KcpStats(
        rtt.srttMs(),
        rtt.rttVarMs(),
        rtt.rtoMs(),
        congestion.window(),
        remoteWindow,
        losses.unacknowledged(),
        sending.queued(),
        (long) sending.heldBytes() + receiving.heldBytes(),
        counters.copy());
  }

  /** {@link #reconfigure(KcpConfig, int)} with the overhead as before. */
  public void reconfigure(KcpConfig config) {
    reconfigure(config, overheadBytes);
  }

  /**
   * Changes the settings at run time. Segments already sent keep their size, messages already
   * queued their fragments; what is queued in stream mode is cut anew if the MTU has shrunk.
   *
   * @param config the settings
   * @param overheadBytes what the layers beneath add to each datagram, 0 at first: it counts as
   *     part of the MTU
   * @throws IllegalArgumentException if {@link KcpConfig#checkSuccessor} does, or if the MTU leaves
   *     no room for payload; nothing has changed then
   * @throws OutOfMemoryError if there is no memory to cut anew what is queued; nothing has changed
   *     then, nor if the congestion control cannot be made
   */
  public void reconfigure(KcpConfig config, int overheadBytes) {
    KcpConfig old = this.config;
    old.checkSuccessor(config);
    checkRoom(config, overheadBytes);
    int oldMtuBytes = mtuBytes();
    int mtuBytes = config.mtuBytes() - overheadBytes;
    boolean isSameControl = config.congestionControl() == old.congestionControl();
    CongestionControl control =
        isSameControl ? congestion : newCongestionControl(config, mtuBytes - Segment.HEADER_BYTES);
    if (mtuBytes < oldMtuBytes && config.delivery() == Delivery.STREAM && !closed) {
      sending.resegment(mtuBytes - Segment.HEADER_BYTES);
    }
    this.config = config;
    this.overheadBytes = overheadBytes;
    boolean full = receiving.freeWindow() == 0;
    receiving.configure(config);
    tellIfOpened(full);
    rtt.update(config);
    losses.configure(config);
    pacer.configure(config);
    congestion = control;
    if (isSameControl && mtuBytes != oldMtuBytes) {
      congestion.onMssChanged(mssBytes());
    }
  }

  private static void checkRoom(KcpConfig config, int overheadBytes) {
    int least = overheadBytes + Segment.HEADER_BYTES + 1;
    if (config.mtuBytes() < least) {
      throw new IllegalArgumentException(
          "mtuBytes: "
              + config.mtuBytes()
              + " (expected: >= "
              + least
              + " with the headers beneath)");
    }
  }

  // Input

  /**
   * Takes in one datagram: the bytes between reader and writer index. Copies what it keeps; the
   * buffer, which no other thread may use meanwhile, stays the caller's and its indices stay where
   * they are. Never throws for what a peer sent: what cannot be right is refused as a whole, before
   * any of it has an effect, and counted.
   */
  public InputResult input(ByteBuf datagram, long nowMs) {
    return input(datagram, Origin.NETWORK, nowMs);
  }

  /** {@link #input(ByteBuf, long)} for a datagram of either origin. */
  public InputResult input(ByteBuf datagram, Origin origin, long nowMs) {
    if (closed || failure != null) {
      return InputResult.SESSION_ENDED;
    }
    if (origin == Origin.NETWORK) {
      counters.add(KcpCounter.DATAGRAMS_IN, 1);
      counters.add(KcpCounter.BYTES_IN, datagram.readableBytes());
    }
    InputResult result = judge(datagram);
    switch (result) {
      case ACCEPTED -> apply(datagram, origin, nowMs);
      case MALFORMED -> counters.add(KcpCounter.MALFORMED, 1);
      case WRONG_CONV -> counters.add(KcpCounter.WRONG_CONV, 1);
      case UNKNOWN_COMMAND -> counters.add(KcpCounter.UNKNOWN_COMMAND, 1);
      case ACKNOWLEDGES_UNSENT -> counters.add(KcpCounter.ACKNOWLEDGES_UNSENT, 1);
      case SESSION_ENDED -> throw new AssertionError(result);
    }
    return result;
  }

  /** Looks at the whole datagram before any of it counts: protocol.md 2.1. */
  private InputResult judge(ByteBuf datagram) {
    int end = datagram.writerIndex();
    int index = datagram.readerIndex();
    if (end - index < Segment.HEADER_BYTES) {
      return InputResult.MALFORMED;
    }
    int sndNext = sending.next();
    do {
      long first = Segment.first(datagram, index);
      if (Segment.conv(first) != conv) {
        return InputResult.WRONG_CONV;
      }
      int cmd = Segment.cmd(first);
      if (!Segment.isCommand(cmd)) {
        return InputResult.UNKNOWN_COMMAND;
      }
      long third = Segment.third(datagram, index);
      int length = Segment.length(third);
      if (length < 0 || length > end - index - Segment.HEADER_BYTES) {
        return InputResult.MALFORMED;
      }
      if (Segment.una(third) - sndNext > 0
          || (cmd == Segment.ACK && Segment.sn(datagram, index) - sndNext >= 0)) {
        return InputResult.ACKNOWLEDGES_UNSENT;
      }
      index += Segment.HEADER_BYTES + length;
    } while (end - index >= Segment.HEADER_BYTES);
    return InputResult.ACCEPTED;
  }

  /**
   * Applies a datagram that has been judged: every ACK first, since a {@code una} beside it would
   * drop the segment that it is held against: protocol.md 2.3.
   */
  private void apply(ByteBuf datagram, Origin origin, long nowMs) {
    lastReceivedAtMs = nowMs;
    int unaBefore = sending.una();
    int awaitedBefore = losses.unacknowledged();
    int newestUna = remoteUna;
    int rttSampleMs = -1;
    int segments = 0;
    int end = datagram.writerIndex();
    int index = datagram.readerIndex();
    int una = Segment.una(Segment.third(datagram, index));
    while (end - index >= Segment.HEADER_BYTES && failure == null) {
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
      int sn = Segment.sn(second);
      int ts = Segment.ts(second);
      int length = Segment.length(third);
      switch (Segment.cmd(first)) {
        case Segment.ACK -> rttSampleMs = acknowledge(sn, ts, nowMs, rttSampleMs);
        case Segment.PUSH -> {
          int payload = index + Segment.HEADER_BYTES;
          receiving.push(sn, ts, Segment.frg(first), datagram, payload, length);
          failOnBadFragments();
        }
        case Segment.WASK -> tellWindow = true;
        default -> {} // WINS: its window has been taken above
      }
      index += Segment.HEADER_BYTES + length;
    }
    counters.add(KcpCounter.SEGMENTS_IN, segments);
    lastInputStale = una - newestUna < 0;
    sending.acknowledgeBelow(una, nowMs);
    if (rttSampleMs >= 0 && origin == Origin.NETWORK) {
      rtt.sample(rttSampleMs, config);
    }
    if (sending.una() != unaBefore) {
      congestion.onAcknowledged(remoteWindow);
      if (sending.una() != sending.next()) {
        losses.unaAdvanced(sending.index(sending.una()), nowMs);
      }
      windowOpened = sending.queued() > 0;
    }
    int acknowledged = awaitedBefore - losses.unacknowledged();
    if (acknowledged != 0) {
      progressAtMs = nowMs;
      pacer.acknowledged(acknowledged, nowMs);
    }
  }

  /**
   * Whether the datagram that was taken in last is older than one before it: it acknowledges less.
   * It was overtaken, or comes from somebody who does not know the session: no peer forgets what it
   * has acknowledged.
   */
  public boolean isLastInputStale() {
    return lastInputStale;
  }

  private void failOnBadFragments() {
    if (receiving.isViolated()) {
      failure = KcpFailure.PROTOCOL_VIOLATION;
    }
  }

  /** Takes one ACK, returns the shortest round trip of the datagram so far: protocol.md 2.4. */
  private int acknowledge(int sn, int ts, long nowMs, int rttSampleMs) {
    if (!sending.isAwaited(sn)) {
      return rttSampleMs;
    }
    boolean genuine = losses.wasSentAt(sending.index(sn), ts);
    sending.acknowledge(sn, ts, nowMs);
    if (!genuine) {
      counters.add(KcpCounter.INVALID_TIMESTAMP, 1);
      return rttSampleMs;
    }
    int rttMs = ts(nowMs) - ts;
    return rttSampleMs < 0 ? rttMs : Math.min(rttMs, rttSampleMs);
  }

  /**
   * An older datagram that was overtaken must not close the window again. The timestamp cannot
   * tell, since an ACK's is ours; {@code una} and, for equal ones, the larger window do:
   * protocol.md 2.5.
   */
  private void updateRemoteWindow(int una, int wnd) {
    int newer = una - remoteUna;
    if (newer < 0 || (newer == 0 && wnd < remoteWindow && largestRemoteWindow != 0)) {
      return;
    }
    if (wnd > remoteWindow) {
      windowOpened = sending.queued() > 0;
    }
    remoteUna = una;
    remoteWindow = wnd;
    // The fragments of an unfinished message take up room that the next message will have.
    largestRemoteWindow =
        Math.max(largestRemoteWindow, wnd + sending.unfinishedFragments(remoteUna));
  }

  // Receiving

  /**
   * The next bytes (stream mode; at most some 32 KiB at a time) or the next whole message, or null
   * if there is none. The buffer becomes the caller's, who releases it.
   */
  public ByteBuf receive() {
    boolean full = windowWithheld || receiving.freeWindow() == 0;
    ByteBuf taken = receiving.receive();
    if (taken != null) {
      counters.add(KcpCounter.PAYLOAD_BYTES_IN, taken.readableBytes());
      tellIfOpened(full);
      failOnBadFragments();
    }
    return taken;
  }

  private void tellIfOpened(boolean wasFull) {
    tellWindow |= wasFull && advertisedWindow() > 0;
  }

  /** The free window as far as the memory budget has room for it: protocol.md 3.4. */
  private int advertisedWindow() {
    return Math.min(receiving.affordableWindow(config.mtuBytes()), KcpConfig.MAX_WINDOW);
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
   *     message mode when {@link #takeSendWanted} does. While the allocator has no memory that is
   *     after one interval; {@link #afterSend} has to be called then, too
   * @throws IllegalArgumentException if a message is larger than {@link #maxMessageBytes}: it can
   *     never be sent; nothing was taken
   */
  public boolean send(ByteBuf data) {
    refusedBytes = 0;
    boolean stream = config.delivery() == Delivery.STREAM;
    if (!stream && data.readableBytes() > maxMessageBytes()) {
      throw new IllegalArgumentException(
          "message: " + data.readableBytes() + " bytes (expected: <= " + maxMessageBytes() + ")");
    }
    int before = data.readableBytes();
    boolean taken;
    try {
      taken = stream ? sendBytes(data) : sendMessage(data);
    } catch (OutOfMemoryError e) { // What was queued before stays queued.
      counters.add(KcpCounter.ALLOCATION_FAILED, 1);
      sendHeldUp = true;
      taken = false;
    }
    counters.add(KcpCounter.PAYLOAD_BYTES_OUT, before - data.readableBytes());
    return taken;
  }

  private boolean sendBytes(ByteBuf data) {
    if (!data.isReadable()) {
      return true;
    }
    if (isSendable()) {
      int mss = mssBytes();
      sending.extendLast(data, mss);
      long room = (long) mss * (config.sendQueue() - sending.queued());
      sending.appendStream(data, (int) Math.min(data.readableBytes(), room), mss);
    }
    return !data.isReadable() || refuse(segmentBytes());
  }

  private boolean sendMessage(ByteBuf data) {
    int mss = mssBytes();
    int fragments = Math.max(1, (data.readableBytes() + mss - 1) / mss);
    int bytes = fragments * Segment.HEADER_BYTES + data.readableBytes();
    if (!isSendable() || !sending.isAffordable(bytes)) {
      return refuse(Math.max(bytes, segmentBytes()));
    }
    int start = data.readerIndex();
    int queued = sending.queued();
    try {
      for (int frg = fragments - 1; frg >= 0; frg--) {
        sending.append(data, Math.min(mss, data.readableBytes()), frg, data.readableBytes());
      }
    } catch (RuntimeException | Error e) { // No memory, or part of it cannot be read.
      sending.dropQueuedBeyond(queued);
      data.readerIndex(start);
      throw e;
    }
    return true;
  }

  /** Notes what could not be taken, and returns false. */
  private boolean refuse(int bytes) {
    refusedBytes = bytes;
    return false;
  }

  private int segmentBytes() {
    return Segment.HEADER_BYTES + mssBytes();
  }

  /** Whether {@link #send} would take something; in message mode a message of one segment. */
  public boolean isSendable() {
    return hasQueueRoom() && sending.isAffordable(segmentBytes());
  }

  private boolean hasQueueRoom() {
    return !closed && failure == null && !sendHeldUp && sending.queued() < config.sendQueue();
  }

  /** Whether {@link #send} has found no memory, and the interval until the next try is not over. */
  public boolean isSendHeldUp() {
    return sendHeldUp;
  }

  /**
   * Whether the memory budget had no room for all of the last {@link #send}, and has none yet. Not
   * polled: a session that is short holds something, so an acknowledgement or an open window is
   * still to come.
   */
  public boolean isSendShort() {
    return refusedBytes > 0 && hasQueueRoom() && !sending.isAffordable(refusedBytes);
  }

  /**
   * Whether to {@link #send} what was not taken at once, without waiting for the peer: nothing is
   * queued any more though the window has room, and there is memory. True once for each {@link
   * #send} of which something was not taken.
   */
  public boolean takeSendWanted() {
    boolean isWanted =
        refusedBytes > 0
            && sending.queued() == 0
            && isWindowFree()
            && hasQueueRoom()
            && sending.isAffordable(refusedBytes);
    if (isWanted) {
      refusedBytes = 0;
    }
    return isWanted;
  }

  /**
   * The largest message in message mode, in bytes. It can change: with the MTU, and with the
   * largest window that the peer has shown: protocol.md 5.2.
   */
  public int maxMessageBytes() {
    int window =
        largestRemoteWindow == 0
            ? INITIAL_MESSAGE_WINDOW
            : Math.max(largestRemoteWindow, INITIAL_REMOTE_WINDOW);
    return mssBytes() * Math.min(config.maxFragments(), window);
  }

  /** Whether all that was sent has been acknowledged. */
  public boolean isDrained() {
    return sending.isEmpty();
  }

  /**
   * Whether there is nothing to receive, to send or to wait for: {@link #afterInput} would do
   * nothing, and there is no deadline.
   */
  public boolean isQuiescent() {
    return sending.isEmpty()
        && !sending.isTrimmable()
        && !receiving.isReceivable()
        && !receiving.acks().isPending()
        && !askWindow
        && !tellWindow
        && !windowWithheld
        && flushAtMs == NO_DEADLINE
        && !sendHeldUp
        && failure == null;
  }

  /** Asks the peer for a sign of life: a window probe leaves with the next flush. */
  public void probe() {
    askWindow = true;
  }

  // Output

  /**
   * To be called once after a batch of {@link #input}, and after what had arrived was received.
   * Flushes what has to leave at once; the rest waits for the interval.
   */
  public void afterInput(long nowMs, DatagramOutput output) {
    boolean urgent = (windowOpened && isNewAllowed()) || losses.isLossDetected();
    if (urgent && pacer.isOpen(nowMs)) {
      flush(nowMs, output);
    } else if (tellWindow || isAckDue()) {
      flushControl(nowMs, output);
    }
    windowOpened = false;
    sending.trim();
    waitForInterval(nowMs);
    if (urgent) {
      waitForBurst(nowMs);
    }
  }

  /**
   * To be called once after a batch of {@link #send} or {@link #probe}, or of {@link #receive}
   * outside of a batch of input: flushes, or with write delay waits for the interval.
   */
  public void afterSend(long nowMs, DatagramOutput output) {
    if (!config.writeDelay() && isNewAllowed() && pacer.isOpen(nowMs)) {
      flush(nowMs, output);
    } else if (askWindow || tellWindow) {
      flushControl(nowMs, output);
    }
    waitForInterval(nowMs);
    if (!config.writeDelay()) {
      waitForBurst(nowMs);
    }
  }

  /**
   * Sends everything that may be sent now: acknowledgements, probes, lost segments, new segments.
   */
  public void flush(long nowMs, DatagramOutput output) {
    if (closed || failure != null) {
      return;
    }
    excludeDriverStall(nowMs);
    flushAtMs = NO_DEADLINE;
    if (nowMs >= sendAgainAtMs) {
      sendHeldUp = false;
      sendAgainAtMs = NO_DEADLINE;
    }
    receiving.closeGap();
    failOnBadFragments();
    beginFlush(nowMs, output);
    int window = window();
    boolean newAllowed = isNewAllowed();
    lostByAcks = 0;
    lostByTimeout = 0;
    retransmitLost(newAllowed, nowMs);
    sendNew(window, nowMs);
    writer.end();
    if (lostByAcks > 0) {
      congestion.onFastRetransmit(sending.next() - sending.una(), config.fastRetransmit());
    }
    if (lostByTimeout > 0) {
      congestion.onTimeout(window);
    }
    failOnNoProgress(nowMs);
    waitForInterval(nowMs);
    waitForBurst(nowMs);
  }

  private void flushControl(long nowMs, DatagramOutput output) {
    if (closed || failure != null) {
      return;
    }
    beginFlush(nowMs, output);
    writer.end();
  }

  /** Every flush begins with acknowledgements and probes. */
  private void beginFlush(long nowMs, DatagramOutput output) {
    int wnd = advertisedWindow();
    tellWindow |= windowWithheld && wnd > 0;
    windowWithheld = wnd == 0 && receiving.freeWindow() > 0;
    writer.begin(output, nowMs, mtuBytes(), overheadBytes, wnd, receiving.next());
    receiving.flushAcks(writer);
    probe.update(isWindowClosed(), nowMs);
    if (probe.isDue(nowMs) || askWindow) {
      writer.control(Segment.WASK, ts(nowMs), 0);
      counters.add(KcpCounter.PROBES_OUT, 1);
    }
    if (tellWindow) {
      writer.control(Segment.WINS, ts(nowMs), 0);
    }
    askWindow = false;
    tellWindow = false;
  }

  private void retransmitLost(boolean newAllowed, long nowMs) {
    if (!losses.isSearchDue(newAllowed, nowMs)) {
      return;
    }
    while (pacer.isOpen(nowMs)) {
      int index = losses.nextLost(newAllowed, nowMs);
      if (index == LossDetector.NONE) {
        return;
      }
      if (losses.cause() == LossCause.TIMEOUT) {
        lostByTimeout++;
      } else {
        lostByAcks++;
      }
      retransmit(index, nowMs);
    }
  }

  private void retransmit(int index, long nowMs) {
    writer.retransmit(sending, index, ts(nowMs));
    losses.retransmitted(index, ts(nowMs), nowMs);
    counters.add(losses.cause().counter(), 1);
    counters.add(KcpCounter.RETRANSMITTED, 1);
    if (config.deadLink() > 0 && losses.transmissions(index) >= config.deadLink()) {
      failure = KcpFailure.DEAD_LINK;
    }
  }

  private void sendNew(int window, long nowMs) {
    if (losses.unacknowledged() == 0) {
      progressAtMs = nowMs;
    }
    int left = Math.min(sending.queued(), window - (sending.next() - sending.una()));
    while (left > 0 && pacer.isOpen(nowMs)) {
      int most = Math.min(left, pacer.room());
      left -= writer.pushNew(sending, most, ts(nowMs));
    }
  }

  /**
   * Counts against the rate limit what the layers beneath have sent for this session beside its
   * datagrams, such as parity.
   */
  public void charge(int bytes, long nowMs) {
    pacer.charge(bytes, nowMs);
  }

  /** The window in force: how far beyond {@code una} segments may be in flight. */
  private int window() {
    return Math.min(Math.min(config.sendWindow(), remoteWindow), congestion.window());
  }

  private boolean isNewAllowed() {
    return sending.queued() > 0 && isWindowFree();
  }

  private boolean isWindowFree() {
    return sending.next() - sending.una() < window();
  }

  private boolean isWindowClosed() {
    return remoteWindow == 0 && sending.queued() > 0;
  }

  /**
   * Whether acknowledgements cannot wait: a datagram of them is full, or half of our window is used
   * up: protocol.md 3.3.
   */
  private boolean isAckDue() {
    int arrivals = receiving.acks().arrivals();
    return arrivals > 0
        && (config.ackNoDelay()
            || arrivals >= mtuBytes() / Segment.HEADER_BYTES
            || arrivals >= config.receiveWindow() / 2);
  }

  // Deadlines

  /**
   * When {@link #flush} has to be called at the latest, or {@link #NO_DEADLINE}. Never later than
   * there is something to do. It can be earlier, at most once per timeout, when the segment that
   * would have timed out first has been acknowledged meanwhile; that flush then sends nothing.
   */
  public long nextDeadline() {
    if (closed || failure != null) {
      return NO_DEADLINE;
    }
    long resend = Math.max(losses.deadlineMs(), pacer.opensAtMs());
    long window = Math.min(probe.nextAtMs(), stall.overAtMs(config.writeStallTimeoutMs()));
    long flush = Math.min(flushAtMs, sendAgainAtMs);
    return Math.min(Math.min(flush, resend), Math.min(window, progressDeadline()));
  }

  private long progressDeadline() {
    return losses.unacknowledged() > 0 && config.progressTimeoutMs() > 0
        ? progressAtMs + config.progressTimeoutMs()
        : NO_DEADLINE;
  }

  /**
   * Time in which we were not driven, as in a long pause of the whole process, is not held against
   * the peer: nothing was sent again that it could have acknowledged.
   */
  private void excludeDriverStall(long nowMs) {
    long lateMs = Math.max(0, nowMs - nextDeadline());
    progressAtMs += lateMs;
    stall.forgive(lateMs);
  }

  private void failOnNoProgress(long nowMs) {
    if (failure != null) {
      return;
    }
    if (nowMs >= progressDeadline()) {
      failure = KcpFailure.NO_PROGRESS;
    } else if (nowMs >= stall.overAtMs(config.writeStallTimeoutMs())) {
      failure = KcpFailure.WRITE_STALLED;
    }
  }

  /** What can wait for company waits for one interval, counted from when it began to wait. */
  private void waitForInterval(long nowMs) {
    probe.update(isWindowClosed(), nowMs);
    int window = Math.min(config.sendWindow(), largestRemoteWindow);
    stall.update(sending.queued() > 0, remoteWindow, sending.una(), window, nowMs);
    boolean waiting =
        receiving.acks().isPending()
            || receiving.isHeldUp()
            || (windowWithheld && nowMs - lastReceivedAtMs < RECENTLY_RECEIVED_MS)
            || isNewAllowed()
            || losses.isLossDetected() // deferred by the pacer
            || losses.isLossSuspected();
    if (!waiting) {
      flushAtMs = NO_DEADLINE;
    } else if (flushAtMs == NO_DEADLINE) {
      flushAtMs = nowMs + config.intervalMs();
    }
    if (sendHeldUp && sendAgainAtMs == NO_DEADLINE) {
      sendAgainAtMs = nowMs + config.intervalMs();
    }
  }

  /** What nothing but the end of a burst holds back goes on with the next one. */
  private void waitForBurst(long nowMs) {
    if (isNewAllowed() && pacer.isBurstSpent(nowMs)) {
      flushAtMs = Math.min(flushAtMs, pacer.opensAtMs());
    }
  }

  private int ts(long nowMs) {
    return tsOrigin + (int) nowMs;
  }

  /** Releases every buffer. Every call after it does nothing. */
  public void close() {
    if (!closed) {
      closed = true;
      sending.close();
      receiving.close();
    }
  }
}
