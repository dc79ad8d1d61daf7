package io.kcp4j.lab;

import static io.kcp4j.internal.wire.Segment.HEADER_BYTES;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayDeque;

/**
 * A model of a session of kcp-go v5.6.72 with {@code NoDelay(1, interval, 2, 1)} and stream mode,
 * where sending and acknowledging can be seen on the wire:
 *
 * <ul>
 *   <li>It flushes every interval, or earlier for a timeout; after a write; after a datagram that
 *       advances {@code una} or makes a segment a fast retransmit candidate; and acknowledgements
 *       alone when as many wait as fit in a datagram.
 *   <li>A flush writes the waiting ACKs in the order of arrival, but of those below {@code rcv_nxt}
 *       only the one that waits last.
 *   <li>The reader reads after each datagram, after the flush that the datagram caused.
 * </ul>
 */
final class KcpGoSession implements LabSession {

  /** The windows unless others are given, in segments. */
  static final int WINDOW = 1024;

  private static final int MTU_BYTES = 1400;

  private static final int MSS_BYTES = MTU_BYTES - HEADER_BYTES;

  private static final int US_PER_MS = 1_000;

  /** kcp-go assumes this window of its peer until it receives one. */
  private static final int INITIAL_REMOTE_WINDOW = 32;

  private static final int INITIAL_RTO_MS = 200;

  private static final int MIN_RTO_MS = 30;

  private static final int MAX_RTO_MS = 60_000;

  private static final int FAST_RETRANSMIT = 2;

  /** The skip count of a segment after a fast or early retransmit, until it times out. */
  private static final int NOT_COUNTED = -1;

  /** What a flush sends. */
  private enum FlushType {
    ACKS,
    ALL
  }

  /** A segment in the send queue or in flight. */
  private static final class SentSegment {
    final ByteBuf data = Unpooled.buffer(MSS_BYTES, MSS_BYTES);
    int ts;
    int rtoMs;
    int timeoutAt;
    int transmissions;
    int skipCount;
    boolean isAcknowledged;
  }

  private record PendingAck(int sn, int ts) {}

  private final int conv;
  private final int intervalMs;
  private final int windowSegments;
  private final VirtualTime time;
  private final long clockOffsetUs;
  private final LabLink out;
  private final LabUser user;
  private final KcpCounters counters;
  private final Runnable update = this::update;

  /** Of the rings of segments. */
  private final int mask;

  // Sending
  private final ArrayDeque<SentSegment> sendQueue = new ArrayDeque<>();
  private final SentSegment[] inFlight;
  private int sendUna;
  private int sendNext;
  private int remoteWindow = INITIAL_REMOTE_WINDOW;
  private int srttMs;
  private int rttVarMs;
  private int rtoMs = INITIAL_RTO_MS;

  // Receiving
  private final ArrayDeque<PendingAck> acks = new ArrayDeque<>();
  private final ByteBuf[] received;
  private final ArrayDeque<ByteBuf> receiveQueue = new ArrayDeque<>();
  private int receiveNext;
  private boolean isWindowRequested;

  /** The datagram that is being written, or null. */
  private ByteBuf datagram;

  private boolean isClosed;

  /**
   * Begins a session.
   *
   * @param windowSegments its windows, a power of two
   */
  KcpGoSession(
      int conv,
      int intervalMs,
      int windowSegments,
      VirtualTime time,
      long clockOffsetUs,
      LabLink out,
      LabUser user,
      KcpCounters counters) {
    this.conv = conv;
    this.intervalMs = intervalMs;
    this.windowSegments = windowSegments;
    int ring = 2 * windowSegments; // A power of two: segments are found by sequence number.
    mask = ring - 1;
    inFlight = new SentSegment[ring];
    received = new ByteBuf[ring];
    this.time = time;
    this.clockOffsetUs = clockOffsetUs;
    this.out = out;
    this.user = user;
    this.counters = counters;
    time.after(0, update);
  }

  private int clockMs() {
    return (int) ((time.nowUs() + clockOffsetUs) / US_PER_MS);
  }

  private void update() {
    if (!isClosed) {
      int waitMs = flush(FlushType.ALL);
      time.afterMs(waitMs, update);
    }
  }

  void close() {
    isClosed = true;
  }

  // The user

  /** Takes all or, while a window of segments waits, nothing. */
  @Override
  public boolean write(ByteBuf data) {
    if (sendQueue.size() + sendNext - sendUna >= windowSegments) {
      return false;
    }
    if (!sendQueue.isEmpty()) {
      append(sendQueue.peekLast(), data);
    }
    while (data.isReadable()) {
      SentSegment segment = new SentSegment();
      append(segment, data);
      sendQueue.add(segment);
    }
    return true;
  }

