package io.kcp4j;

import io.netty.buffer.ByteBuf;

/**
 * Packs the segments of one flush into datagrams of at most the MTU. Those that stand ready in the
 * send buffer are handed on together, as far as they stand back to back.
 */
@SuppressWarnings("ReferenceEquality") // chunks are told apart by identity
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
  private Chunk single;

  private int singleIndex;

  /** Datagrams that have stayed alone and stand back to back in this chunk; null if none do. */
  private Chunk run;

  private int runIndex;
  private int runBytes;
  private int runDatagramBytes;

  // Of this flush:
  private int segments;
  private int datagrams;
  private int bytesOut;

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
    discardDatagram(); // of a flush that has failed
    run = null;
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
    int length = bytes - Segment.HEADER_BYTES;
    int sn = buffer.sn(index);
    int frg = buffer.frg(index);
    Chunk chunk = buffer.chunk(index);
    int at = buffer.start(index);
    makeRoom(bytes);
    if (datagramBytes == 0 && buffer.transmissions(index) == 0) {
      single = chunk;
      singleIndex = at;
      datagramBytes = bytes;
      Segment.set(chunk, at, conv, Segment.PUSH, frg, wnd, ts, sn, rcvNext, length);
    } else {
      ByteBuf shared = datagram(bytes);
      Segment.write(shared, conv, Segment.PUSH, frg, wnd, ts, sn, rcvNext, length);
      Copying.appendOwn(shared, chunk.memory(), at + Segment.HEADER_BYTES, length);
    }
    buffer.transmitted(index, ts, nowMs, segmentRtoMs);
    segments++;
  }

  /**
   * Writes segments that are queued first, at most {@code most}: as many as fill a datagram each
   * and stand back to back, or else one. Returns how many.
   */
  int pushNew(SendBuffer buffer, int most, int ts, long nowMs, int segmentRtoMs) {
    int index = buffer.firstQueued();
    int train = buffer.contiguousRun(mtuBytes, most);
    if (train < 2) {
      push(buffer, index, ts, nowMs, segmentRtoMs);
      return 1;
    }
    endDatagram();
    Chunk chunk = buffer.chunk(index);
    int start = buffer.start(index);
    int end = start + train * mtuBytes;
    int length = mtuBytes - Segment.HEADER_BYTES;
    int sn = buffer.next();
    for (int at = start; at < end; at += mtuBytes, sn++) {
      int next = buffer.firstQueued();
      Segment.set(chunk, at, conv, Segment.PUSH, buffer.frg(next), wnd, ts, sn, rcvNext, length);
      buffer.transmitted(next, ts, nowMs, segmentRtoMs);
    }
    segments += train;
    pacer.begin(train, nowMs);
    count(train, mtuBytes);
    addToRun(chunk, start, end - start, mtuBytes);
    return train;
  }

  /** Ends the flush. */
  void end() {
    endDatagram();
    sendRun();
    counters.add(KcpCounter.SEGMENTS_OUT, segments);
    counters.add(KcpCounter.DATAGRAMS_OUT, datagrams);
    counters.add(KcpCounter.BYTES_OUT, bytesOut);
    segments = 0;
    datagrams = 0;
    bytesOut = 0;
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
      pacer.begin(1, nowMs);
    }
  }

  /** Where to write the next {@code bytes}, for which there is room. */
  private ByteBuf datagram(int bytes) {
    if (datagram == null) {
      sendRun();
      datagram = output.begin(Math.max(mtuBytes, bytes));
      if (single != null) {
        Copying.appendOwn(datagram, single.memory(), singleIndex, datagramBytes);
        single = null;
      }
    }
    datagramBytes += bytes;
    return datagram;
  }

  private void endDatagram() {
    if (datagramBytes == 0) {
      return;
    }
    count(1, datagramBytes);
    if (single == null) {
      output.end();
    } else {
      addToRun(single, singleIndex, datagramBytes, datagramBytes);
    }
    discardDatagram();
  }

  private void count(int ended, int bytesEach) {
    datagrams += ended;
    bytesOut += ended * bytesEach;
    pacer.charge(ended * (bytesEach + overheadBytes), nowMs);
  }

  private void addToRun(Chunk chunk, int index, int bytes, int bytesEach) {
    boolean fits =
        bytesEach == runDatagramBytes || (bytesEach < runDatagramBytes && bytes == bytesEach);
    boolean continued = run == chunk && runIndex + runBytes == index && fits;
    if (!continued) {
      sendRun();
      run = chunk;
      runIndex = index;
      runBytes = 0;
      runDatagramBytes = bytesEach;
    }
    runBytes += bytes;
    if (bytesEach < runDatagramBytes) {
      sendRun(); // Only its last may be shorter.
    }
  }

  private void sendRun() {
    if (run != null) {
      Chunk from = run;
      run = null;
      output.send(from.memory(), runIndex, runBytes, runDatagramBytes);
    }
  }

  private void discardDatagram() {
    datagramBytes = 0;
    datagram = null;
    single = null;
  }
}
