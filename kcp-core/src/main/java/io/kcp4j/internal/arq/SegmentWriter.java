package io.kcp4j.internal.arq;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.buffer.Chunk;
import io.kcp4j.internal.buffer.Chunk.DatagramRun;
import io.kcp4j.internal.path.AmplificationLimit;
import io.kcp4j.internal.path.AmplificationLimit.Kind;
import io.kcp4j.internal.receive.PendingAcks;
import io.kcp4j.internal.send.BlackHoleDetector;
import io.kcp4j.internal.send.SendBuffer;
import io.kcp4j.internal.send.Sender;
import io.kcp4j.internal.wire.Copying;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.KcpExtension;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;

/**
 * Packs the segments of one flush into datagrams of at most the MTU. New segments that fill a
 * datagram leave from their chunks; contiguous ones are passed to the output as one run.
 *
 * <p>The sessions of a thread share a writer, which has state only during a flush: the flushes of
 * two sessions must not overlap.
 */
public final class SegmentWriter implements PendingAcks.Output {

  /** That of the session that is flushed; null between flushes. */
  private Sender sender;

  private DatagramOutput output;
  private long nowUs;
  private int conv;
  private int mtuBytes;
  private int wnd;
  private int rcvNext;

  /** The extension of the session, or null. */
  private KcpExtension extension;

  /** The limit of the session, or null. */
  private AmplificationLimit limit;

  /** The size of the open datagram; 0 if there is none. */
  private int datagramBytes;

  /** The buffer of the open datagram; null while the datagram is a single segment in a chunk. */
  private ByteBuf datagram;

  /** The chunk of that segment, which leaves from there if no other segment joins it. */
  private Chunk single;

  private int singleIndex;

  private final BlackHoleDetector.LargeDatagrams large = new BlackHoleDetector.LargeDatagrams();

  /** New segments of so many bytes end a datagram; MAX_VALUE unless the flush is split. */
  private int splitBytes = Integer.MAX_VALUE;

  /** The bytes of new segments in the open datagram. */
  private int newBytes;

  /** Whether the open datagram contains a segment that was sent before. */
  private boolean hasRetransmission;

  /** Whether this flush has offered the extension. */
  private boolean isOffered;

  /** Datagrams of one segment each that leave from their chunk. */
  private final DatagramRun run = new DatagramRun();

  // Written in this flush:
  private int segments;
  private int datagrams;
  private int bytesOut;

  /**
   * Begins a flush, which {@link #end} or {@link #abort} ends.
   *
   * @param conv the conversation id of the session
   * @param wnd the receive window that all segments advertise
   * @param rcvNext the acknowledgement of all segments: below it everything has been received
   */
  void begin(Sender sender, int conv, DatagramOutput output, int wnd, int rcvNext, long nowUs) {
    assert this.sender == null : "a flush within a flush";
    this.sender = sender;
    this.conv = conv;
    this.output = output;
    this.wnd = wnd;
    this.rcvNext = rcvNext;
    this.nowUs = nowUs;
    mtuBytes = sender.size.mtuBytes();
    large.begin(sender.size.smallDatagramBytes());
    extension = sender.extension;
    limit = sender.limit;
    if (sender.tracing != null) {
      sender.tracing.at(nowUs);
    }
  }

  /**
   * Splits this flush: a datagram ends when it has so many bytes of new segments, which share none
   * with retransmissions.
   */
  void split(int bytes) {
    splitBytes = bytes;
  }

  /** How much payload suffices for the next new segment, in bytes; more if the segment has room. */
  int enoughPayloadBytes() {
    return Math.max(splitBytes - newBytes - Segment.HEADER_BYTES, 1);
  }

  @Override
  public void ack(int ts, int sn) {
    control(Segment.ACK, ts, sn);
  }