  private static void append(SentSegment segment, ByteBuf data) {
    int bytes = Math.min(segment.data.writableBytes(), data.readableBytes());
    segment.data.writeBytes(data, bytes);
  }

  @Override
  public void flush() {
    flush(FlushType.ALL);
  }

  /** Passes what has arrived in order to the user. */
  void read() {
    for (ByteBuf data; (data = receiveQueue.poll()) != null; ) {
      isWindowRequested |= receiveQueue.size() + 1 >= windowSegments;
      user.received(this, data);
      moveInOrder();
    }
    if (sendQueue.size() + sendNext - sendUna < windowSegments) {
      user.progressed(this);
    }
  }

  // Input

  /** A datagram arrives, or is recovered by FEC; its indices stay. */
  void input(ByteBuf packet, Origin origin) {
    boolean flushesAll = false;
    boolean hasAck = false;
    int latestTs = 0;
    for (int at = packet.readerIndex();
        packet.writerIndex() - at >= HEADER_BYTES;
        at += HEADER_BYTES + Segment.length(packet, at)) {
      if (!isValid(packet, at)) {
        counters.add(KcpCounter.MALFORMED, 1);
        return;
      }
      if (origin == Origin.NETWORK) {
        remoteWindow = Segment.wnd(packet, at);
      }
      flushesAll |= acknowledgeBelow(Segment.una(packet, at));
      int sn = Segment.sn(packet, at);
      int ts = Segment.ts(packet, at);
      switch (Segment.cmd(packet, at)) {
        case Segment.ACK -> {
          acknowledge(sn);
          flushesAll |= countSkipped(sn, ts);
          hasAck = true;
          latestTs = ts;
        }
        case Segment.PUSH -> push(sn, ts, packet, at);
        case Segment.WASK -> isWindowRequested = true;
        default -> {} // WINS
      }
    }
    if (hasAck && origin == Origin.NETWORK && clockMs() - latestTs >= 0) {
      sampleRtt(clockMs() - latestTs);
    }
    if (flushesAll) {
      flush(FlushType.ALL);
    } else if (acks.size() >= MTU_BYTES / HEADER_BYTES) {
      flush(FlushType.ACKS);
    }
  }

  private boolean isValid(ByteBuf packet, int at) {
    int length = Segment.length(packet, at);
    return Segment.conv(packet, at) == conv
        && length >= 0
        && length <= packet.writerIndex() - at - HEADER_BYTES
        && Segment.isCommand(Segment.cmd(packet, at));
  }

  private boolean acknowledgeBelow(int una) {
    boolean advances = false;
    while (una - sendUna > 0 && sendUna != sendNext) {
      inFlight[sendUna & mask] = null;
      sendUna++;
      advances = true;
    }
    return advances;
  }

  private void acknowledge(int sn) {
    if (isInFlight(sn)) {
      inFlight[sn & mask].isAcknowledged = true;
    }
  }

  private boolean isInFlight(int sn) {
    return sn - sendUna >= 0 && sn - sendNext < 0;
  }

  /** Returns whether a segment before {@code sn} has reached the threshold. */
  private boolean countSkipped(int sn, int ts) {
    boolean reached = false;
    if (isInFlight(sn)) {
      for (int earlier = sendUna; earlier != sn; earlier++) {
        SentSegment segment = inFlight[earlier & mask];
        if (segment.ts - ts <= 0 && segment.skipCount != NOT_COUNTED) {
          segment.skipCount++;
          reached |= segment.skipCount >= FAST_RETRANSMIT;
        }
      }
    }
    return reached;
  }

  private void push(int sn, int ts, ByteBuf packet, int at) {
    if (sn - receiveNext >= windowSegments) {
      return;
    }
    acks.add(new PendingAck(sn, ts));
    if (sn - receiveNext < 0 || received[sn & mask] != null) {
      counters.add(KcpCounter.DUPLICATES, 1);
      return;
    }
    received[sn & mask] =
        Unpooled.copiedBuffer(packet.slice(at + HEADER_BYTES, Segment.length(packet, at)));
    moveInOrder();
  }

  private void moveInOrder() {
    while (received[receiveNext & mask] != null && receiveQueue.size() < windowSegments) {
      receiveQueue.add(received[receiveNext & mask]);
      received[receiveNext & mask] = null;
      receiveNext++;
    }
  }

