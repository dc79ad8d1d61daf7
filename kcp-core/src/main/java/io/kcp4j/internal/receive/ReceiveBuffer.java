package io.kcp4j.internal.receive;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.LossDetection;
import io.kcp4j.internal.buffer.RingPool;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.recovery.Redundancy;
import io.kcp4j.internal.recovery.RttEstimator;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;

/**
 * The receive buffer: acknowledges segments and advertises the free window, as far as the memory
 * budget has room for it (flow control, receiving side: protocol.md 3.4). Duplicate suppression: a
 * segment that was received before is acknowledged again and dropped. What becomes of the payload
 * of new segments depends on the {@link Delivery}.
 */
public abstract class ReceiveBuffer {

  /** What a peer whose path is not validated may have sent and is not read: protocol.md 8.7. */
  private static final int MAX_UNREAD_BYTES = 64 * 1024;

  /** A peer sends 32 segments before it knows the window. Tuning begins after them. */
  private static final int UNTUNED_SEGMENTS = 32;

  /**
   * For how long after its last datagram a peer gets a WINS at once when a window opens that was
   * closed for lack of memory. Later it has to probe.
   */
  private static final int RECENTLY_RECEIVED_US = 1_000_000;

  /** A window larger than the initial one promises at most an eighth of the memory left. */
  private static final int MEMORY_PART = 8;

  final KcpCounters counters;
  final MemoryAccount account;
  public final PendingAcks acks;

  /** Null until {@link #UNTUNED_SEGMENTS} have been read: idle sessions have none. */
  private ReceiveWindow tuned;

  private final Redundancy redundancy;
  private final int firstSn;

  KcpConfig config;

  /** The sequence number that is next in order. */
  int next;

  private boolean isLossy;

  /** Whether what is not read is limited, and was at the limit at the end of the last batch. */
  private boolean isUnreadLimited;

  private boolean isUnreadFull;

  /** The latest timestamp of the segments beyond the gap. */
  private int tsBeyondGap;

  /** Whether a WINS is to be sent, which tells the peer of the window. */
  private boolean isUpdatePending;

  /** Whether the last flush has advertised a closed window only for lack of memory. */
  private boolean isWithheld;

  private long receivedAtUs;
  private int acceptedBytes;

  ReceiveBuffer(
      MemoryAccount account,
      Redundancy redundancy,
      KcpCounters counters,
      KcpConfig config,
      int firstSn) {
    this.redundancy = redundancy;
    this.counters = counters;
    this.account = account;
    acks = new PendingAcks(account);
    this.firstSn = firstSn;
    next = firstSn;
    this.config = config;
  }

  /** The receive buffer of a session with this delivery. */
  public static ReceiveBuffer of(
      MemoryAccount account,
      RingPool<ReceiveQueue.Ring> rings,
      Redundancy redundancy,
      KcpCounters counters,
      KcpConfig config,
      int firstSn) {
    return config.delivery() == Delivery.LANES
        ? new UnorderedReceiveBuffer(account, redundancy, counters, config, firstSn)
        : new OrderedReceiveBuffer(account, rings, redundancy, counters, config, firstSn);
  }

  /** Takes over settings, which can open the window. */
  public final void configure(KcpConfig config) {
    boolean wasFull = freeWindow() == 0;
    this.config = config;
    if (tuned != null) {
      tuned.configure(config);
    }
    updateIfOpened(wasFull);
  }

  /** The most segments that are held, whatever has been advertised: protocol.md 3.1. */
  final int limit() {
    return config.receiveWindow();
  }

  /** Whether acknowledgements of thin traffic are timely: protocol.md 3.3. */
  private boolean isTimely() {
    return config.lossDetection() == LossDetection.RACK;
  }

  /** The sequence number that is next in order. */
  public final int next() {
    return next;
  }

  public final PendingAcks acks() {
    return acks;
  }

  /**
   * Whether acknowledgements leave at the end of the batch: at a gap, on a lossy path, when a
   * datagram of them is full, or when half of the window is used up: protocol.md 3.3.
   */
  public final boolean isAckDue(int mtuBytes) {
    int arrivals = acks.arrivals();
    return arrivals > 0
        && (config.ackNoDelay()
            || (isTimely() && (acks.isAtGap() || (isLossy && acks.isThin())))
            || arrivals >= mtuBytes / Segment.HEADER_BYTES
            || arrivals >= window() / 2);
  }

