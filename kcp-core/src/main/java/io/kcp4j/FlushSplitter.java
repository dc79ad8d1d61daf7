package io.kcp4j;

import io.kcp4j.congestion.Pacer;

/**
 * Splits what a flush sends for the first time into datagrams of equal size, as many as the output
 * asks for. In stream mode the queue is re-segmented, in message mode datagrams take fewer
 * messages.
 *
 * <p>The output is asked only while the application limits the session: everything that is queued
 * can leave, it fills only a few datagrams, and the window stays open. Bulk transfers are never
 * split.
 */
final class FlushSplitter {

  /** 250 Mbit/s of full datagrams in flushes a millisecond apart. */
  static final int MAX_DATAGRAMS = 16;

  private final SendBuffer sending;
  private final SegmentPuller puller;
  private final Transmitter transmitter;
  private final Pacer pacer;

  private boolean isStream;

  FlushSplitter(SendBuffer sending, SegmentPuller puller, Transmitter transmitter, Pacer pacer) {
    this.sending = sending;
    this.puller = puller;
    this.transmitter = transmitter;
    this.pacer = pacer;
  }

  void configure(KcpConfig config) {
    isStream = config.delivery() == Delivery.STREAM;
  }

  /**
   * Asks the output, and re-segments the queue of stream mode.
   *
   * @param window the window in force
   * @param mtuBytes the largest datagram
   * @return how many bytes of new segments make a datagram of this flush, or MAX_VALUE
   */
  int split(DatagramOutput output, int window, int mtuBytes, long nowUs) {
    int queued = sending.queued();
    int windowRoom = window - transmitter.inFlight();
    if (queued == 0 || queued >= windowRoom || puller.isSourceReady()) {
      return Integer.MAX_VALUE;
    }
    int headerBytes = isStream ? Segment.HEADER_BYTES : 0;
    int datagramBytes = mtuBytes - headerBytes;
    int limit = MAX_DATAGRAMS * datagramBytes;
    int bytes = queuedBytes(headerBytes, limit);
    int room = Math.min(windowRoom, pacer.roomForFlush(bytes, nowUs));
    if (bytes > limit || queued > room) {
      return Integer.MAX_VALUE;
    }
    int datagrams = output.splitFlush(sending.next(), bytes, datagramBytes, room);
    if (datagrams == 0) {
      return Integer.MAX_VALUE;
    }
    int splitBytes = (bytes + datagrams - 1) / datagrams;
    if (isStream && (queued > 1 || datagrams > 1)) {
      resegment(splitBytes);
    }
    return headerBytes + splitBytes;
  }

  /** The bytes of the queued segments less their headers, counted until they exceed the limit. */
  private int queuedBytes(int headerBytes, int limit) {
    int bytes = 0;
    int sn = sending.next();
    for (int left = sending.queued(); left > 0 && bytes <= limit; left--, sn++) {
      bytes += sending.bytes(sending.index(sn)) - headerBytes;
    }
    return bytes;
  }

  private void resegment(int mssBytes) {
    try {
      sending.resegment(mssBytes);
    } catch (OutOfMemoryError e) {
      // The flush is not split.
    }
  }
}