  /**
   * Writes a segment without payload. A peer that only receives could not find out that its ACKs do
   * not arrive: many share a datagram that every path takes.
   *
   * @return whether the limit had room for it
   */
  boolean control(int cmd, int ts, int sn) {
    Kind kind = cmd == Segment.WASK ? Kind.PROBE : Kind.CONTROL;
    if (limit != null && !mayLeave(kind, Segment.HEADER_BYTES)) {
      return false;
    }
    if (limit == null && datagramBytes + Segment.HEADER_BYTES > large.smallBytes()) {
      endDatagram();
    }
    makeRoom(Segment.HEADER_BYTES);
    Segment.write(datagram(Segment.HEADER_BYTES), conv, cmd, 0, wnd, ts, sn, rcvNext, 0);
    segments++;
    return true;
  }

  /**
   * Writes a PUSH without payload of a segment that the peer has received, so that its ACK
   * validates the path; unless too many small segments have exceeded the limit.
   */
  void challenge(int ts) {
    if (!mayLeave(Kind.CHALLENGE, Segment.HEADER_BYTES)) {
      return;
    }
    int sn = sender.buffer.una() - 1;
    makeRoom(Segment.HEADER_BYTES);
    Segment.write(datagram(Segment.HEADER_BYTES), conv, Segment.PUSH, 0, wnd, ts, sn, rcvNext, 0);
    segments++;
    limit.sent(sn, ts);
  }

  /**
   * Writes the oldest queued segments, at most {@code most}: as many as fill a datagram each and
   * are contiguous, or else one. Returns how many.
   */
  int pushNew(int most, int ts) {
    SendBuffer buffer = sender.buffer;
    int index = buffer.firstQueued();
    int offerBytes = extension == null || isOffered ? 0 : extension.offerBytes(buffer.next());
    int full = offerBytes > 0 || limit != null ? 1 : buffer.contiguousRun(mtuBytes, most);
    if (full < 2) {
      if (limit != null) {
        mayLeave(Kind.PAYLOAD, buffer.bytes(index)); // So it was asked by isNewAllowed.
        limit.sent(buffer.next(), ts);
      }
      pushNext(buffer, index, ts);
      if (offerBytes > 0) {
        offer(offerBytes, buffer.next() - 1, ts);
      } else if (newBytes >= splitBytes) {
        endDatagram();
      }
      return 1;
    }
    endDatagram();
    Chunk chunk = buffer.chunk(index);
    int start = buffer.start(index);
    int end = start + full * mtuBytes;
    int length = mtuBytes - Segment.HEADER_BYTES;
    int sn = buffer.next();
    for (int at = start; at < end; at += mtuBytes, sn++) {
      int frg = buffer.frg(buffer.index(sn));
      chunk.setHeader(at, conv, Segment.PUSH, frg, wnd, ts, sn, rcvNext, length);
    }
    buffer.sent(full, ts, nowUs);
    segments += full;
    sender.pacer.begin(full, nowUs);
    count(full, mtuBytes, true);
    run.add(chunk, start, end - start, mtuBytes, output);
    return full;
  }

  /** Writes the oldest queued segment, whose index is {@code index}. */
  private void pushNext(SendBuffer buffer, int index, int ts) {
    int bytes = buffer.bytes(index);
    if (hasRetransmission && splitBytes != Integer.MAX_VALUE) {
      endDatagram();
    }
    makeRoom(bytes);
    if (datagramBytes == 0) {
      Chunk chunk = buffer.chunk(index);
      int at = buffer.start(index);
      int length = bytes - Segment.HEADER_BYTES;
      int sn = buffer.next();
      int frg = buffer.frg(index);
      chunk.setHeader(at, conv, Segment.PUSH, frg, wnd, ts, sn, rcvNext, length);
      single = chunk;
      singleIndex = at;
      datagramBytes = bytes;
    } else {
      copy(buffer, index, bytes, ts);
    }
    buffer.sent(1, ts, nowUs);
    large.add(buffer.next() - 1, bytes);
    segments++;
    newBytes += bytes;
  }

