package io.kcp4j;

import io.netty.buffer.ByteBuf;

/** Packs the segments of one flush into datagrams of at most the MTU. */
final class SegmentWriter {

  private final int conv;
  private final KcpCounters counters;
  private final Pacer pacer;

  private DatagramOutput output;
  private long nowMs;
  private int mtuBytes;
  private int overheadBytes;
  private int wnd;
  private int rcvNext;
  private ByteBuf datagram;
  private int start;
  private int segments;

  SegmentWriter(int conv, KcpCounters counters, Pacer pacer) {
    this.conv = conv;
    this.counters = counters;
    this.pacer = pacer;
  }

  /**
   * Begins a flush. Every segment of it carries the same {@code wnd} and {@code rcvNext}.
   *
   * @param mtuBytes the largest datagram
   * @param overheadBytes what the layers beneath add to each
   */
  void begin(
      DatagramOutput output, long nowMs, int mtuBytes, int overheadBytes, int wnd, int rcvNext) {
    this.output = output;
    this.nowMs = nowMs;
    this.mtuBytes = mtuBytes;
    this.overheadBytes = overheadBytes;
    this.wnd = wnd;
    this.rcvNext = rcvNext;
  }

  /** Writes a segment without payload. */
  void control(int cmd, int ts, int sn) {
    Segment.write(room(Segment.HEADER_BYTES), conv, cmd, 0, wnd, ts, sn, rcvNext, 0);
    segments++;
  }

  /** Writes the segment at {@code index} of the send buffer. */
  void push(SendBuffer buffer, int index, int ts, long nowMs, int segmentRtoMs) {
    ByteBuf out = room(Segment.HEADER_BYTES + buffer.length(index));
    buffer.transmit(index, out, conv, wnd, rcvNext, ts, nowMs, segmentRtoMs);
    segments++;
  }

  /** Ends the flush. */
  void end() {
    endDatagram();
    counters.add(KcpCounter.SEGMENTS_OUT, segments);
    segments = 0;
    output = null;
  }

  /**
   * Where to write the next {@code bytes}. Only a segment that was cut for a larger MTU, and in
   * stream mode sent before that shrank, may exceed the MTU; it then has a datagram of its own.
   */
  private ByteBuf room(int bytes) {
    if (datagram != null && datagram.writerIndex() - start + bytes > mtuBytes) {
      endDatagram();
    }
    if (datagram == null) {
      datagram = output.begin(Math.max(mtuBytes, bytes));
      start = datagram.writerIndex();
      pacer.begin(nowMs);
    }
    return datagram;
  }

  private void endDatagram() {
    if (datagram == null) {
      return;
    }
    int bytes = datagram.writerIndex() - start;
    counters.add(KcpCounter.DATAGRAMS_OUT, 1);
    counters.add(KcpCounter.BYTES_OUT, bytes);
    pacer.charge(bytes + overheadBytes, nowMs);
    datagram = null;
    output.end();
  }
}
