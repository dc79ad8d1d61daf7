package io.kcp4j.internal.arq;

import io.kcp4j.Delivery;
import io.kcp4j.internal.send.SendBuffer;
import io.kcp4j.internal.send.Sender;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;

/**
 * Splits what a flush sends for the first time into datagrams of equal size, as many as the output
 * asks for. In stream mode the queue is re-segmented, in message mode datagrams take fewer
 * messages, and a source is asked for smaller segments.
 *
 * <p>The output is asked only while the application limits the session: everything that is queued
 * can leave, it fills only a few datagrams, and the window stays open. Bulk transfers are never
 * split.
 */
public final class FlushSplitter {

  /** The answers to a burst of requests leave in one flush. 75 KB are no bulk transfer yet. */
  static final int MAX_DATAGRAMS = 64;

  private FlushSplitter() {}

  /**
   * Asks the output, and re-segments the queue of stream mode.
   *
   * @param window the window in force
   * @return how many bytes of new segments make a datagram of this flush, or MAX_VALUE
   */
  static int split(Sender sender, DatagramOutput output, int window, long nowUs) {
    SendBuffer sending = sender.buffer;
    int queued = sending.queued();
    int windowRoom = window - sender.inFlight();
    boolean isLimited = sender.limit != null;
    boolean isPulled = sender.isSourceReady();
    boolean isOfOneOrigin = queued > 0 != isPulled; // Neither nothing, nor both.
    if (!isOfOneOrigin || queued >= windowRoom || isLimited) {
      return Integer.MAX_VALUE;
    }
    if (isPulled) {
      return splitPulled(sender, output, windowRoom, nowUs);
    }
    boolean isStream = sender.config.delivery() == Delivery.STREAM;
    int headerBytes = isStream ? Segment.HEADER_BYTES : 0;
    int datagramBytes = sender.size.mtuBytes() - headerBytes;
    int limit = MAX_DATAGRAMS * datagramBytes;
    int bytes = queuedBytes(sending, headerBytes, limit);
    int room = Math.min(windowRoom, sender.pacer.roomForFlush(bytes, nowUs));
    if (bytes > limit || queued > room) {
      return Integer.MAX_VALUE;
    }
    int datagrams = output.splitFlush(sending.next(), bytes, datagramBytes, room);
    if (datagrams == 0) {
      return Integer.MAX_VALUE;
    }
    int splitBytes = (bytes + datagrams - 1) / datagrams;
    if (isStream && (queued > 1 || datagrams > 1)) {
      resegment(sending, splitBytes);
    }
    return headerBytes + splitBytes;
  }

  /** Splits what is pulled from the source: each datagram has one segment. */
  private static int splitPulled(Sender sender, DatagramOutput output, int windowRoom, long nowUs) {
    int datagramBytes = sender.size.mssBytes();
    int limit = MAX_DATAGRAMS * datagramBytes;
    int bytes = sender.puller().readyBytes(limit);
    if (bytes > limit) {
      return Integer.MAX_VALUE;
    }
    int room = Math.min(windowRoom, sender.pacer.roomForFlush(bytes, nowUs));
    int segments = (bytes + datagramBytes - 1) / datagramBytes;
    if (segments >= room) {
      return Integer.MAX_VALUE;
    }
    int datagrams = output.splitFlush(sender.buffer.next(), bytes, datagramBytes, room);
    return datagrams == 0
        ? Integer.MAX_VALUE
        : Segment.HEADER_BYTES + (bytes + datagrams - 1) / datagrams;
  }

  /** The bytes of the queued segments less their headers, counted until they exceed the limit. */
  private static int queuedBytes(SendBuffer sending, int headerBytes, int limit) {
    int bytes = 0;
    int sn = sending.next();
    for (int left = sending.queued(); left > 0 && bytes <= limit; left--, sn++) {
      bytes += sending.bytes(sending.index(sn)) - headerBytes;
    }
    return bytes;
  }

  private static void resegment(SendBuffer sending, int mssBytes) {
    try {
      sending.resegment(mssBytes);
    } catch (OutOfMemoryError e) {
      // The flush is not split.
    }
  }
}
