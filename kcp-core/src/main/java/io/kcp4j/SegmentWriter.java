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

  /** The size of the datagram that is open; 0 if none is. */
  private int datagramBytes;

  /** What it is written into; null as long as it is one segment of the send buffer alone ... */
  private ByteBuf datagram;

  /** ... which stands in this chunk, and leaves from there if it stays alone. */
  private ByteBuf lone;

  private int loneIndex;
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
    forgetDatagram(); // of a flush that has failed
  }

  /** Writes a segment without payload. */
  void control(int cmd, int ts, int sn) {
    makeRoom(Segment.HEADER_BYTES);
    Segment.write(datagram(Segment.HEADER_BYTES), conv, cmd, 0, wnd, ts, sn, rcvNext, 0);
    segments++;
  }

  /**
   * Writes the segment at {@code index} of the send buffer. Only one that was cut for a larger MTU,
   * and in stream mode sent before that shrank, may exceed the MTU; it has a datagram of its own.
   *
   * <p>One that is sent again is copied, whatever its size: what is resent seldom stands back to
   * back in its chunk, but does so in the output; and what has left a chunk stays as it is there.
   */
  void push(SendBuffer buffer, int index, int ts, long nowMs, int segmentRtoMs) {
    int bytes = buffer.bytes(index);
    makeRoom(bytes);
    ByteBuf out = buffer.chunk(index);
    int at = buffer.start(index);
    if (datagramBytes == 0 && buffer.transmissions(index) == 0) {
      lone = out;
      loneIndex = at;
      datagramBytes = bytes;
    } else {
      ByteBuf shared = datagram(bytes);
      int end = shared.writerIndex();
      Copying.appendOwn(shared, out, at, bytes);
      out = shared;
      at = end;
    }
    buffer.transmit(index, out, at, conv, wnd, rcvNext, ts, nowMs, segmentRtoMs);
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
   * Ends the datagram if it has no room for so many bytes more, and begins one if there is none.
   */
  private void makeRoom(int bytes) {
    if (datagramBytes + bytes > mtuBytes) {
      endDatagram();
    }
    if (datagramBytes == 0) {
      pacer.begin(nowMs);
    }
  }

  /** Where to write the next {@code bytes}, for which there is room. */
  private ByteBuf datagram(int bytes) {
    if (datagram == null) {
      datagram = output.begin(Math.max(mtuBytes, bytes));
      if (lone != null) {
        Copying.appendOwn(datagram, lone, loneIndex, datagramBytes);
        lone = null;
      }
    }
    datagramBytes += bytes;
    return datagram;
  }

  private void endDatagram() {
    if (datagramBytes == 0) {
      return;
    }
    int bytes = datagramBytes;
    ByteBuf from = lone;
    counters.add(KcpCounter.DATAGRAMS_OUT, 1);
    counters.add(KcpCounter.BYTES_OUT, bytes);
    pacer.charge(bytes + overheadBytes, nowMs);
    forgetDatagram();
    if (from == null) {
      output.end();
    } else {
      output.send(from, loneIndex, bytes);
    }
  }

  private void forgetDatagram() {
    datagramBytes = 0;
    datagram = null;
    lone = null;
  }
}