  private void sampleRtt(int rttMs) {
    if (srttMs == 0) {
      srttMs = rttMs;
      rttVarMs = rttMs >> 1;
    } else {
      int delta = rttMs - srttMs;
      srttMs += delta >> 3;
      int shift = rttMs < srttMs - rttVarMs ? 5 : 2;
      rttVarMs += (Math.abs(delta) - rttVarMs) >> shift;
    }
    int rto = srttMs + Math.max(intervalMs, rttVarMs << 2);
    rtoMs = Math.min(Math.max(MIN_RTO_MS, rto), MAX_RTO_MS);
  }

  /** The longest timeout of a segment in flight, in milliseconds; 0 without any. */
  int longestTimeoutMs() {
    int longestMs = 0;
    for (int sn = sendUna; sn != sendNext; sn++) {
      SentSegment segment = inFlight[sn & mask];
      longestMs = Math.max(longestMs, segment.isAcknowledged ? 0 : segment.rtoMs);
    }
    return longestMs;
  }

  // Output

  /** Returns when to flush again at the latest, in milliseconds from now. */
  private int flush(FlushType type) {
    writeAcks();
    if (isWindowRequested) {
      isWindowRequested = false;
      writeHeader(Segment.WINS, 0, 0, 0);
    }
    int added = fillWindow();
    int nextMs = type == FlushType.ALL ? transmit(added) : intervalMs;
    endDatagram();
    return nextMs;
  }

  private void writeAcks() {
    while (!acks.isEmpty()) {
      PendingAck ack = acks.poll();
      if (ack.sn - receiveNext >= 0 || acks.isEmpty()) {
        writeHeader(Segment.ACK, ack.ts, ack.sn, 0);
      }
    }
  }

  private int fillWindow() {
    int added = 0;
    int window = Math.min(windowSegments, remoteWindow);
    while (sendNext - sendUna < window && !sendQueue.isEmpty()) {
      SentSegment segment = sendQueue.poll();
      inFlight[sendNext & mask] = segment;
      sendNext++;
      added++;
    }
    return added;
  }

  private int transmit(int added) {
    int nowMs = clockMs();
    int nextMs = intervalMs;
    for (int sn = sendUna; sn != sendNext; sn++) {
      SentSegment segment = inFlight[sn & mask];
      if (segment.isAcknowledged) {
        continue;
      }
      if (isDue(segment, added, nowMs)) {
        segment.transmissions++;
        segment.ts = nowMs;
        writeHeader(Segment.PUSH, segment.ts, sn, segment.data.readableBytes());
        datagram.writeBytes(segment.data, 0, segment.data.writerIndex());
      }
      int leftMs = segment.timeoutAt - nowMs;
      if (leftMs > 0 && leftMs < nextMs) {
        nextMs = leftMs;
      }
    }
    return nextMs;
  }

  private boolean isDue(SentSegment segment, int added, int nowMs) {
    if (segment.transmissions == 0) {
      segment.rtoMs = rtoMs;
    } else if (segment.skipCount >= FAST_RETRANSMIT) {
      retransmitted(KcpCounter.FAST_RETRANSMITTED);
      segment.skipCount = NOT_COUNTED;
      segment.rtoMs = rtoMs;
    } else if (segment.skipCount > 0 && added == 0) {
      retransmitted(KcpCounter.EARLY_RETRANSMITTED);
      segment.skipCount = NOT_COUNTED;
      segment.rtoMs = rtoMs;
    } else if (nowMs - segment.timeoutAt >= 0) {
      retransmitted(KcpCounter.TIMED_OUT);
      segment.skipCount = 0;
      segment.rtoMs += rtoMs / 2;
    } else {
      return false;
    }
    segment.timeoutAt = nowMs + segment.rtoMs;
    return true;
  }

  private void retransmitted(KcpCounter cause) {
    counters.add(cause, 1);
    counters.add(KcpCounter.RETRANSMITTED, 1);
  }

  private void writeHeader(int cmd, int ts, int sn, int length) {
    if (datagram != null && datagram.readableBytes() + HEADER_BYTES + length > MTU_BYTES) {
      endDatagram();
    }
    if (datagram == null) {
      datagram = out.begin(MTU_BYTES);
    }
    int window = Math.max(windowSegments - receiveQueue.size(), 0);
    Segment.write(datagram, conv, cmd, 0, window, ts, sn, receiveNext, length);
  }

  private void endDatagram() {
    if (datagram != null) {
      datagram = null;
      out.end();
    }
  }
}