  /** Limits what is received and not read, or ends that. */
  public final void limitUnread(boolean isLimited) {
    isUnreadLimited = isLimited;
    isUnreadFull = false;
  }

  /** A batch of input has ended, and what could be read has been. */
  public final void endBatch() {
    isUnreadFull = isUnreadLimited && readableBytes() >= MAX_UNREAD_BYTES;
  }

  /** Whether what is not read was at its limit at the end of the last batch. */
  public final boolean isUnreadFull() {
    return isUnreadFull;
  }

  /**
   * Whether the limit has room for a segment. What arrives in order within a batch may exceed it,
   * since it is likely to be read then.
   */
  final boolean hasUnreadRoom(int distance, int bytes) {
    return !isUnreadLimited
        || (distance == 0 ? !isUnreadFull : heldBytes() + bytes <= MAX_UNREAD_BYTES);
  }

  /** The memory of what can be read now, in bytes. */
  abstract int readableBytes();

  /** All memory that is held, in bytes. */
  public abstract int heldBytes();

  /** The receive window, in segments, without what the reader has not taken: protocol.md 3.4. */
  final int window() {
    return tuned == null ? ReceiveWindow.initial(limit()) : tuned.segments();
  }

  /** A flush begins, which advertises the window. It may grow before, unless it is limited. */
  private void tuneWindow(RttEstimator rtt, long nowUs) {
    if (tuned != null) {
      if (!isUnreadLimited) {
        tuned.update(consumedSn(), next, rtt, nowUs);
      }
    } else if (window() < limit() && consumedSn() - firstSn >= UNTUNED_SEGMENTS) {
      tuned = new ReceiveWindow(config, consumedSn(), nowUs);
    }
  }

  /** Segments that the reader has not taken. */
  abstract int unreadSegments();

  /** The sequence number of the next segment that the reader takes. */
  final int consumedSn() {
    return next - unreadSegments();
  }

  /** The free window, in segments. */
  final int freeWindow() {
    return isUnreadFull() ? 0 : Math.max(window() - unreadSegments(), 0);
  }

  /**
   * The free window as far as the memory budget has room for it now, in segments. What exceeds the
   * initial window is at most an eighth of that room: many sessions have large windows.
   *
   * @param segmentBytes the largest segment
   */
  final int affordableWindow(int segmentBytes) {
    int free = freeWindow();
    long room = account.roomBytes() / neededBytes(segmentBytes);
    long initial = Math.min(room, ReceiveWindow.initial(limit()));
    return (int) Math.min(free, Math.max(initial, room / MEMORY_PART));
  }

  /**
   * The most fragments of a message that can always be received, however short memory is: those
   * that fit the receive window and the reserve.
   *
   * @param segmentBytes the largest segment
   */
  public final int messageFragments(int segmentBytes) {
    long most = account.messageBytes() / neededBytes(segmentBytes);
    return (int) Math.max(1, Math.min(config.receivedFragments(), most));
  }

  private static int neededBytes(int segmentBytes) {
    return segmentBytes + ReceiveQueue.BUFFER_OVERHEAD_BYTES;
  }

  // The window that the peer is told

  /** The window to advertise now, in segments. */
  public final int advertisedWindow() {
    int segmentBytes = config.mtuBytes(); // The largest that may arrive.
    return Math.min(affordableWindow(segmentBytes), KcpConfig.MAX_WINDOW);
  }

  /** Returns the window that all segments of the flush that begins now advertise. */
  public final int beginFlush(RttEstimator rtt, long nowUs) {
    tuneWindow(rtt, nowUs);
    int segments = advertisedWindow();
    isUpdatePending |= isWithheld && segments > 0;
    isWithheld = segments == 0 && freeWindow() > 0;
    return segments;
  }

  /** Whether the peer believes that the window is closed. */
  public final boolean isClosed() {
    return isWithheld || freeWindow() == 0;
  }

  /** Sends a WINS with the next flush. */
  public final void requestUpdate() {
    isUpdatePending = true;
  }

  /** Sends a WINS with the next flush if the window {@code wasClosed} and is open now. */
  public final void updateIfOpened(boolean wasClosed) {
    isUpdatePending |= wasClosed && advertisedWindow() > 0;
  }