  /**
   * Writes the segment in flight at {@code index}. A segment that was sent before the MTU shrank
   * may exceed the MTU; it has a datagram of its own.
   *
   * <p>It is copied, whatever its size: retransmitted segments are seldom contiguous in their
   * chunks, but are in the output; and bytes that have left from a chunk must not change.
   *
   * @return whether the limit had room for it
   */
  boolean retransmit(int index, int ts) {
    int bytes = sender.buffer.bytes(index);
    if (limit != null && !mayLeave(Kind.PAYLOAD, bytes)) {
      return false;
    }
    makeRoom(bytes);
    copy(sender.buffer, index, bytes, ts);
    large.add(sender.buffer.sn(index), bytes);
    hasRetransmission = true;
    segments++;
    if (limit != null) {
      limit.sent(sender.buffer.sn(index), ts);
    }
    if (extension != null) {
      offerAgain(sender.buffer.sn(index), ts);
    }
    return true;
  }

  /** A peer that has not received the first segment learns of the extension only with that. */
  private void offerAgain(int sn, int ts) {
    int offerBytes = sn == sender.firstSn ? extension.offerBytes(sn) : 0;
    if (offerBytes > 0) {
      offer(offerBytes, sn, ts);
    }
  }

  /** Writes a window probe in a datagram of its own. */
  void probeAlone(int ts) {
    endDatagram();
    control(Segment.WASK, ts, 0);
    endDatagram();
  }

  /** The ACKs have been written: a message may have to share their datagram. */
  void endAcks() {
    int messageBytes =
        extension == null || datagramBytes == 0 ? 0 : extension.ackMessageBytes(nowUs);
    if (messageBytes > 0 && isMessageAllowed(messageBytes)) {
      message(messageBytes, sender.timestamps.at(nowUs), 0);
    }
  }

  /** Writes the messages that end the flush. */
  private void messages() {
    int mostBytes = mtuBytes + sender.size.reservedBytes() - Segment.HEADER_BYTES;
    int messageBytes = extension.messageBytes(mostBytes - datagramBytes, mostBytes, nowUs);
    while (messageBytes > 0 && isMessageAllowed(messageBytes)) {
      message(messageBytes, sender.timestamps.at(nowUs), 0);
      messageBytes = extension.nextMessageBytes(mostBytes - datagramBytes, mostBytes);
    }
  }

  /** Takes a message from the limit; only those of peers that are not limited offer anything. */
  private boolean isMessageAllowed(int messageBytes) {
    return limit == null || mayLeave(Kind.CONTROL, Segment.HEADER_BYTES + messageBytes);
  }

  /** Ends the datagram with an offer behind the PUSH {@code sn}, if it has room for one. */
  private void offer(int bytes, int sn, int ts) {
    int datagram = datagramBytes + Segment.HEADER_BYTES + bytes;
    if (datagram > mtuBytes + sender.size.reservedBytes()) {
      return;
    }
    message(bytes, extension.offerTs(ts), extension.offerSn());
    extension.offered(sn, ts);
    isOffered = true;
  }

  /** Writes a message of the extension, which ends its datagram. */
  private void message(int bytes, int ts, int sn) {
    int segmentBytes = Segment.HEADER_BYTES + bytes;
    if (datagramBytes + segmentBytes > mtuBytes + sender.size.reservedBytes()) {
      endDatagram();
    }
    if (datagramBytes == 0) {
      sender.pacer.begin(1, nowUs);
    }
    ByteBuf out = datagram(segmentBytes);
    Segment.write(out, conv, Segment.WINS, 0, wnd, ts, sn, rcvNext, bytes);
    extension.write(out, nowUs);
    segments++;
    endDatagram();
  }

  private void copy(SendBuffer buffer, int index, int bytes, int ts) {
    int length = bytes - Segment.HEADER_BYTES;
    int frg = buffer.frg(index);
    ByteBuf shared = datagram(bytes);
    Segment.write(shared, conv, Segment.PUSH, frg, wnd, ts, buffer.sn(index), rcvNext, length);
    int payload = buffer.start(index) + Segment.HEADER_BYTES;
    Copying.appendOwn(shared, buffer.chunk(index).memory(), payload, length);
  }

