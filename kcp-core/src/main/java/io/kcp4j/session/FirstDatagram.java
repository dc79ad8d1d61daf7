package io.kcp4j.session;

import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;

/** What a stranger's datagram wants. */
enum FirstDatagram {
  /** Well formed, and with a PUSH of sequence number 0: a session begins. */
  BEGINS,
  /** Well formed, with a window probe and nothing that begins a session. */
  PROBES,
  /** Its first header cannot be one. */
  NOT_KCP,
  /** Anything else. */
  OTHER;

  /**
   * Judges a datagram; one without a whole header is {@link #OTHER}. A stranger's that acknowledges
   * something is not well formed: a new session has sent nothing and would refuse it.
   */
  static FirstDatagram judge(ByteBuf datagram) {
    int index = datagram.readerIndex();
    int end = datagram.writerIndex();
    FirstDatagram verdict = OTHER;
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
        verdict = BEGINS;
      } else if (cmd == Segment.WASK && verdict == OTHER) {
        verdict = PROBES;
      }
      index += Segment.HEADER_BYTES + length;
    }
    return verdict;
  }
}