  /** Whether a WINS is to be sent. */
  public final boolean isUpdatePending() {
    return isUpdatePending;
  }

  /** Whether to write a WINS in this flush, which counts as done. */
  public final boolean takeUpdate() {
    boolean isPending = isUpdatePending;
    isUpdatePending = false;
    return isPending;
  }

  /**
   * The peer asks for the window: if that is closed for lack of memory, it has something to send
   * that could not be refused.
   */
  public final void probed() {
    isUpdatePending = true;
    if (isWithheld) {
      account.noteShortage(neededBytes(config.mtuBytes()));
    }
  }

  /** Whether the window is closed for lack of memory alone. */
  public final boolean isWithheld() {
    return isWithheld;
  }

  /** Whether to look after an interval if there is memory again. */
  public final boolean isReviewDue(long nowUs) {
    return isWithheld && nowUs - receivedAtUs < RECENTLY_RECEIVED_US;
  }

  /** A datagram has arrived from the peer. */
  public final void received(long nowUs) {
    receivedAtUs = nowUs;
  }

  /** When a datagram has arrived last from the peer, in microseconds. */
  public final long receivedAtUs() {
    return receivedAtUs;
  }

  /** The payload that has been taken in, in bytes, modulo 2<sup>32</sup>. */
  public final int acceptedBytes() {
    return acceptedBytes;
  }

  // Segments

  /**
   * Takes in one PUSH. If there is no memory for it, it is dropped and not acknowledged.
   *
   * @return whether its payload was taken in
   */
  public final boolean push(int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    try {
      boolean isAccepted = accept(sn, ts, frg, data, index, bytes);
      acceptedBytes += isAccepted ? bytes : 0;
      return isAccepted;
    } catch (OutOfMemoryError e) {
      counters.add(KcpCounter.ALLOCATION_FAILED, 1);
      return false;
    }
  }

  private boolean accept(int sn, int ts, int frg, ByteBuf data, int index, int bytes) {
    int distance = sn - next;
    if (distance >= limit()) {
      counters.add(KcpCounter.OUT_OF_WINDOW, 1);
    } else if (distance < 0) {
      counters.add(KcpCounter.DUPLICATES, 1);
      acks.addDuplicate(sn, ts);
    } else {
      return accept(distance, sn, ts, frg, data, index, bytes);
    }
    return false;
  }

  /**
   * Takes in a PUSH that is within the window.
   *
   * @param distance how far {@code sn} is beyond {@link #next}
   * @return whether its payload was taken in
   */
  abstract boolean accept(
      int distance, int sn, int ts, int frg, ByteBuf data, int index, int bytes);

  /**
   * A segment that fills a gap has been taken in: others beyond it have arrived before.
   *
   * @param ts its timestamp
   */
  final void gapFilled(int sn, int ts) {
    acks.addBeforeOthers(sn, ts);
    if (ts - tsBeyondGap > 0) { // Sent after them, so sent before and lost.
      redundancy.segmentLost();
    }
  }

  /**
   * A segment beyond a gap has arrived.
   *
   * @param isFirst whether it is the first beyond the gap
   * @param ts its timestamp
   */
  final void arrivedBeyondGap(boolean isFirst, int ts) {
    if (isFirst || ts - tsBeyondGap > 0) {
      tsBeyondGap = ts;
    }
  }

  /** Whether segments beyond a gap that has closed still have to be moved to the reader. */
  public abstract boolean isMovePending();

  /** Moves segments that have become in order to the reader. */
  public abstract void closeGap();

  public abstract boolean isReceivable();

  /** Whether something has been received that the reader has not taken and could take. */
  public abstract boolean hasUnread();

  public abstract boolean isViolated();

  /** The next buffer, which becomes the caller's, or null. */
  public abstract ByteBuf receive();

  /** A datagram of this origin has been taken in. */
  public final void endDatagram(Origin origin) {
    if (acks.endDatagram() && origin == Origin.RECOVERED) {
      redundancy.segmentLost();
    }
  }

  /** Writes all pending ACKs. */
  public void flushAcks(PendingAcks.Output out, long nowUs) {
    redundancy.flush(nowUs);
    isLossy = isTimely() && redundancy.isForAcks();
    acks.flush(next, isLossy, nowUs, out);
  }

  /** Releases all memory. */
  public void close() {
    acks.gapClosed();
  }
}
