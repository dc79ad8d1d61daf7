package io.kcp4j.session;

import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;

/** What the first datagram of an unknown peer is for. */
enum FirstDatagram {
  /** Well formed, with a PUSH of sequence number 0: begins a session. */
  BEGINS,
  /** Well formed, with a window probe and nothing that begins a session. */
  PROBES,
  /** Its first header cannot be one. */
  NOT_KCP,
  /** Anything else. */
  OTHER;

  /**
   * Classifies a datagram. One without a whole header is {@link #OTHER}. So is one that
   * acknowledges something: a new session has sent nothing and would refuse it.
   */
  static FirstDatagram classify(ByteBuf datagram) {
    int index = datagram.readerIndex();
    int end = datagram.writerIndex();
    FirstDatagram result = OTHER;
    int conv = end - index < Segment.HEADER_BYTES ? 0 : Segment.conv(datagram, index);
    while (end - index >= Segment.HEADER_BYTES) {
      int cmd = Segment.cmd(datagram, index);
      int length = Segment.length(datagram, index);
      if (!Segment.isCommand(cmd) || length < 0 || length > end - index - Segment.HEADER_BYTES) {
        return index == datagram.readerIndex() ? NOT_KCP : OTHER;
      }
      if (Segment.conv(datagram, index) != conv
          || cmd == Segment.ACK
          || Segment.una(datagram, index) != 0) {
        return OTHER;
      }
      if (cmd == Segment.PUSH && Segment.sn(datagram, index) == 0) {
        result = BEGINS;
      } else if (cmd == Segment.WASK && result == OTHER) {
        result = PROBES;
      }
      index += Segment.HEADER_BYTES + length;
    }
    return result;
  }

  /** The timestamp of the first PUSH of such a datagram, or else of the first segment. */
  static int timestamp(ByteBuf datagram) {
    int index = datagram.readerIndex();
    while (datagram.writerIndex() - index >= Segment.HEADER_BYTES
        && Segment.cmd(datagram, index) != Segment.PUSH) {
      index += Segment.HEADER_BYTES + Segment.length(datagram, index);
    }
    boolean hasPush = datagram.writerIndex() - index >= Segment.HEADER_BYTES;
    return Segment.ts(datagram, hasPush ? index : datagram.readerIndex());
  }
}