  /** Ends the flush. */
  void end() {
    if (extension != null) {
      messages();
    }
    endDatagram();
    run.send(output);
    DatagramOutput written = datagrams > 0 ? output : null;
    reset();
    if (written != null) {
      written.endFlush();
    }
  }

  /** Ends the flush if it has failed; does nothing after {@link #end}. */
  void abort() {
    if (sender != null) {
      reset();
    }
  }

  /** Counts what has been written, and forgets the session and what is incomplete. */
  private void reset() {
    if (segments > 0) {
      sender.counters.add(KcpCounter.SEGMENTS_OUT, segments);
      sender.counters.add(KcpCounter.DATAGRAMS_OUT, datagrams);
      sender.counters.add(KcpCounter.BYTES_OUT, bytesOut);
      segments = 0;
      datagrams = 0;
      bytesOut = 0;
    }
    splitBytes = Integer.MAX_VALUE;
    isOffered = false;
    discardDatagram();
    run.discard();
    extension = null;
    limit = null;
    output = null;
    sender = null;
  }

  /** Whether the limit lets a segment of {@code segmentBytes} leave, which then counts as sent. */
  private boolean mayLeave(Kind kind, int segmentBytes) {
    int growth = growth(segmentBytes);
    return limit.mayLeave(kind, unsentBytes() + growth, growth, segmentBytes, nowUs);
  }

  /** Whether the limit, if there is one, has room for the next new segment. */
  boolean isNewAllowed() {
    return limit == null || sender.isNextAllowed(unsentBytes());
  }

  /** The bytes of the packets that have been written and are not with the output yet. */
  private int unsentBytes() {
    int open = datagramBytes == 0 ? 0 : datagramBytes + sender.size.overheadBytes();
    return open + run.packetBytes(sender.size.overheadBytes());
  }

  /** By how much the packets of this flush grow with a segment of so many bytes. */
  private int growth(int bytes) {
    boolean isOpen = datagramBytes > 0 && datagramBytes + bytes <= mtuBytes;
    return isOpen ? bytes : bytes + sender.size.overheadBytes();
  }

  /**
   * Ends the datagram if it has no room for so many bytes more, and begins one if there is none.
   */
  private void makeRoom(int bytes) {
    if (datagramBytes + bytes > mtuBytes) {
      endDatagram();
    }
    if (datagramBytes == 0) {
      sender.pacer.begin(1, nowUs);
    }
  }

  /** The buffer to write the next {@code bytes} into, for which there is room. */
  private ByteBuf datagram(int bytes) {
    if (datagram == null) {
      run.send(output);
      datagram = output.begin(Math.max(mtuBytes + sender.size.reservedBytes(), bytes));
      if (single != null) {
        Copying.appendOwn(datagram, single.memory(), singleIndex, datagramBytes);
        single = null;
      }
    }
    datagramBytes += bytes;
    return datagram;
  }

  /** Ends the datagram, if there is one: what follows leaves in another. */
  void endDatagram() {
    if (datagramBytes == 0) {
      return;
    }
    large.end(datagramBytes, sender.buffer, sender.losses);
    count(1, datagramBytes, newBytes > 0 || hasRetransmission);
    if (single == null) {
      output.end();
    } else {
      run.add(single, singleIndex, datagramBytes, datagramBytes, output);
    }
    discardDatagram();
  }

  /** Counts datagrams; those without payload have not waited for the pacer. */
  private void count(int ended, int bytesEach, boolean isPaced) {
    datagrams += ended;
    bytesOut += ended * bytesEach;
    int bytes = ended * (bytesEach + sender.size.overheadBytes());
    if (isPaced) {
      sender.pacer.charge(bytes, nowUs);
    } else {
      sender.pacer.chargeUnpaced(bytes, nowUs);
    }
    if (sender.tracing != null) {
      sender.tracing.datagramsSent(ended, bytesEach);
    }
  }

  private void discardDatagram() {
    datagramBytes = 0;
    newBytes = 0;
    hasRetransmission = false;
    datagram = null;
    single = null;
  }
}
