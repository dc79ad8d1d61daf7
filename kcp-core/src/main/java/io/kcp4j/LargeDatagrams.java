package io.kcp4j;

/**
 * Notes for the {@link BlackHoleDetector} which segments have left only in datagrams that may be
 * too large for the path. The own size of most segments tells, which fill their datagrams; this is
 * for smaller ones, which share datagrams. Part of the {@link SegmentWriter}.
 */
final class LargeDatagrams {

  /** The sequence numbers of the segments in the open datagram that are not large themselves. */
  private final int[] sns = new int[KcpConfig.MAX_MTU_BYTES / Segment.HEADER_BYTES];

  private int count;
  private int smallBytes;

  /** Begins a flush, whatever became of the one before; see {@link #smallBytes}. */
  void begin(int smallBytes) {
    count = 0;
    this.smallBytes = smallBytes;
  }

  /** The largest datagram that every path takes; MAX_VALUE if there are no larger ones. */
  int smallBytes() {
    return smallBytes;
  }

  /** The open datagram has the segment {@code sn} of this size, header included. */
  void add(int sn, int bytes) {
    if (smallBytes != Integer.MAX_VALUE && bytes <= smallBytes) {
      sns[count++] = sn;
    }
  }

  /** The datagram has {@code bytes} and leaves. */
  void end(int bytes, SendBuffer sending, LossDetector losses) {
    for (int i = 0; i < count; i++) {
      int index = sending.index(sns[i]);
      if (bytes <= smallBytes) {
        losses.ring.inLargeDatagrams(index, false);
      } else if (losses.transmissions(index) == 1) {
        losses.ring.inLargeDatagrams(index, true);
      }
    }
    count = 0;
  }
}
